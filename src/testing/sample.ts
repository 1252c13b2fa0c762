// What the cases of the store contract work with: one shape with a field of every kind, and its items.
import assert from 'node:assert/strict'
import { toPath } from '../base/paths.ts'
import type { Awaitable, Item, Scalar } from '../base/values.ts'
import type { Field } from '../schema/fields.ts'
import type { Filter, Operator } from '../store/filter.ts'
import type { KeyedStore } from '../store/keyed-store.ts'
import { type Selection, type SortKey, withTieBreak } from '../store/selection.ts'
import { parseSort } from '../store/sort.ts'
import type {
  Id,
  Identity,
  Shape,
  Slice,
  Store,
  Stored,
  StoreWriteOptions,
} from '../store/store.ts'
import { findOne } from '../store/writes.ts'
import { createOne, updateOne } from './write-items.ts'

/**
 * Cases by name; each gets a store that is new, empty and attached to {@link shapeWith} its group's ids. Only
 * cases that need `idempotency` may call `claim` and `complete`.
 */
export type Checks = Readonly<Record<string, (store: KeyedStore) => Promise<void>>>

/** Cases of stores with ids of one kind; what it `needs` a store says of itself. */
export type CheckGroup = readonly [
  ids: Identity['kind'],
  checks: Checks,
  needs?:
    | 'seeks'
    | 'idempotency'
    | 'transactions'
    | 'countBy'
    | 'listEach'
    | 'relate'
    | 'changes'
    | 'take',
]

const text: Field = { kind: 'string', nullable: false, optional: false }
export const maybe = { nullable: true, optional: true }

/** The shape of the cases; the items have a field of every kind. */
export function shapeWith(ids: Identity['kind']): Shape {
  return {
    name: 'cases',
    fields: new Map<string, Field>([
      ['id', { ...text, kind: ids === 'integer' ? 'integer' : 'string' }],
      ['code', text],
      ['name', { ...text, optional: true }],
      ['price', { ...text, kind: 'number', nullable: true }],
      ['seats', { kind: 'integer', ...maybe }],
      ['sold', { ...text, kind: 'boolean', optional: true }],
      ['day', { kind: 'date', ...maybe }],
      ['at', { ...text, kind: 'date-time', optional: true }],
      ['model', { kind: 'object', ...maybe, properties: MODEL }],
      ['tags', { ...text, kind: 'array', optional: true, element: text }],
      ['rates', { ...text, kind: 'record', optional: true, element: { ...text, kind: 'number' } }],
      ['extra', { kind: 'any', ...maybe }],
      ['created_at', { ...text, kind: 'date-time', serverOwned: true }],
      ['updated_at', { ...text, kind: 'date-time', serverOwned: true }],
    ]),
    identity: { name: 'id', kind: ids },
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    unique: [['code'], ['model.name', 'model.year']],
    indexes: [['price'], ['name', 'seats'], ['model.year'], ['at']],
    search: ['name', 'code', 'model.name'],
  }
}

const MODEL = new Map<string, Field>([
  ['name', text],
  ['year', { kind: 'integer', ...maybe }],
  ['built', { kind: 'date-time', nullable: false, optional: true }],
])

/** Items by their `code`: values that stores are known to change, sort or compare wrongly. */
export const SAMPLES: readonly Item[] = [
  {
    code: 'A',
    name: 'alpha',
    price: 10.5,
    seats: 4,
    sold: false,
    day: '2024-02-29',
    at: '2024-03-01T00:30:00+02:00',
    model: { name: 'Clio', year: 1990, built: '1990-01-01T00:00:00+01:00' },
    tags: ['red', 'fast'],
    rates: { daily: 1.5, '': 0, 'a.b"c': 2 },
    extra: { b: 1, a: [null, { deep: 'x' }] },
  },
  {
    code: 'B',
    name: 'Alpha romeo',
    price: 10,
    seats: 2,
    sold: true,
    day: null,
    at: '2024-02-29T23:00:00Z',
    model: { name: 'Clio', year: null },
    tags: [],
    rates: {},
    extra: null,
  },
  {
    code: 'C',
    name: '100%_*?[a]\\',
    price: null,
    seats: null,
    at: '2024-02-29T23:00:00.000Z',
    model: { name: 'Twingo' },
    tags: ['fast', 'fast', ''],
    extra: 'null',
  },
  { code: 'D', name: '\u{1F600}', price: -1e-7, model: null, extra: '7' },
  {
    code: 'E',
    name: '\uFF5E',
    price: 1e21,
    seats: 9007199254740991,
    tags: ['\u{1F600}'],
    extra: 7,
  },
  { code: 'F', name: '', price: 10, seats: 2, sold: false, day: '0001-01-01', extra: false },
  { code: 'G', price: 0.1, name: 'x\'; DROP TABLE cases; --\n"\\u0000', day: '2024-03-01' },
]

/** Creates the samples one after another: the order of ids is that of the codes. */
export async function fill(store: Store): Promise<[Stored, Stored, Stored, ...Stored[]]> {
  const created: Stored[] = []
  for (const sample of SAMPLES) created.push(await createOne(store, sample))
  const [first, second, third, ...others] = created
  return [present(first), present(second), present(third), ...others]
}

/** Sort keys as a request writes them, `-price,name`; the id is added. */
export function by(sort = ''): SortKey[] {
  return withTieBreak(parseSort(sort), { name: 'id' })
}

export function filter(path: string, operator: Operator, ...values: Scalar[]): Filter {
  return { path: toPath(path), operator, values }
}

export const ALL: Slice = { limit: 1000, offset: 0 }

/** Lists all items that pass the filters. */
export async function listAll(store: Store, where: readonly Filter[] = [], sort = '') {
  return (await store.list({ where, sort: by(sort) }, ALL, 'none')).items
}

/** Counts all items. */
export async function countAll(store: Store): Promise<number | undefined> {
  return store.count({ where: [] }, 'exact')
}

/** The maximum of items in one batch of a stream. */
export const MAX_BATCH = 500

/** Reads a stream to its end. */
export async function readStream(store: Store, selection: Selection): Promise<Stored[]> {
  const items: Stored[] = []
  for await (const batch of store.stream(selection)) {
    assert.ok(batch.length <= MAX_BATCH, `a batch of ${batch.length}`)
    items.push(...batch)
  }
  return items
}

/** Reads an item that must exist. */
export async function find(store: Store, id: Id): Promise<Stored> {
  return present(await findOne(store, id))
}

/** Updates an item that must not have changed. */
export async function change(
  store: Store,
  { id, version }: Stored,
  values: Item,
  options?: StoreWriteOptions,
): Promise<Stored> {
  return present(await updateOne(store, { id, version }, values, options))
}

/** The codes of items, joined: `ABC`. */
export function codes(items: readonly Stored[]): string {
  return items.map(({ item }) => item.code).join('')
}

export function idsOf(items: readonly Stored[]): Id[] {
  return items.map(({ id }) => id)
}

/** Asserts that a value is there. */
export function present<T>(value: T | undefined): T {
  assert.notEqual(value, undefined)
  // Just shown to be no `undefined`.
  return value as T
}

/** Asserts that work throws this very error, or one of this class. */
export async function fails(
  work: () => unknown,
  expected: Error | (new (...parameters: never[]) => Error),
): Promise<void> {
  const isExpected = (error: unknown) =>
    typeof expected === 'function' ? error instanceof expected : error === expected
  await assert.rejects(async () => work(), isExpected)
}

/** Does work so many times at once. */
export function times<T>(count: number, work: (at: number) => Awaitable<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, async (_, at) => work(at)))
}

/** Creates `count` items at once, all codes different. */
export function createMany(store: Store, count: number): Promise<Stored[]> {
  return times(count, at => createOne(store, { code: `n${at}`, price: at % 7 }))
}

/** Reads on by id at each call, as a client does that polls; `seen` collects what it has read. */
export function pollById(store: Store): { seen: Stored[]; read(): Promise<void> } {
  const seen: Stored[] = []
  return {
    seen,
    async read() {
      const last = seen.at(-1)
      seen.push(...(await listAll(store, last ? [filter('id', 'gt', last.id)] : [])))
    },
  }
}
