// Cycles: what compiles without annotations.
import { z } from 'zod'
import { defineApi, defineCollection, type Store } from '../../src/index.ts'

declare const store: Store
const User = z.object({ name: z.string(), posts: z.int() })
const Post = z.object({ user_id: z.string(), title: z.string() })
// A: by value in bodies that return nothing: no cycle
export const usersA = defineCollection({
  name: 'users',
  schema: User,
  store,
  hooks: {
    before: {
      async delete({ id, collection }) {
        const n = await collection(postsA).count({ user_id: id })
        if (n > 0) throw new Error()
      },
    },
  },
})
export const postsA = defineCollection({
  name: 'posts',
  schema: Post,
  store,
  hooks: {
    after: {
      async create({ collection }, post) {
        await collection(usersA).change(post.user_id, user => ({ posts: user.posts + 1 }))
      },
    },
  },
})
// C: hooks with the api, by name: all typed
const users = defineCollection({ name: 'users', schema: User, store })
const posts = defineCollection({ name: 'posts', schema: Post, store })
export const api = defineApi({
  collections: { users: users, posts: posts },
  hooks: {
    users: {
      before: {
        async create({ value, collection }) {
          const all = await collection('posts')
            .list({ title: { prefix: 'x' } })
            .toArray({ max: 10 })
          return { ...value, posts: all.map(post => post.title.length).length }
        },
      },
    },
    posts: {
      before: {
        async create({ value, collection, principal }) {
          const user = await collection('users').read(value.user_id)
          const other = await collection(users).read(principal?.id ?? '')
          return { ...value, title: user.name + other.posts.toFixed() }
        },
      },
    },
  },
})

// E: by name and schema, inline
export const usersE = defineCollection({
  name: 'users',
  schema: User,
  store,
  hooks: {
    before: {
      async create({ value, collection }) {
        const n = await collection('posts', Post).count({ title: 'x' })
        return { ...value, posts: n }
      },
    },
  },
})
export const postsE = defineCollection({
  name: 'posts',
  schema: Post,
  store,
  hooks: {
    before: {
      async create({ value, collection }) {
        const u = await collection(usersE).read(value.user_id)
        return { ...value, title: u.name }
      },
    },
  },
})
// F: actions that run with the api
const usersF = defineCollection({
  name: 'users',
  schema: User,
  store,
  actions: {
    merge: {
      on: 'item',
      input: z.object({ into: z.string() }),
      output: z.object({ moved: z.int() }),
    },
  },
})
const postsF = defineCollection({
  name: 'posts',
  schema: Post,
  store,
  actions: { thank: { on: 'item', output: z.object({ name: z.string() }) } },
})
export const apiF = defineApi({
  collections: { users: usersF, posts: postsF },
  actions: {
    users: {
      async merge({ input, id, collection }) {
        let moved = 0
        for await (const post of collection('posts').list({ user_id: id })) {
          await collection('posts').patch(post, { user_id: input.into })
          await collection('posts').thank(post)
          moved++
        }
        return { moved }
      },
    },
    posts: {
      async thank({ item, collection }) {
        const { name } = await collection('users').read(item.user_id)
        await collection(usersF).merge(item.user_id, { into: '' })
        return { name }
      },
    },
  },
})
