// The dates of items, by `timestamps`: their names, one alone, none. `test/types.test.ts` and tsc compile it.

import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, type ItemOf, memoryStore } from '../../src/index.ts'

const schema = z.object({ note: z.string() })
const store = memoryStore()
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never
type Keys<T> = keyof T & string

const plain = defineCollection({ name: 'plain', schema, store })
const named = defineCollection({
  name: 'named',
  schema,
  store,
  timestamps: { created: 'createdAt', updated: 'updatedAt' },
  sort: '-createdAt',
  indexes: ['updatedAt', ['note', 'createdAt']],
  groups: ['createdAt'],
  hooks: {
    before: { patch: ({ item }) => void item.createdAt.length },
  },
  actions: {
    date: { on: 'item', run: ({ item }) => item.updatedAt },
  },
  visible: () => ({ createdAt: { gt: '2026-01-01' } }),
})
const alone = defineCollection({
  name: 'alone',
  schema,
  store,
  timestamps: { created: 'made', updated: false },
})
const none = defineCollection({ name: 'none', schema, store, timestamps: false })
const both = defineCollection({ name: 'both', schema, store, timestamps: true })

export const same: readonly true[] = [
  true satisfies Same<Keys<ItemOf<typeof plain>>, 'id' | 'note' | 'created_at' | 'updated_at'>,
  true satisfies Same<Keys<ItemOf<typeof both>>, 'id' | 'note' | 'created_at' | 'updated_at'>,
  true satisfies Same<Keys<ItemOf<typeof named>>, 'id' | 'note' | 'createdAt' | 'updatedAt'>,
  true satisfies Same<Keys<ItemOf<typeof alone>>, 'id' | 'note' | 'made'>,
  true satisfies Same<Keys<ItemOf<typeof none>>, 'id' | 'note'>,
]

const api = defineApi({ collections: { plain, named, alone, none, both } })
const client = createClient<typeof api>('https://api.example')

export async function use(): Promise<(string | undefined)[]> {
  const item = await client.named.read('a')
  const [first] = await client.named
    .list({ sort: '-updatedAt', createdAt: { gte: '2026-01-01' } })
    .toArray()
  const own = await api.collection(alone).read('a')
  // @ts-expect-error: it has another name
  const old = item.created_at
  // @ts-expect-error: it has none
  const missing = (await client.none.read('a')).created_at
  // @ts-expect-error: it has another name
  client.alone.list({ sort: 'created_at' })
  // @ts-expect-error: it has one alone
  const changed = own.updated_at
  return [
    item.createdAt,
    first?.updatedAt,
    own.made,
    old,
    missing,
    changed,
    (await client.both.read('a')).created_at,
  ]
}
defineCollection({
  name: 'wrong',
  schema,
  store,
  timestamps: { created: 'made' },
  // @ts-expect-error: it has another name
  sort: 'created_at',
})
