// Counts by groups at random, and what they give, said in plain JavaScript. One collection of the same cars lives in
// several stores.
import assert from 'node:assert/strict'
import { defineApi, type Store } from '../../src/index.ts'
import { isAllowed } from './ask.ts'
import {
  type CarValues,
  createRandom,
  defineCars,
  makeCars,
  makeQuestion,
  type Random,
  type Tree,
} from './trees.ts'

type Value = string | number | boolean | null

/** What a car is grouped by: the name in `by`, where it stands in a group, and its value. */
type Key = readonly [name: string, path: readonly string[], get: (car: CarValues) => Value]
/** What is computed: the word, the field, and its value; a date-time in milliseconds. */
type Computed = readonly [
  word: string,
  path: readonly string[],
  get: (car: CarValues) => string | number | null,
]

const part = (name: 'seen' | 'built', word: string, length: number): Key => [
  `${name}:${word}`,
  [name],
  car => {
    const text = car[name]
    return text ? new Date(text).toISOString().slice(0, length) : null
  },
]

const KEYS: readonly Key[] = [
  ['color', ['color'], car => car.color ?? null],
  ['price', ['price'], car => car.price],
  ['seats', ['seats'], car => car.seats ?? null],
  ['sold', ['sold'], car => car.sold ?? null],
  ['seen', ['seen'], car => (car.seen ? new Date(car.seen).toISOString() : null)],
  ['built', ['built'], car => car.built ?? null],
  ['model.name', ['model', 'name'], car => car.model?.name ?? null],
  ['model.year', ['model', 'year'], car => car.model?.year ?? null],
  part('seen', 'day', 10),
  part('seen', 'month', 7),
  part('seen', 'year', 4),
  part('built', 'day', 10),
  part('built', 'month', 7),
  part('built', 'year', 4),
]

const NUMBERS: readonly (readonly [string, (car: CarValues) => number | null])[] = [
  ['price', car => car.price],
  ['seats', car => car.seats ?? null],
  ['model.year', car => car.model?.year ?? null],
]

const COMPUTED: readonly Computed[] = [
  ...['sum', 'avg', 'min', 'max'].flatMap(word =>
    NUMBERS.map(([name, get]): Computed => [word, name.split('.'), get]),
  ),
  ...['min', 'max'].flatMap((word): Computed[] => [
    [word, ['seen'], car => (car.seen ? new Date(car.seen).getTime() : null)],
    [word, ['built'], car => car.built ?? null],
  ]),
]

const VALUES: Readonly<Record<string, (values: (string | number)[]) => string | number | null>> = {
  sum: values => values.map(Number).reduce((sum, each) => sum + each, 0),
  avg: values =>
    values.length === 0
      ? null
      : values.map(Number).reduce((sum, each) => sum + each, 0) / values.length,
  min: values => values.toSorted(compare)[0] ?? null,
  max: values => values.toSorted(compare).at(-1) ?? null,
}

/** Null first, then the order of the type; the texts have no two that a code point would order otherwise. */
function compare(one: Value, other: Value): number {
  if (one === other) return 0
  if (one === null || other === null) return one === null ? -1 : 1
  return one < other ? -1 : 1
}

function put(
  group: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): void {
  if (rest.length === 0) group[name] = value
  else {
    const inner = { ...Object(group[name]) }
    put(inner, rest, value)
    group[name] = inner
  }
}

/** Counts by hand: the groups in the order of their keys. */
function countByHand(
  cars: readonly CarValues[],
  keys: readonly Key[],
  computed: readonly Computed[],
) {
  const groups = new Map<string, { values: Value[]; cars: CarValues[] }>()
  if (keys.length === 0) groups.set('[]', { values: [], cars: [] })
  for (const car of cars) {
    const values = keys.map(([, , get]) => get(car))
    const known = groups.get(JSON.stringify(values))
    if (known) known.cars.push(car)
    else groups.set(JSON.stringify(values), { values, cars: [car] })
  }
  const ordered = [...groups.values()].sort((one, other) =>
    one.values.reduce<number>(
      (order, value, at) => order || compare(value, other.values[at] ?? null),
      0,
    ),
  )
  return ordered.map(({ values, cars: own }) => {
    const group: Record<string, unknown> = {}
    for (const [at, [, path]] of keys.entries()) put(group, path, values[at])
    group.count = own.length
    for (const [word, path, get] of computed) {
      const value = VALUES[word]?.(own.map(get).filter(each => each !== null)) ?? null
      const isTime = path[0] === 'seen' && typeof value === 'number'
      put(group, [word, ...path], isTime ? new Date(value).toISOString() : value)
    }
    return group
  })
}

/** Picks what to group by: no two of one field. */
function pickKeys({ below, pick }: Random): Key[] {
  const picked = Array.from({ length: below(4) }, () => pick(KEYS))
  return [...new Map(picked.map(key => [key[1].join('.'), key])).values()]
}

function pickComputed({ below, pick }: Random): Computed[] {
  const picked = Array.from({ length: below(4) }, () => pick(COMPUTED))
  const inOrder = [...new Set(picked)].sort(
    (one, other) => ORDER.indexOf(one[0]) - ORDER.indexOf(other[0]),
  )
  return inOrder
}
const ORDER = ['sum', 'avg', 'min', 'max']

/** What a request asks: `by`, sums and a filter. */
type Asked = { readonly by: readonly string[]; readonly where: Tree } & Readonly<
  Record<string, unknown>
>

/**
 * Asks each store in several ways for counts by groups.
 * @returns how many questions were asked, and how many answers had several groups.
 */
export async function countInStores(
  stores: Readonly<Record<string, Store>>,
  count: number,
  seed?: number,
): Promise<{ asked: number; telling: number }> {
  const random = createRandom(seed)
  const cars = makeCars(60, random)
  const ways: [string, (asked: Asked) => Promise<unknown>][] = []
  for (const [name, store] of Object.entries(stores)) {
    const collection = defineCars(store)
    const api = defineApi({ collections: { cars: collection } })
    for (const car of cars) await api.collection(collection).create(car)
    const request = async (path: string, init?: RequestInit) => {
      const response = await api.fetch(new Request(`http://localhost/${path}`, init))
      const text = await response.text()
      assert.equal(response.status, 200, `${path} ${text}`)
      const groups = JSON.parse(text)
      assert.equal(response.headers.get('x-result-count'), String(groups.length))
      return groups
    }
    // What is asked at random has no type of its own.
    const resource = api.collection(collection) as unknown as {
      count(asked: Asked): Promise<unknown>
    }
    ways.push([`${name}: in process`, asked => resource.count(asked)])
    ways.push([
      `${name}: GET`,
      ({ where, ...asked }) => {
        const query = new URLSearchParams({ where: JSON.stringify(where) })
        for (const [word, names] of Object.entries(asked)) query.set(word, String(names))
        return request(`cars/count?${query}`)
      },
    ])
    ways.push([
      `${name}: QUERY`,
      asked =>
        request('cars/count', {
          method: 'QUERY',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(asked),
        }),
    ])
  }
  let asked = 0
  let telling = 0
  while (asked < count) {
    const [where, test] = random.below(2) === 0 ? [{}, () => true] : makeQuestion(random)
    if (!isAllowed(where)) continue
    asked++
    const keys = pickKeys(random)
    const computed = pickComputed(random)
    const words = computed.map(([word]) => [
      word,
      computed.filter(each => each[0] === word).map(([, path]) => path.join('.')),
    ])
    const question: Asked = { by: keys.map(([name]) => name), where, ...Object.fromEntries(words) }
    const expected = countByHand(cars.filter(test), keys, computed)
    if (expected.length > 1) telling++
    for (const [way, ask] of ways)
      assert.equal(
        JSON.stringify(await ask(question)),
        JSON.stringify(expected),
        `${way}: ${JSON.stringify(question)}`,
      )
  }
  return { asked, telling }
}
