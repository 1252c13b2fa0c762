// Filters at random with `or`, `and` and `not`, and which cars they find, said in plain JavaScript. One collection of the
// same cars lives in several stores.
import { z } from 'zod'
import { defineCollection, type Store } from '../../src/index.ts'

export const Car = z.object({
  code: z.string(),
  color: z.enum(['red', 'blue', 'green']).optional(),
  price: z.number().nullable(),
  seats: z.int().optional(),
  sold: z.boolean().optional(),
  seen: z.iso.datetime({ offset: true }).nullable().optional(),
  built: z.iso.date().optional(),
  tags: z.array(z.string()).optional(),
  model: z.object({ name: z.string(), year: z.int().nullable().optional() }).optional(),
})

export type CarValues = z.input<typeof Car>

export const defineCars = (store: Store) =>
  defineCollection({
    name: 'cars',
    id: 'integer',
    schema: Car,
    store,
    maxLimit: 1000,
    indexes: ['color', ['color', 'price'], 'price', 'model.year'],
    groups: ['color', 'price', 'seats', 'sold', 'seen', 'built', 'model.name', 'model.year'],
  })

/** Makes the same numbers at each run: the generator of Park and Miller. */
export function createRandom(seed = 1) {
  let state = seed
  const below = (limit: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T // there is one
  return { below, pick, maybe: <T>(value: T) => (below(4) === 0 ? undefined : value) }
}

export type Random = ReturnType<typeof createRandom>

const NAMES = ['Clio', 'Twingo', 'clio', '', 'Zoé', '50%_\\', '\u{1F600}']
const COLORS = ['red', 'blue', 'green'] as const
const PRICES = [0, 0.5, 10, 10.25, 1000, -3]
const INSTANTS = ['2024-03-01T00:00:00+01:00', '2024-02-29T23:00:00.000Z', '2025-01-01T12:30:00.5Z']
const DAYS = ['2024-02-29', '2024-03-01', '1969-12-31']
const TAGS = ['sale', 'new', 'old']

export function makeCars(count: number, { below, pick, maybe }: Random): CarValues[] {
  return Array.from({ length: count }, (_, at) => ({
    code: `C${at}`,
    color: maybe(pick(COLORS)),
    price: maybe(pick(PRICES)) ?? null,
    seats: maybe(below(5)),
    sold: maybe(below(2) === 0),
    seen: pick([undefined, null, ...INSTANTS]),
    built: maybe(pick(DAYS)),
    tags: maybe(TAGS.filter(() => below(2) === 0)),
    model: maybe({ name: pick(NAMES), year: pick([undefined, null, 1990, 2000]) }),
  }))
}

/** A filter object as clients and programs write it. */
export type Tree = { readonly [name: string]: unknown }
type Test = (car: CarValues) => boolean
/** A filter, and which cars it finds. */
export type Question = readonly [Tree, Test]

/** What compares: a value that is absent or null passes no test. */
type Compared = string | number | boolean
const present = (get: (car: CarValues) => unknown, test: (value: never) => boolean): Test => {
  return car => {
    const value = get(car)
    return value !== undefined && value !== null && test(value as never)
  }
}

const ORDERS: readonly (readonly [string, (one: number, other: number) => boolean])[] = [
  ['gt', (one, other) => one > other],
  ['gte', (one, other) => one >= other],
  ['lt', (one, other) => one < other],
  ['lte', (one, other) => one <= other],
]

/** A condition: its field, its operand, and its test. */
function condition({ below, pick }: Random): Question {
  const some = <T>(values: readonly T[]) => values.filter(() => below(2) === 0)
  const [order, passes] = pick(ORDERS)
  const equality = (
    name: string,
    get: (car: CarValues) => unknown,
    values: readonly Compared[],
  ): Question => {
    const chosen = some(values)
    const one = pick(values)
    return pick<Question>([
      [{ [name]: one }, present(get, value => value === one)],
      [{ [name]: chosen }, present(get, value => chosen.includes(value))],
      [{ [name]: { in: chosen } }, present(get, value => chosen.includes(value))],
      [{ [name]: { ne: one } }, present(get, value => value !== one)],
      // None of no values: everything, as in a program.
      [
        { [name]: { nin: chosen } },
        chosen.length === 0 ? () => true : present(get, value => !chosen.includes(value)),
      ],
    ])
  }
  const exists = below(2) === 0
  const price = pick(PRICES)
  const instant = pick(INSTANTS)
  const tag = pick(TAGS)
  const name = pick(NAMES)
  const year = pick([1990, 2000])
  const word = pick(['Cl', 'io', '', 'Zo'])
  const time = (text: string) => new Date(text).getTime()
  return pick<Question>([
    equality('color', car => car.color, COLORS),
    equality('price', car => car.price, PRICES),
    equality('sold', car => car.sold, [true, false]),
    equality('seats', car => car.seats, [0, 1, 2, 3]),
    equality('model.name', car => car.model?.name, NAMES),
    [
      { price: { [order]: price } },
      present(
        car => car.price,
        value => passes(value, price),
      ),
    ],
    [
      { price: { gte: 0, lt: 1000 } },
      present(
        car => car.price,
        (value: number) => value >= 0 && value < 1000,
      ),
    ],
    [
      { seen: { [order]: instant } },
      present(
        car => car.seen,
        (value: string) => passes(time(value), time(instant)),
      ),
    ],
    [
      { seen: instant },
      present(
        car => car.seen,
        (value: string) => time(value) === time(instant),
      ),
    ],
    [{ tags: tag }, car => car.tags?.includes(tag) ?? false],
    [{ tags: { ne: tag } }, car => car.tags !== undefined && !car.tags.includes(tag)],
    [{ model: { name } }, car => car.model?.name === name],
    [
      { model: { year, name: { ne: name } } },
      car => car.model?.year === year && car.model.name !== name,
    ],
    [{ model: { name: { prefix: word } } }, car => car.model?.name.startsWith(word) ?? false],
    [{ model: { name: { like: `%${word}%` } } }, car => car.model?.name.includes(word) ?? false],
    [{ color: { exists } }, car => (car.color !== undefined) === exists],
    [
      { 'model.year': { exists } },
      car => car.model !== undefined && ((car.model.year ?? null) !== null) === exists,
    ],
  ])
}

/** Makes a filter object of a few conditions and groups. */
export function makeQuestion(random: Random, depth = 4): Question {
  const { below } = random
  const parts = Array.from({ length: 1 + below(2) }, (): Question => {
    const kind = depth === 0 ? 0 : below(5)
    if (kind < 2) return condition(random)
    if (kind === 2) {
      const [tree, test] = makeQuestion(random, depth - 1)
      return [{ not: tree }, car => !test(car)]
    }
    const members = Array.from({ length: below(4) }, () => makeQuestion(random, depth - 1))
    const trees = members.map(([tree]) => tree)
    return kind === 3
      ? [{ or: trees }, car => members.some(([, test]) => test(car))]
      : [{ and: trees }, car => members.every(([, test]) => test(car))]
  })
  // Of two parts about one field the last one stays.
  const kept = new Map(parts.map(part => [Object.keys(part[0])[0]?.split('.')[0], part]))
  const tests = [...kept.values()].map(([, test]) => test)
  return [
    Object.assign({}, ...[...kept.values()].map(([tree]) => tree)),
    car => tests.every(test => test(car)),
  ]
}
