// Writers that interleave: who follows the log has, whenever it is current, what the list has; three readers that are usual
// elsewhere have not.
import Database from 'libsql'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineCollection, memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { StoreChanges } from '../../src/store/changes.ts'
import type { Store } from '../../src/store/store.ts'
import { runs, SEED } from '../random.ts'
import { openPostgres, postgres, usePostgres } from '../stores/postgres.ts'
import { by } from '../stores/selections.ts'
import { newTable } from '../stores/several.ts'
import { newFile, openDatabase } from '../stores/sqlite.ts'

usePostgres()

const schema = z.object({ color: z.string() })

function attach(store: Store): Store {
  defineCollection({ name: 'cars', id: 'integer', schema, store, timestamps: false })
  return store
}

async function list(store: Store): Promise<Map<unknown, unknown>> {
  const page = await store.list({ where: [], sort: by('') }, { limit: 1000, offset: 0 }, 'none')
  return new Map(page.items.map(({ id, item }) => [id, item.color]))
}

/** What one reader has. */
class Follower {
  readonly #changes: StoreChanges
  readonly #store: Store
  #position = ''
  #has = new Map<unknown, unknown>()

  constructor(store: Store, changes = store.changes) {
    if (!changes) throw new Error('The store has no changes')
    this.#store = store
    this.#changes = changes
  }

  async start(): Promise<void> {
    this.#position = await this.#changes.position()
    this.#has = await list(this.#store)
  }

  /** Reads on. @returns whether it has everything. */
  async read(limit = 3): Promise<boolean> {
    const read = await this.#changes.read(this.#position, limit)
    if (read === 'gone') {
      await this.start()
      return false
    }
    this.#position = read.position
    for (const { id, after } of read.changes) {
      if (after) this.#has.set(id, after.color)
      else this.#has.delete(id)
    }
    return read.current
  }

  async readAll(): Promise<Map<unknown, unknown>> {
    while (!(await this.read())) await new Promise(resolve => setTimeout(resolve, 2))
    return new Map([...this.#has].toSorted(([one], [other]) => Number(one) - Number(other)))
  }
}

/** Draws numbers below a bound, the same at each run. */
function drawer(seed: number) {
  let state = seed % 2 ** 31
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

/** A writer that does one step at a time, and may have to wait for another within one. */
interface Writer {
  readonly isWaiting: boolean
  step(draw: (below: number) => number): Promise<void>
  end(): Promise<void>
}

/** Has writers and readers take turns, and compares. */
async function interleave(store: Store, writers: readonly Writer[], seed: number, steps: number) {
  const draw = drawer(seed)
  const followers = [new Follower(store), new Follower(store), new Follower(store)]
  for (const each of followers) await each.start()
  for (let at = 0; at < steps; at++) {
    const writer = writers[draw(writers.length)]
    if (writer && !writer.isWaiting) await writer.step(draw)
    const follower = followers[draw(followers.length)]
    if (draw(8) === 0) await follower?.start()
    else if (draw(2) === 0) await follower?.read(1 + draw(5))
  }
  await Promise.all(writers.map(each => each.end()))
  for (const each of followers) expect(await each.readAll()).toEqual(await list(store))
}

const COLORS = ['red', 'green', 'blue', 'white']

/** A statement on one of ten cars. */
function drawStatement(table: string, draw: (below: number) => number): string {
  const id = 1 + draw(10)
  const color = COLORS[draw(4)]
  return (
    [
      `delete from "${table}" where id = ${id}`,
      `insert into "${table}" (id, color, version) values (${id}, '${color}', 'v') on conflict (id) do update set color = '${color}'`,
      `update "${table}" set color = '${color}' where id = ${id}`,
      `update "${table}" set color = '${color}' where id > ${id}`,
    ][draw(4)] ?? ''
  )
}

/** How long a statement is waited for: it may wait for another writer. */
const PATIENCE_MS = 15

class PostgresWriter implements Writer {
  isWaiting = false
  readonly #client: pg.Client
  readonly #table: string
  #left = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: pg.Client, table: string) {
    this.#client = client
    this.#table = table
  }

  async step(draw: (below: number) => number): Promise<void> {
    if (this.#left === 0) {
      this.#left = 1 + draw(5)
      await this.#run('begin')
    } else if (--this.#left > 0) await this.#run(drawStatement(this.#table, draw))
    else await this.#run(draw(3) === 0 ? 'rollback' : 'commit')
  }

  async end(): Promise<void> {
    await this.#last
    await this.#client.query('rollback')
    this.#left = 0
  }

  async #run(text: string): Promise<void> {
    this.isWaiting = true
    this.#last = this.#client.query(text).then(
      () => {
        this.isWaiting = false
      },
      async () => {
        // A deadlock: the others go on.
        await this.#client.query('rollback')
        this.#left = 0
        this.isWaiting = false
      },
    )
    await Promise.race([this.#last, new Promise(resolve => setTimeout(resolve, PATIENCE_MS))])
  }
}

async function openCars() {
  const table = newTable()
  const store = attach(sqlStore({ db: openPostgres(), table, create: true, changes: true }))
  await store.open?.()
  const connect = async () => {
    const client = new pg.Client({ connectionString: postgres().url })
    await client.connect()
    onTestFinished(() => client.end())
    return client
  }
  return { table, store, connect }
}

test('PostgreSQL with eight writers', { timeout: 120_000 }, async () => {
  const { table, store, connect } = await openCars()
  const clients: pg.Client[] = []
  for (let at = 0; at < 8; at++) clients.push(await connect())
  for (let at = 0; at < runs(3); at++) {
    const writers = clients.map(client => new PostgresWriter(client, table))
    await interleave(store, writers, SEED + at, 60)
  }
})

test('SQLite with two connections', { timeout: 120_000 }, async () => {
  const file = newFile()
  const table = newTable()
  const store = attach(
    sqlStore({ db: await openDatabase(file), table, create: true, changes: true }),
  )
  await store.open?.()
  const connections = [new Database(file), new Database(file)]
  const writers = connections.map(database => ({
    isWaiting: false,
    // One at a time writes: a transaction is one step.
    async step(draw: (below: number) => number) {
      database.exec('begin immediate')
      for (let left = 1 + draw(4); left > 0; left--) database.exec(drawStatement(table, draw))
      database.exec(draw(3) === 0 ? 'rollback' : 'commit')
    },
    async end() {},
  }))
  for (let at = 0; at < runs(10); at++) await interleave(store, writers, SEED + at, 60)
  for (const database of connections) database.close()
})

test('the store in memory, with transactions that are undone', { timeout: 120_000 }, async () => {
  const store = attach(memoryStore())
  const write = async (on: Store, draw: (below: number) => number) => {
    const all = [...(await list(on)).keys()] as number[]
    const id = all[draw(all.length)]
    const color = COLORS[draw(4)] ?? ''
    const found = id === undefined ? undefined : (await on.find([id]))[0]
    const way = draw(5)
    if (!found || way < 2) await on.write([{ create: { color } }])
    else if (way === 2) await on.write([{ delete: found }])
    else await on.write([{ update: { color }, before: found }])
  }
  const writer = {
    isWaiting: false,
    async step(draw: (below: number) => number) {
      if (draw(2) === 0) return write(store, draw)
      const undoes = draw(3) === 0
      await store
        .transaction?.([store], async ([inside = store]) => {
          for (let left = draw(4); left > 0; left--) await write(inside, draw)
          if (undoes) throw new RangeError('undone')
        })
        .catch(error => {
          if (!(error instanceof RangeError)) throw error
        })
    },
    async end() {},
  }
  for (let at = 0; at < runs(20); at++) await interleave(store, [writer], SEED + at, 80)
})

/** Readers that are wrong on PostgreSQL: each finds a row of the log by another order. */
const WRONG = {
  'by the numbers of the log': {
    position: `select coalesce(max(seq), 0)::text as place from rest_changes`,
    read: `select seq::text as place, * from rest_changes where name = $1 and seq > $2::bigint order by seq`,
  },
  'by transactions, below the horizon of the snapshot': {
    position: `select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text as place`,
    read: `select xmin::text as place, * from rest_changes where name = $1 and xmin::text::bigint > $2::bigint
      and xmin::text::bigint < pg_snapshot_xmin(pg_current_snapshot())::text::bigint order by xmin::text::bigint, seq`,
  },
  'up to the end of the snapshot': {
    position: `select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text as place`,
    read: `select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text as place, * from rest_changes where name = $1
      and xmin::text::bigint > $2::bigint order by seq`,
  },
} as const

function wrongChanges(
  client: pg.Client,
  table: string,
  { position, read }: (typeof WRONG)[keyof typeof WRONG],
): StoreChanges {
  return {
    position: async () => String((await client.query(position)).rows[0]?.place),
    async read(after) {
      const { rows } = await client.query(read, [`public.${table}`, after])
      const changes = rows.map(row => {
        const after = row.after === null ? undefined : { color: JSON.parse(row.after).rest_color }
        return { id: Number(row.id), after }
      })
      return { changes, position: String(rows.at(-1)?.place ?? after), current: true }
    },
  }
}

/** Two orders of two writers. */
const ORDERS = {
  async 'the later number is committed first'(
    one: pg.Client,
    other: pg.Client,
    table: string,
    read: () => Promise<unknown>,
  ) {
    await one.query(`begin; update "${table}" set color = 'one' where id = 1`)
    await other.query(`update "${table}" set color = 'two' where id = 2`)
    await read()
    await one.query('commit')
  },
  async 'the earlier transaction writes last'(
    one: pg.Client,
    other: pg.Client,
    table: string,
    read: () => Promise<unknown>,
  ) {
    await one.query(`begin; update "${table}" set color = 'one' where id = 1`)
    await other.query(`update "${table}" set color = 'two' where id = 2`)
    await one.query(`update "${table}" set color = 'last' where id = 2; commit`)
    await read()
  },
}

describe.each(Object.entries(ORDERS))('where %s', (order, write) => {
  async function follow(changesOf: (client: pg.Client, table: string) => StoreChanges | undefined) {
    const { table, store, connect } = await openCars()
    const [one, other, reader] = [await connect(), await connect(), await connect()]
    await one.query(
      `insert into "${table}" (id, color, version) select id, 'new', 'v' from generate_series(1, 3) as id`,
    )
    const follower = new Follower(store, changesOf(reader, table))
    await follower.start()
    await write(one, other, table, () => follower.read(100))
    return [await follower.readAll(), await list(store)]
  }

  test('the reader of the store is right', async () => {
    const [has, listed] = await follow(() => undefined)
    expect(has).toEqual(listed)
  })

  const fails: Readonly<Record<string, readonly (keyof typeof WRONG)[]>> = {
    'the later number is committed first': [
      'by the numbers of the log',
      'up to the end of the snapshot',
    ],
    'the earlier transaction writes last': ['by transactions, below the horizon of the snapshot'],
  }
  test.each(fails[order] ?? [])('one that reads %s is wrong', async name => {
    const [has, listed] = await follow((client, table) => wrongChanges(client, table, WRONG[name]))
    expect(has).not.toEqual(listed)
  })
})
