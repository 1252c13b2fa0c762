// Three processes of the example server on one SQLite file: keys, unique values and pages hold for all of them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseLink } from '../../src/rules/index.ts'
import { newFile } from '../stores/sqlite.ts'
import { jsonOf, type Served, serve } from './running.ts'

interface Model {
  readonly id: number
  readonly name: string
}

let servers: Served[] = []
beforeAll(async () => {
  const file = newFile()
  // The first makes the tables and fills them.
  servers = [await serve(file)]
  servers.push(...(await Promise.all([serve(file), serve(file)])))
})
afterAll(async () => {
  await Promise.all(servers.map(server => server.ended('SIGTERM')))
})

/** The address of a collection at one of the servers. */
const at = (which: number, path: string) => `${servers[which % servers.length]?.root}${path}`

/** Sends a POST as often as it is told to try again: one file has one writer at a time. */
async function post(which: number, path: string, body: object, key?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  for (let tries = 1; ; tries++) {
    const answer = await fetch(at(which, path), init)
    if (answer.status !== 503 || tries === 20) return answer
  }
}

/** All models of a brand, a page from each server in turn. */
async function everything(brand: string): Promise<Model[]> {
  const found: Model[] = []
  let next: string | undefined = at(0, `models?brand=${brand}&limit=10`)
  for (let page = 0; next !== undefined && page < 1000; page++) {
    const { pathname, search } = new URL(next)
    const response = await fetch(new URL(pathname + search, at(page, '')))
    expect(response.status).toBeLessThan(300)
    found.push(...(await jsonOf<Model[]>(response)))
    const links = parseLink(response.headers.get('link') ?? '')
    next = links.find(({ rel }) => rel === 'next')?.href
  }
  return found
}

test('an Idempotency-Key is one key for all of them', async () => {
  const model = { name: 'once', brand: 'keys' }
  const send = (which: number) => post(which, 'models', model, 'one-key')
  const answers = await Promise.all(Array.from({ length: 18 }, (_, which) => send(which)))
  expect(new Set(answers.map(({ status }) => status)).has(201)).toBe(true)
  expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
  for (const which of [0, 1, 2]) expect((await send(which)).status).toBe(201)
  expect((await post(1, 'models', { ...model, name: 'other' }, 'one-key')).status).toBe(422)
  expect(await everything('keys')).toHaveLength(1)
})

test('of many who create a unique value one succeeds, wherever they ask', async () => {
  const [car] = await jsonOf<Record<string, unknown>[]>(await fetch(at(0, 'cars?limit=1')))
  const { id: _, created_at, updated_at, ...rest } = car ?? {}
  const twin = { ...rest, immatriculation: 'ZZ-999-ZZ' }
  const answers = await Promise.all(
    Array.from({ length: 18 }, (_, which) => post(which, 'cars', twin)),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(17).fill(409)])
})

test('pages go on at each server while all create and delete', async () => {
  const kept = new Set<number>()
  const create = async (which: number) => {
    const made = await post(which, 'models', { name: `page ${which}`, brand: 'pages' })
    expect(made.status).toBe(201)
    const { id } = await jsonOf<Model>(made)
    if (which % 2) kept.add(id)
    else await fetch(at(which + 1, `models/${id}`), { method: 'DELETE' })
  }
  for (let which = 0; which < 60; which++) await create(which)
  let writing = true
  const writers = [0, 1, 2].map(async which => {
    for (let more = 0; writing && more < 200; more++) await create(100 + which + 3 * more)
  })
  const before = [...kept]
  const seen = (await everything('pages')).map(({ id }) => id)
  writing = false
  await Promise.all(writers)
  expect(new Set(seen).size).toBe(seen.length)
  expect(before.filter(id => !seen.includes(id))).toEqual([])
})
