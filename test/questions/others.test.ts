// docs/from-postgrest.md and docs/from-directus.md: each request that stands there gives what its row says.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Api, defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const PEOPLE = [
  { name: 'Oron', age: 14, student: true, grade: 95, tags: ['example', 'new'] },
  { name: 'John', age: 20, student: true, grade: 91, json_data: { blood_type: 'A-', age: 25 } },
  { name: 'hi,there', age: 12, tags: ['new'], note: 'très AMUSANT' },
  { name: 'Jöhn', age: 30, json_data: { blood_type: 'O+', age: 20 } },
  { name: 'Paul', student: true, grade: 99 },
]
const CUSTOMERS = ['Ann', 'Bob']
const ORDERS = [
  { amount: 10, order_date: '2024-01-31', details: { tax: 1 }, customer_id: 1 },
  { amount: 20, order_date: '2024-02-01', details: { tax: 2 }, customer_id: 2 },
  { amount: 25, order_date: '2024-02-01', customer_id: 1 },
  { amount: 5, order_date: '2024-02-29' },
]
const DIRECTORS = ['Lumière', 'Méliès']
const FILMS = [
  { title: 'Workers', year: 1895, director_id: 1 },
  { title: 'Castle', year: 1896, director_id: 2 },
  { title: 'Sallie', year: 1898 },
]
const ACTORS = ['Jehanne', 'Georges']
const ROLES = [
  { film_id: 2, actor_id: 1, character: 'Chico' },
  { film_id: 2, actor_id: 2, character: 'Zeppo' },
]
const EMPLOYEES = [
  { last_name: 'Taylor' },
  { last_name: 'Johnson', supervisor_id: 1 },
  { last_name: 'Miller', supervisor_id: 1 },
]
const AUTHORS = ['Rijk', 'Ada']
const POSTS = [
  { title: 'Hello', category: 'news', views: 10, date_published: '1968-04-01', author_id: 1 },
  { title: 'Yellow', category: 'fun', views: 2, date_published: '1970-01-01', author_id: 2 },
  { title: 'Héllo there', category: 'news', views: 30, date_published: '1968-12-31' },
  { title: 'Other', views: 20, date_published: '1999-05-05', author_id: 1 },
]

let api: Pick<Api, 'fetch'>
beforeAll(async () => {
  const id = 'integer'
  const people = defineCollection({
    name: 'people',
    id,
    itemName: 'person',
    schema: z.object({
      name: z.string(),
      age: z.int().optional(),
      student: z.boolean().optional(),
      grade: z.int().optional(),
      tags: z.array(z.string()).optional(),
      note: z.string().optional(),
      json_data: z.object({ blood_type: z.string(), age: z.int() }).optional(),
    }),
    store: memoryStore(),
    search: ['name', 'note'],
  })
  const named = z.object({ name: z.string() })
  const customers = defineCollection({ name: 'customers', id, schema: named, store: memoryStore() })
  const orders = defineCollection({
    name: 'orders',
    id,
    schema: z.object({
      amount: z.number(),
      order_date: z.iso.date(),
      details: z.object({ tax: z.number() }).optional(),
      customer_id: z.int().optional(),
    }),
    store: memoryStore(),
    parents: { customer_id: 'customers' },
    groups: ['order_date'],
  })
  const authors = defineCollection({ name: 'authors', id, schema: named, store: memoryStore() })
  const posts = defineCollection({
    name: 'posts',
    id,
    schema: z.object({
      title: z.string(),
      category: z.string().optional(),
      views: z.int(),
      date_published: z.iso.date(),
      author_id: z.int().optional(),
    }),
    store: memoryStore(),
    parents: { author_id: 'authors' },
    search: ['title'],
    groups: ['category', 'date_published'],
  })
  const person = z.object({ last_name: z.string() })
  const directors = defineCollection({
    name: 'directors',
    id,
    schema: person,
    store: memoryStore(),
  })
  const actors = defineCollection({ name: 'actors', id, schema: person, store: memoryStore() })
  const films = defineCollection({
    name: 'films',
    id,
    schema: z.object({ title: z.string(), year: z.int(), director_id: z.int().optional() }),
    store: memoryStore(),
    parents: { director_id: 'directors' },
  })
  const roles = defineCollection({
    name: 'roles',
    id,
    schema: z.object({ film_id: z.int(), actor_id: z.int(), character: z.string() }),
    store: memoryStore(),
    relation: { film_id: 'films', actor_id: 'actors' },
  })
  const employees = defineCollection({
    name: 'employees',
    id,
    schema: z.object({ last_name: z.string(), supervisor_id: z.int().optional() }),
    store: memoryStore(),
    parents: { supervisor_id: 'employees' },
  })
  const film = { directors, actors, films, roles, employees }
  const all = defineApi({ collections: { people, customers, orders, authors, posts, ...film } })
  for (const each of PEOPLE) await all.collection(people).create(each)
  for (const name of CUSTOMERS) await all.collection(customers).create({ name })
  for (const each of ORDERS) await all.collection(orders).create(each)
  for (const name of AUTHORS) await all.collection(authors).create({ name })
  for (const last_name of DIRECTORS) await all.collection(directors).create({ last_name })
  for (const last_name of ACTORS) await all.collection(actors).create({ last_name })
  for (const each of FILMS) await all.collection(films).create(each)
  for (const each of ROLES) await all.collection(roles).create(each)
  for (const each of EMPLOYEES) await all.collection(employees).create(each)
  for (const each of POSTS) await all.collection(posts).create(each)
  api = all
})

/** The requests of the second column, in their order, by the first one. */
function readRows(name: string): [string, string][] {
  return readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line): [string, string][] => {
      const [, there, here] = /^\| (.+?) \| `([a-z]+\S*)` \|/.exec(line) ?? []
      return there && here && /^[a-z]+[/?.]/.test(here) ? [[there.replaceAll('`', ''), here]] : []
    })
}

type Expected = Readonly<Record<string, unknown>>

/** The ids of the items that each request finds, or what it gives besides items. */
const POSTGREST: Expected = {
  'people?age=lt.13': [3],
  'people?age=gte.18&student=is.true': [2],
  'people?age=not.eq.14': [2, 3, 4],
  'people?age=isdistinct.14': [2, 3, 4, 5],
  'people?age=in.(13,14,15)': [1],
  'people?name=in.("hi,there","yes,you")': [3],
  'people?grade=is.null': [3, 4],
  'people?or=(age.lt.18,age.gt.21)': [1, 3, 4],
  'people?not.and=(age.gte.11,age.lte.17)': [2, 4, 5],
  'people?grade=gte.90&student=is.true&or=(age.eq.14,not.and(age.gte.11,age.lte.17))': [1, 2, 5],
  'people?name=like.*o*n': [1, 2],
  'people?name=like(any).{O*,P*}': [1, 5],
  'people?name=ilike.*JOHN*': [2, 4],
  'people?name=match.^Jo': [2],
  'people?note=fts(french).amusant': [3],
  'people?tags=cs.{example,new}': [1],
  'people?tags=ov.{example,new}': [1, 3],
  'people?json_data->>blood_type=eq.A-': [2],
  'people?json_data->age=gt.20': [2],
  'people?select=name,age': PEOPLE.map(({ name, age }) => ({ name, ...(age && { age }) })),
  'people?order=age.desc,name.asc': [4, 2, 1, 3, 5],
  'people?limit=15&offset=30': [],
  'orders?select=amount,customers(name)': [
    { amount: 10, customer: { name: 'Ann' } },
    { amount: 20, customer: { name: 'Bob' } },
    { amount: 25, customer: { name: 'Ann' } },
    { amount: 5, customer: null },
  ],
  'customers?select=name,orders(amount)': [
    { name: 'Ann', orders: [{ amount: 10 }, { amount: 25 }] },
    { name: 'Bob', orders: [{ amount: 20 }] },
  ],
  'orders?select=amount,customers!inner(name)&customers.name=eq.Ann': [
    { amount: 10, customer: { name: 'Ann' } },
    { amount: 25, customer: { name: 'Ann' } },
  ],
  'customers?select=name,orders(amount)&orders.limit=1': [
    { name: 'Ann', orders: [{ amount: 10 }] },
    { name: 'Bob', orders: [{ amount: 20 }] },
  ],
  'films?select=title,director:directors(last_name)': [
    { title: 'Workers', director: { last_name: 'Lumière' } },
    { title: 'Castle', director: { last_name: 'Méliès' } },
    { title: 'Sallie', director: null },
  ],
  'actors?select=last_name,films(title)': ACTORS.map(last_name => ({
    last_name,
    roles: [{ film: { title: 'Castle' } }],
  })),
  'actors?select=roles(character,films(title,year))': ['Chico', 'Zeppo'].map(character => ({
    roles: [{ character, film: { title: 'Castle', year: 1896 } }],
  })),
  'employees?select=last_name,supervisor(last_name)&id=eq.3': {
    last_name: 'Miller',
    supervisor: { last_name: 'Taylor' },
  },
  'employees?select=last_name,supervisees(last_name)&id=eq.1': {
    last_name: 'Taylor',
    employees: [{ last_name: 'Johnson' }, { last_name: 'Miller' }],
  },
  'films?select=*,roles(*)&roles.character=in.(Chico,Harpo,Groucho)': [1],
  'films?select=*,actors(*)&actors.limit=10&actors.offset=2': [1, 2, 3],
  'films?select=title,actors!inner(last_name)&actors.last_name=eq.Jehanne': [
    { title: 'Castle', roles: ACTORS.map(last_name => ({ actor: { last_name } })) },
  ],
  'films?select=title,actors()&actors.last_name=eq.Jehanne&actors=not.is.null': [
    { title: 'Castle' },
  ],
  'films?select=title,actors(*)&actors=is.null': [{ title: 'Workers' }, { title: 'Sallie' }],
  'films?select=title,actors(),directors()&or=(directors.not.is.null,actors.not.is.null)': [
    { title: 'Workers' },
    { title: 'Castle' },
  ],
  'orders?select=count()': { count: 4 },
  'orders?select=amount.sum()': [{ count: 4, sum: { amount: 60 } }],
  'orders?select=amount.sum(),amount.avg(),order_date': [
    { order_date: '2024-01-31', count: 1, sum: { amount: 10 }, avg: { amount: 10 } },
    { order_date: '2024-02-01', count: 2, sum: { amount: 45 }, avg: { amount: 22.5 } },
    { order_date: '2024-02-29', count: 1, sum: { amount: 5 }, avg: { amount: 5 } },
  ],
  'orders?select=count(),order_date': [
    { order_date: '2024-01-31', count: 1 },
    { order_date: '2024-02-01', count: 2 },
    { order_date: '2024-02-29', count: 1 },
  ],
  'orders?select=total:amount.sum()': [{ count: 4, sum: { amount: 60 } }],
  'orders?select=amount.avg()::int': [{ count: 4, avg: { amount: 15 } }],
  'orders?select=details->tax::numeric.sum()': [{ count: 4, sum: { details: { tax: 3 } } }],
  "a view with date_trunc('month', order_date)": [
    { order_date: '2024-02', count: 3 },
    { order_date: '2024-01', count: 1 },
  ],
}

const DIRECTUS: Expected = {
  'posts?filter[title][_eq]=Hello': [1],
  'posts?filter={"title":{"_eq":"Hello"}}': [1],
  'posts?filter[category][_neq]=news': [2],
  'posts?filter[views][_lte]=10': [1, 2],
  'posts?filter[category][_in]=news,fun': [1, 2, 3],
  'posts?filter[category][_null]=true': [4],
  'posts?filter[title][_contains]=ell': [1, 2],
  'posts?filter[title][_icontains]=HELL': [1, 3],
  'posts?filter[title][_starts_with]=He': [1],
  'posts?filter[title][_ends_with]=lo': [1],
  'posts?filter[title][_ncontains]=ell': [3, 4],
  'posts?filter[views][_between]=10,20': [1, 4],
  'posts?filter={"_or":[{"views":{"_gt":10}},{"_and":[{"category":{"_eq":"fun"}},{"views":{"_lt":5}}]}]}':
    [2, 3, 4],
  'posts?filter[author][name][_eq]=Rijk': [1, 4],
  'authors?filter={"posts":{"_some":{"category":{"_eq":"fun"}}}}': [2],
  'authors?filter={"posts":{"_none":{"category":{"_eq":"fun"}}}}': [1],
  'posts?filter[year(date_published)][_eq]=1968': [1, 3],
  'posts?search=hello': [1, 3],
  'posts?fields=title,author.name': [
    { title: 'Hello', author: { name: 'Rijk' } },
    { title: 'Yellow', author: { name: 'Ada' } },
    { title: 'Héllo there', author: null },
    { title: 'Other', author: { name: 'Rijk' } },
  ],
  'posts?fields=*.*': [1, 2, 3, 4],
  'posts?sort=category,-views': [4, 2, 3, 1],
  'posts?limit=50&page=2': [],
  'posts?limit=-1': POSTS.map(({ title }) => expect.stringContaining(title)),
  'posts?meta=filter_count': [],
  'posts?export=csv': [
    expect.stringMatching(/^id,/),
    ...POSTS.map(({ title }) => expect.stringContaining(title)),
  ],
  'authors?deep[posts][_limit]=3': [1, 2],
  'posts?aggregate[count]=*': { count: 4 },
  'posts?aggregate[sum]=views&groupBy[]=category': [
    { category: null, count: 1, sum: { views: 20 } },
    { category: 'fun', count: 1, sum: { views: 2 } },
    { category: 'news', count: 2, sum: { views: 40 } },
  ],
  'posts?aggregate[avg]=views&groupBy[]=category&groupBy[]=year(date_published)': [
    { category: null, date_published: '1999', count: 1, avg: { views: 20 } },
    { category: 'fun', date_published: '1970', count: 1, avg: { views: 2 } },
    { category: 'news', date_published: '1968', count: 2, avg: { views: 20 } },
  ],
  'posts?aggregate[countDistinct]=category': [],
}

describe.each<[string, Expected]>([
  ['from-postgrest', POSTGREST],
  ['from-directus', DIRECTUS],
])('%s', (name, expected) => {
  const rows = readRows(name)

  test('each row that has a request is tried', () => {
    expect(rows.map(([there]) => there)).toEqual(Object.keys(expected))
  })

  test.each(rows)('%s: %s', async (there, here) => {
    const url = `http://localhost/${here.replaceAll('\\,', '%5C,')}`
    const answer = await api.fetch(new Request(url))
    expect(answer.status).toBe(200)
    const text = await answer.text()
    if (!answer.headers.get('content-type')?.startsWith('application/json')) {
      expect(text.trim().split(/\r?\n/)).toEqual(expected[there])
      return
    }
    const found: unknown = JSON.parse(text)
    const hasIds = Array.isArray(found) && found.every(each => typeof each.id === 'number')
    expect(hasIds ? found.map(({ id }) => id) : found).toEqual(expected[there])
  })
})
