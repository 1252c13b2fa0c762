// Asks questions of the same cars in several stores, and compares what each finds with plain JavaScript.
import assert from 'node:assert/strict'
import { type Api, defineApi, type Store } from '../../src/index.ts'
import { createRandom, defineCars, makeCars, makeQuestion, type Tree } from './trees.ts'

const CARS = 60

/** Counts the conditions of a filter: more than 50 are refused. */
export function isAllowed(tree: Tree): boolean {
  return JSON.stringify(tree).split(/[:,]/).length < 50
}

/** What a list gives: the codes of its cars. */
type Ask = (where: Tree) => Promise<string>

/**
 * Asks each store in several ways, with whole answers and their count.
 * @returns how many questions were asked, and how many answers held some of the cars but not all.
 */
export async function askStores(
  stores: Readonly<Record<string, Store>>,
  count: number,
  seed?: number,
): Promise<{ asked: number; telling: number }> {
  const random = createRandom(seed)
  const cars = makeCars(CARS, random)
  const ways: [string, Ask][] = []
  for (const [name, store] of Object.entries(stores)) {
    const collection = defineCars(store)
    const api = defineApi({ collections: { cars: collection } })
    for (const car of cars) await api.collection(collection).create(car)
    ways.push(
      ...listWays(api, where => api.collection(collection).list({ where: where as object })).map(
        ([way, ask]): [string, Ask] => [`${name}: ${way}`, ask],
      ),
    )
  }
  let asked = 0
  let telling = 0
  while (asked < count) {
    const [where, test] = makeQuestion(random)
    if (!isAllowed(where)) continue
    asked++
    const expected = cars.filter(test).map(({ code }) => code)
    if (expected.length > 0 && expected.length < CARS) telling++
    for (const [way, ask] of ways)
      assert.equal(await ask(where), expected.join(), `${way}: ${JSON.stringify(where)}`)
  }
  return { asked, telling }
}

interface Listed {
  toArray(): Promise<readonly { readonly code?: unknown }[]>
}

function listWays(api: Pick<Api, 'fetch'>, list: (where: Tree) => Listed): [string, Ask][] {
  const request = async (path: string, init?: RequestInit) => {
    const response = await api.fetch(new Request(`http://localhost/${path}`, init))
    const text = await response.text()
    assert.equal(response.status, 200, `${path} ${text}`)
    return JSON.parse(text)
  }
  const codes = (items: readonly { readonly code?: unknown }[]) =>
    items.map(({ code }) => code).join()
  return [
    ['in process', async where => codes(await list(where).toArray())],
    [
      'GET',
      async where => {
        const query = `where=${encodeURIComponent(JSON.stringify(where))}`
        const items = await request(`cars?limit=1000&${query}`)
        assert.deepEqual(await request(`cars/count?${query}`), { count: items.length })
        return codes(items)
      },
    ],
    [
      'QUERY',
      async where => {
        const body = JSON.stringify({ where, limit: 1000 })
        const headers = { 'content-type': 'application/json' }
        return codes(await request('cars', { method: 'QUERY', headers, body }))
      },
    ],
  ]
}
