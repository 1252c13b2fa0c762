// Creates that wait together go into the table by few statements, and each comes to its own end.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Item } from '../../src/base/values.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import type { Field } from '../../src/schema/fields.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { KeptError } from '../../src/store/errors.ts'
import { type KeyedStore, toKeyedStore } from '../../src/store/keyed-store.ts'
import type { Id, Shape, Store } from '../../src/store/store.ts'
import { findOne } from '../../src/store/writes.ts'
import { createOne, updateOne } from '../../src/testing/write-items.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { by, SHAPE as SEARCHED } from './selections.ts'
import { closing, newTable } from './several.ts'
import { newFile, openDatabase } from './sqlite.ts'

usePostgres()

const SHAPE: Shape = { ...SEARCHED, search: undefined }

type Open = (onStatement: (statement: CompiledQuery) => void) => Promise<Kysely<unknown>>

/** How many rows the inserts of each test have. */
interface Inserts {
  readonly hundred: number[]
  readonly long: number[]
  readonly keyed: number[]
  readonly wide: number[]
}

const DATABASES: [string, Open, Inserts][] = [
  [
    'SQLite',
    onStatement => openDatabase(undefined, onStatement),
    { hundred: [64, 32, 4], long: [1, 1, 2], keyed: [1, 2], wide: [32, 32] },
  ],
  [
    'PostgreSQL',
    async onStatement => openPostgres({}, onStatement),
    // The first statement finds that the table has no last id yet.
    { hundred: [100, 100], long: [4, 4], keyed: [1, 1, 1, 1], wide: [64, 64] },
  ],
]

interface Opened {
  readonly db: Kysely<unknown>
  readonly table: string
  readonly store: KeyedStore
  /** How many rows each insert since the last look has given. */
  inserted(): number[]
}

async function opened(open: Open, shape: Shape = SHAPE): Promise<Opened> {
  const table = newTable()
  const rows: number[] = []
  const db = await open(({ sql: text, parameters }) => {
    if (!new RegExp(`insert into ["\`]${table}["\`]`).test(text)) return
    const json =
      text.includes('json_array_elements') && parameters.find(each => /^\[/.test(`${each}`))
    const [, values = '('] = / values (.+)/.exec(text) ?? []
    rows.push(json ? JSON.parse(String(json)).length : values.match(/\(/g)?.length)
  })
  const store = toKeyedStore(sqlStore({ db, table, create: true }))
  store.attach(shape)
  // Its tables are made.
  await store.count({ where: [] }, 'exact')
  return { db, table, store, inserted: () => rows.splice(0) }
}

const car = (color: string): Item => ({ color, price: 1, year: 1 })
const LONG = 'x'.repeat(60_000)
const everything = { where: [], sort: by('') }

describe.each(DATABASES)('creates at the same time on %s', (_name, open, inserts) => {
  test('insert a hundred rows by few statements', async () => {
    const { store, inserted } = await opened(open)
    await closing([store], async () => {
      const calls = Array.from({ length: 100 }, (_, at) => createOne(store, car(`c${at}`)))
      const made = await Promise.all(calls)
      expect(inserted()).toEqual(inserts.hundred)
      const { items } = await store.list(everything, { limit: 200, offset: 0 }, 'none')
      expect(items).toEqual(made)
      expect(made.map(({ id }) => id)).toEqual(made.map((_, at) => at + 1))
      expect(made.map(({ item }) => item.color)).toEqual(made.map((_, at) => `c${at}`))
    })
  })

  test('insert long texts in smaller parts', async () => {
    const { store, inserted } = await opened(open)
    await closing([store], async () => {
      const calls = [LONG, LONG, LONG, ''].map(note => createOne(store, { ...car('red'), note }))
      const made = await Promise.all(calls)
      expect(inserted()).toEqual(inserts.long)
      const { items } = await store.list(everything, { limit: 9, offset: 0 }, 'none')
      expect(items).toEqual(made)
    })
  })

  test('succeed or fail separately', async () => {
    const { store } = await opened(open, { ...SHAPE, unique: [['color']] })
    await closing([store], async () => {
      for (const key of ['key', 'failing']) await store.claim(key, 'print')
      const reason = new Error('gone')
      const [made, conflicting, aborted, keyed, failing, last] = await Promise.allSettled([
        createOne(store, car('a')),
        createOne(store, car('a')),
        createOne(store, car('b'), { signal: AbortSignal.abort(reason) }),
        createOne(store, car('c'), { idempotencyKey: 'key' }),
        createOne(store, car('c'), { idempotencyKey: 'failing' }),
        createOne(store, car('d')),
      ])
      expect(made).toMatchObject({ value: { id: 1, item: { color: 'a' } } })
      expect(conflicting).toMatchObject({ reason: { fields: ['color'] } })
      expect(aborted).toEqual({ status: 'rejected', reason })
      expect(failing).toMatchObject({ reason: { fields: ['color'] } })
      // Those with a key may come later.
      const [id, other] = last.status === 'fulfilled' && last.value.id === 2 ? [3, 2] : [2, 3]
      expect(keyed).toMatchObject({ value: { id, item: { color: 'c' } } })
      expect(last).toMatchObject({ value: { id: other, item: { color: 'd' } } })
      expect(await store.claim('key', 'print')).toMatchObject({ state: 'done', answer: [{ id }] })
      expect(await store.claim('failing', 'print')).toMatchObject({ state: 'running' })
      expect(await store.count({ where: [] }, 'exact')).toBe(3)
    })
  })

  test('with and without an idempotency key, and with a chosen id, are inserted', async () => {
    const shape: Shape = { ...SHAPE, identity: { name: 'id', kind: 'text' } }
    const { store, inserted } = await opened(open, shape)
    await closing([store], async () => {
      await store.claim('key', 'print')
      const made = await Promise.all([
        createOne(store, { ...car('a'), id: 'chosen' }),
        createOne(store, car('b')),
        createOne(store, car('c'), { idempotencyKey: 'key' }),
      ])
      expect(inserted().toSorted()).toEqual(inserts.keyed)
      const attempt = await store.claim('key', 'print')
      expect(attempt).toEqual({ state: 'done', fingerprint: 'print', answer: [made[2]] })
      const found = await Promise.all(made.map(({ id }) => findOne(store, id)))
      expect(found).toEqual(made)
    })
  })

  test('of many columns are inserted too', async () => {
    const names = Array.from({ length: 600 }, (_, at) => `column_${at}`)
    const fields = new Map<string, Field>(SHAPE.fields)
    for (const each of names) fields.set(each, { kind: 'string', nullable: false, optional: true })
    const { store, inserted } = await opened(open, { ...SHAPE, fields })
    await closing([store], async () => {
      const made = await Promise.all(
        names.slice(0, 64).map(each => createOne(store, { ...car('a'), [each]: each })),
      )
      expect(inserted()).toEqual(inserts.wide)
      const { items } = await store.list(everything, { limit: 100, offset: 0 }, 'none')
      expect(items).toEqual(made)
    })
  })
})

describe.each(DATABASES.filter(([name]) => name !== 'SQLite'))(
  'creates at the same time on %s',
  (_name, open) => {
    test('do not wait for aborted ones', async () => {
      const others = Array.from({ length: 40 }, () => new AbortController())
      let inserts = 0
      const table = newTable()
      const db = await open(({ sql: text }) => {
        if (text.includes(table) && /insert into/.test(text)) others[inserts++]?.abort()
      })
      const store = sqlStore({ db, table, create: true })
      store.attach(SHAPE)
      await closing([store], async () => {
        await store.count({ where: [] }, 'exact')
        const patient = createOne(store, car('patient'))
        const pending = others.map(({ signal }) => createOne(store, car('other'), { signal }))
        await Promise.allSettled(pending)
        expect((await patient).item.color).toBe('patient')
        // 41 rows go in three statements, and are done three times at most.
        expect(inserts).toBeLessThanOrEqual(9)
      })
    })
  },
)

test('long rows go to PostgreSQL by several statements', async () => {
  const { store, inserted } = await opened(async onStatement => openPostgres({}, onStatement))
  await closing([store], async () => {
    await createOne(store, car('first'))
    inserted()
    const notes = ['a', 'b', 'c', 'd'].map(letter => letter.repeat(400_000))
    const made = await Promise.all(notes.map(note => createOne(store, { ...car('red'), note })))
    expect(inserted()).toEqual([2, 2])
    const { items } = await store.list(everything, { limit: 9, offset: 0 }, 'none')
    expect(items.slice(1)).toEqual(made)
  })
})

test('null inside of JSON is kept apart from an absent value by creates together', async () => {
  const { store } = await opened(async onStatement => openPostgres({}, onStatement))
  await closing([store], async () => {
    const values = [
      { free: null },
      {},
      { free: { a: [null, 'ü"\\n'] } },
      { note: null },
      { free: 'null' },
    ]
    const made = await Promise.all(values.map(each => createOne(store, { ...car('red'), ...each })))
    const { items } = await store.list(everything, { limit: 9, offset: 0 }, 'none')
    expect(items).toEqual(made)
    expect(items.map(({ item }) => [item.free, item.note])).toEqual(
      values.map(each => [each.free, each.note]),
    )
  })
})

test('a row that a trigger of PostgreSQL skips or changes never gets the answer of another row', async () => {
  const { db, table, store } = await opened(async onStatement => openPostgres({}, onStatement))
  await closing([store], async () => {
    await sql`create function odd() returns trigger language plpgsql as 'begin
      if new.color = ''out'' then return null; end if;
      if new.color = ''other'' then new.id := new.id + 1000; end if;
      return new; end'`.execute(db)
    await sql`create trigger odd before insert on ${sql.id(table)} for each row execute function odd()`.execute(
      db,
    )
    const made = await Promise.allSettled(
      ['a', 'out', 'other', 'b'].map(color => createOne(store, car(color))),
    )
    expect(made.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    for (const result of made) {
      if (result.status === 'fulfilled') {
        expect(await findOne(store, result.value.id)).toEqual(result.value)
      }
    }
    expect(await store.count({ where: [] }, 'exact')).toBe(3)
  })
})

test('a row with a chosen id that a trigger skips is an error too', async () => {
  const shape: Shape = { ...SHAPE, identity: { name: 'id', kind: 'text' } }
  const { db, table, store } = await opened(
    async onStatement => openPostgres({}, onStatement),
    shape,
  )
  await closing([store], async () => {
    await sql`create function keeps_out() returns trigger language plpgsql as 'begin return null; end'`.execute(
      db,
    )
    await sql`create trigger keeps_out before insert on ${sql.id(table)} for each row execute function keeps_out()`.execute(
      db,
    )
    const again = sqlStore({ db, table })
    again.attach(shape)
    await expect(createOne(again, { ...car('red'), id: 'a' })).rejects.toThrow(KeptError)
  })
})

test('a table that others refer to is changed by one statement', async () => {
  const statements: string[] = []
  const { db, table, store } = await opened(async onStatement =>
    openPostgres({}, statement => {
      statements.push(statement.sql)
      onStatement(statement)
    }),
  )
  await closing([store], async () => {
    const { id, version } = await createOne(store, car('red'))
    await sql`create table ${sql.id(`${table}_of`)} (car_id bigint references ${sql.id(table)} (id))`.execute(
      db,
    )
    const again = sqlStore({ db, table })
    again.attach(SHAPE)
    await findOne(again, id)
    statements.length = 0
    await updateOne(again, { id, version }, car('blue'))
    expect(statements).toHaveLength(1)
  })
})

test('a connection that timed out while tables were made works again', async () => {
  const url = openPostgres({ max: 1 })
  await url.connection().execute(async lock => {
    await sql`select pg_advisory_lock(7215423909113245)`.execute(lock)
    const db = openPostgres({ max: 1, options: '-c lock_timeout=100' })
    const store = sqlStore({ db, table: newTable(), create: true })
    store.attach(SHAPE)
    const count = () => store.count({ where: [] }, 'exact')
    await expect(count()).rejects.toThrow()
    await sql`select pg_advisory_unlock(7215423909113245)`.execute(lock)
    expect(await count()).toBe(0)
    await store.close()
  })
  await url.destroy()
})

test('a row that a trigger of PostgreSQL skips is an error, not an endless loop', async () => {
  const { db, table, store } = await opened(async onStatement => openPostgres({}, onStatement))
  await closing([store], async () => {
    await sql`create function nothing() returns trigger language plpgsql as 'begin return null; end'`.execute(
      db,
    )
    await sql`create trigger none before insert on ${sql.id(table)} for each row execute function nothing()`.execute(
      db,
    )
    await expect(createOne(store, car('red'))).rejects.toThrow(KeptError)
  })
})

describe('a reader by since_id sees every item while the clock jumps', () => {
  /** One that is set back by an hour, then forward by a day, and back again. */
  const jumps = [0, 3_600_000, 1, -3_600_000, -3_599_000, 86_400_000, 5, -86_400_000]
  const jumping = (from: number) => {
    let at = from
    return () => 1_700_000_000_000 + (jumps[at++ % jumps.length] ?? 0)
  }
  const STORES: Readonly<Record<string, () => Promise<readonly Store[]>>> = {
    memory: async () => [memoryStore({ clock: jumping(0) })],
    // Two servers whose clocks differ.
    async SQLite() {
      const file = newFile()
      const open = async (from: number) =>
        sqlStore({
          db: await openDatabase(file),
          table: 'jumps',
          create: true,
          clock: jumping(from),
        })
      return [await open(0), await open(3)]
    },
    async PostgreSQL() {
      const table = newTable()
      const open = (from: number) =>
        sqlStore({ db: openPostgres(), table, create: true, clock: jumping(from) })
      return [open(0), open(3)]
    },
  }

  const cases = Object.entries(STORES).flatMap(([name, open]) =>
    (['uuid', 'integer'] as const).map(id => [name, id, open] as const),
  )
  test.each(cases)('%s, %s', async (_name, id, open) => {
    const stores = await open()
    const apis = stores.map(store => {
      const schema = z.object({ name: z.string() })
      const things = defineCollection({ name: 'things', schema, store, id })
      return defineApi({ collections: { things } })
    })
    const ask = async (which: number, query: string, body?: object): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' }
      const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
      const request = new Request(`http://a.example/things${query}`, init)
      const answer = await apis[which % apis.length]?.fetch(request)
      expect(answer?.status).toBe(body ? 201 : 200)
      return answer?.json()
    }
    const seen: { id: Id; name: string }[] = []
    const read = async (which: number) => {
      const last = seen.at(-1)
      const since = last === undefined ? '' : `&since_id=${last.id}`
      const page = await ask(which, `?limit=2${since}`)
      seen.push(
        ...z.array(z.object({ id: z.union([z.string(), z.int()]), name: z.string() })).parse(page),
      )
    }
    for (let step = 0; step < 40; step++) {
      await ask(step, '', { name: `${step}` })
      if (step % 3 === 0) await read(step + 1)
    }
    for (let more = 0; more < 40; more++) await read(more)
    expect(seen.map(({ name }) => name)).toEqual(Array.from({ length: 40 }, (_, at) => `${at}`))
    for (const api of apis) await api.close()
  })
})
