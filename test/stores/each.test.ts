// The items of several ids at once: by how many statements, and how much of long rows is read.
import type { CompiledQuery, Kysely } from 'kysely'
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import type { MemoryStore } from '../../src/memory/memory-store.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { EachLimit, ListOptions, Store } from '../../src/store/store.ts'
import { createAll, createOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { by, SHAPE } from './selections.ts'
import { car, closing, newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

usePostgres()

type Open = (onStatement?: (statement: CompiledQuery) => void) => Promise<Kysely<unknown>>

const DATABASES: [string, Open][] = [
  ['SQLite', onStatement => openDatabase(undefined, onStatement)],
  ['PostgreSQL', async onStatement => openPostgres({}, onStatement)],
]

const COLORS = Array.from({ length: 100 }, (_, at) => `color ${at}`)
const MANY: EachLimit = { each: 100, all: 1000 }

/** Creates cars of each color, and lists them: the pages, and the statements. */
async function listed(
  open: Open,
  count: (at: number) => number,
  limit: EachLimit,
  { note = '', ...options }: ListOptions & { readonly note?: string } = {},
) {
  const statements: string[] = []
  const db = await open(({ sql: text }) => statements.push(text))
  const store: Store = sqlStore({ db, table: newTable(), create: true })
  store.attach(SHAPE)
  return closing([store], async () => {
    const cars = COLORS.flatMap((color, at) =>
      Array.from({ length: count(at) }, (_, year) => ({ ...car(color, year), note })),
    )
    for (let at = 0; at < cars.length; at += 500) await createAll(store, cars.slice(at, at + 500))
    statements.length = 0
    const all = { where: [], sort: by('') }
    const pages = (await store.listEach?.(['color'], COLORS, all, limit, options)) ?? []
    return { pages, statements, sizes: pages.map(({ items }) => items.length) }
  })
}

describe.each(DATABASES)('%s', (_name, open) => {
  test('one statement lists the items of 100 ids', async () => {
    const { sizes, statements } = await listed(open, () => 5, MANY)
    expect(sizes).toEqual(COLORS.map(() => 5))
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toContain('row_number')
  })

  test('one statement lists the first items of ids with many', async () => {
    const { sizes, pages, statements } = await listed(open, () => 30, { each: 5, all: 1000 })
    expect(sizes).toEqual(COLORS.map(() => 5))
    expect(pages.every(({ more }) => more)).toBe(true)
    expect(pages.map(({ items }) => items.map(({ item }) => item.year))).toEqual(
      COLORS.map(() => [0, 1, 2, 3, 4]),
    )
    expect(statements).toHaveLength(1)
  })

  test('items that are too many are counted, and those of as many ids as fit are read', async () => {
    const { sizes, statements } = await listed(open, at => (at < 2 ? 30 : 20), MANY)
    expect(sizes).toEqual([30, 30, ...Array.from({ length: 47 }, () => 20)])
    expect(statements).toHaveLength(3)
    const first = await listed(open, at => (at === 0 ? 150 : 10), { each: 100, all: 50 })
    expect(first.sizes).toEqual([100])
    expect(first.pages[0]?.more).toBe(true)
  })

  test('long rows are not read before it is known how many fit', async () => {
    const note = 'x'.repeat(20_000)
    const { sizes } = await listed(open, at => (at === 0 ? 3 : 2), MANY, {
      maxBytes: 200_000,
      note,
    })
    expect(sizes).toEqual([3, 2, 2, 2])
    // Those of one id are a list that is cut.
    const alone = await listed(open, () => 4, MANY, { maxBytes: 70_000, note })
    expect(alone.sizes).toEqual([3])
    expect(alone.pages[0]?.more).toBe(true)
    const short = await listed(open, () => 5, MANY, { maxBytes: 8 * 1024 * 1024, note: 'short' })
    expect(short.statements).toHaveLength(1)
  })
})

test('memory looks at the items of the ids alone, where the field has an index', async () => {
  const store = memoryStore() as MemoryStore
  store.attach(SHAPE)
  for (let at = 0; at < 1000; at++) await createOne(store, car(`color ${at % 100}`, at))
  const before = store.examined
  const page = { where: [], sort: by('') }
  const pages = (await store.listEach?.(['color'], COLORS.slice(0, 10), page, MANY)) ?? []
  expect(pages.map(({ items }) => items.length)).toEqual(Array(10).fill(10))
  expect(store.examined - before).toBe(100)
})
