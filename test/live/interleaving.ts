// Writers that interleave with readers of a store's changes, step by step: the same choices for the same seed.
import assert from 'node:assert/strict'
import type Database from 'libsql'
import type { Client } from 'pg'
import { z } from 'zod'
import { defineCollection } from '../../src/index.ts'
import type { StoreChanges } from '../../src/store/changes.ts'
import { UnavailableError, UniqueError } from '../../src/store/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { drawer } from '../random.ts'
import { by } from '../stores/selections.ts'

const schema = z.object({ color: z.string() })

/** Prepares a store of cars. */
export function attach(store: Store): Store {
  defineCollection({ name: 'cars', id: 'integer', schema, store, timestamps: false })
  return store
}

export async function list(store: Store): Promise<Map<unknown, unknown>> {
  const page = await store.list({ where: [], sort: by('') }, { limit: 1000, offset: 0 }, 'none')
  return new Map(page.items.map(({ id, item }) => [id, item.color]))
}

/** What one reader has. */
export class Follower {
  readonly #changes: StoreChanges
  readonly #store: Store
  #position = ''
  #has = new Map<unknown, unknown>()
  #work: Promise<unknown> | undefined

  constructor(store: Store, changes = store.changes) {
    if (!changes) throw new Error('The store has no changes')
    this.#store = store
    this.#changes = changes
  }

  /** Begins a work, unless the last one goes on. */
  begin(work: (self: this) => Promise<unknown>): void {
    this.#work ??= work(this).finally(() => {
      this.#work = undefined
    })
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
    await this.#work
    while (!(await this.read())) await new Promise(resolve => setTimeout(resolve, 2))
    return new Map([...this.#has].toSorted(([one], [other]) => Number(one) - Number(other)))
  }
}

type Draw = (below: number) => number

/** A writer that does one step at a time, and may have to wait for another within one. */
export interface Writer {
  readonly isWaiting?: boolean
  step(draw: Draw): Promise<void>
  end?(): Promise<void>
}

/** What takes turns. */
export interface Interleaving {
  readonly store: Store
  readonly writers: readonly Writer[]
  readonly steps: number
  readonly seed: number
  /** What the readers read, in place of the changes of the store. */
  readonly changes?: StoreChanges
}

/**
 * Has writers and three readers take turns.
 * @throws AssertionError for a reader that has not what the list has, in the end.
 */
export async function interleave(interleaving: Interleaving): Promise<void> {
  const { store, writers, steps, seed, changes } = interleaving
  const draw = drawer(seed)
  const followers = [1, 2, 3].map(() => new Follower(store, changes))
  for (const each of followers) await each.start()
  for (let at = 0; at < steps; at++) {
    const writer = writers[draw(writers.length)]
    if (writer && !writer.isWaiting) await writer.step(draw)
    const follower = followers[draw(followers.length)]
    const [way, limit] = [draw(16), 1 + draw(5)]
    // Writers go on meanwhile.
    if (way < 2) follower?.begin(each => each.start())
    else if (way < 9) follower?.begin(each => each.read(limit))
  }
  await Promise.all(writers.map(each => each.end?.()))
  for (const each of followers) assert.deepEqual(await each.readAll(), await list(store))
}

const COLORS = ['red', 'green', 'blue', 'white']

/** The statements that give a table of cars parents, with which their cars are deleted. */
export const addParents = (table: string): string[] => [
  `create table "${table}_parents" (id integer primary key)`,
  `alter table "${table}" add column parent_id integer references "${table}_parents" (id) on delete cascade`,
]

/** A statement on some of ten cars. */
function drawStatement(table: string, draw: Draw): string {
  const id = 1 + draw(10)
  const color = COLORS[draw(4)]
  const parent = 1 + draw(2)
  return (
    [
      `delete from "${table}" where id = ${id}`,
      `insert into "${table}" (id, color, version) values (${id}, '${color}', 'v') on conflict (id) do update set color = '${color}'`,
      `update "${table}" set color = '${color}' where id = ${id}`,
      `update "${table}" set color = '${color}' where id > ${id}`,
      `insert into "${table}_parents" values (${parent}) on conflict do nothing`,
      `update "${table}" set parent_id = ${parent} where id > ${id} and exists (select from "${table}_parents" where id = ${parent})`,
      `delete from "${table}_parents" where id = ${parent}`,
    ][draw(7)] ?? ''
  ).replace('select from', 'select 1 from')
}

/** How long a step in PostgreSQL is waited for, in milliseconds: it may wait for another writer. */
export const PATIENCE_MS = 15

/** A writer whose steps may wait for others. */
abstract class PatientWriter implements Writer {
  isWaiting = false
  protected last: Promise<unknown> = Promise.resolve()
  readonly #patience: number | undefined

  constructor(patience: number | undefined) {
    this.#patience = patience
  }

  abstract step(draw: Draw): Promise<void>

  /** Does what may wait. @param onFailure is done if it fails, as by a deadlock: the others go on. */
  protected async run(
    work: () => Promise<unknown>,
    onFailure: (error: unknown) => unknown,
  ): Promise<void> {
    this.isWaiting = true
    this.last = work()
      .catch(onFailure)
      .finally(() => {
        this.isWaiting = false
      })
    const patience = this.#patience
    if (patience === undefined) await this.last
    else await Promise.race([this.last, new Promise(resolve => setTimeout(resolve, patience))])
  }

  async end(): Promise<void> {
    await this.last
  }
}

/** Another program, which writes SQL in transactions of several steps. */
export class PostgresWriter extends PatientWriter {
  readonly #client: Client
  readonly #table: string
  #left = 0

  constructor(client: Client, table: string) {
    super(PATIENCE_MS)
    this.#client = client
    this.#table = table
  }

  async step(draw: Draw): Promise<void> {
    if (this.#left === 0) {
      this.#left = 1 + draw(5)
      await this.#say('begin')
    } else if (--this.#left > 0) await this.#say(drawStatement(this.#table, draw))
    else await this.#say(draw(3) === 0 ? 'rollback' : 'commit')
  }

  override async end(): Promise<void> {
    await super.end()
    await this.#client.query('rollback')
    this.#left = 0
  }

  async #say(text: string): Promise<void> {
    await this.run(
      () => this.#client.query(text),
      async () => {
        await this.#client.query('rollback')
        this.#left = 0
      },
    )
  }
}

/** Another connection to a file. One at a time writes: a transaction is one step. */
export function sqliteWriter(database: Database.Database, table: string): Writer {
  database.exec('pragma foreign_keys = on')
  return {
    async step(draw) {
      database.exec('begin immediate')
      for (let left = 1 + draw(4); left > 0; left--) database.exec(drawStatement(table, draw))
      database.exec(draw(3) === 0 ? 'rollback' : 'commit')
    },
  }
}

/** Thrown to have a transaction undone. */
class Undone extends Error {}

/** Writes by the store itself: sets of items, and transactions that are undone. */
export class StoreWriter extends PatientWriter {
  readonly #store: Store

  /** @param patience where its steps may wait for those of others. */
  constructor(store: Store, patience?: number) {
    super(patience)
    this.#store = store
  }

  async step(draw: Draw): Promise<void> {
    const store = this.#store
    const work = async () => {
      if (draw(2) === 0) return write(store, draw)
      const undoes = draw(3) === 0
      await store.transaction?.([store], async ([inside = store]) => {
        for (let left = draw(4); left > 0; left--) await write(inside, draw)
        if (undoes) throw new Undone()
      })
    }
    await this.run(work, error => {
      const isExpected = [Undone, UnavailableError, UniqueError].some(one => error instanceof one)
      if (!isExpected) throw error
    })
  }
}

/** Creates an item, or changes or deletes some that are there. */
async function write(store: Store, draw: Draw): Promise<void> {
  const color = COLORS[draw(4)] ?? ''
  const all = [...(await list(store)).keys()] as number[]
  const ids = all.slice(draw(all.length)).slice(0, 1 + draw(3))
  const found = (await store.find(ids)).filter(each => each !== undefined)
  const way = draw(5)
  if (found.length === 0 || (way < 2 && all.length < 20)) await store.write([{ create: { color } }])
  else if (way === 2) await store.write(found.map(each => ({ delete: each })))
  else await store.write(found.map(before => ({ update: { color }, before })))
}

/** Readers that are wrong on PostgreSQL: each finds a row of the log by another order. */
export const WRONG = {
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

/** Reads the log as a wrong reader does. */
export function wrongChanges(
  client: Pick<Client, 'query'>,
  table: string,
  { position, read }: (typeof WRONG)[keyof typeof WRONG],
): StoreChanges {
  return {
    position: async () => String((await client.query(position)).rows[0]?.place),
    async read(after) {
      const { rows } = await client.query(read, [`public.${table}`, after])
      const changes = rows.map(row => {
        const after = row.after === null ? undefined : { color: JSON.parse(row.after).color }
        return { id: Number(row.id), after }
      })
      return { changes, position: String(rows.at(-1)?.place ?? after), current: true }
    },
  }
}
