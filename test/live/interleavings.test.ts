// Writers that interleave: who follows the log has, whenever it is current, what the list has; three readers that are usual
// elsewhere have not.
import Database from 'libsql'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { StoreChanges } from '../../src/store/changes.ts'
import { runs, SEED } from '../random.ts'
import { openPostgres, postgres, usePostgres } from '../stores/postgres.ts'
import { ask } from '../stores/postgres-server.ts'
import { newTable } from '../stores/several.ts'
import { newFile, openDatabase } from '../stores/sqlite.ts'
import {
  addParents,
  attach,
  Follower,
  interleave,
  list,
  PATIENCE_MS,
  PostgresWriter,
  StoreWriter,
  sqliteWriter,
  WRONG,
  wrongChanges,
} from './interleaving.ts'

usePostgres()

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
  for (const each of addParents(table)) await ask(postgres().url, each)
  const clients: pg.Client[] = []
  for (let at = 0; at < 6; at++) clients.push(await connect())
  const own = [1, 2].map(() => new StoreWriter(store, PATIENCE_MS))
  for (let at = 0; at < runs(3); at++) {
    const others = clients.map(client => new PostgresWriter(client, table))
    await interleave({ store, writers: [...others, ...own], seed: SEED + at, steps: 60 })
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
  for (const each of addParents(table)) connections[0]?.exec(each)
  const others = connections.map(each => sqliteWriter(each, table))
  const writers = [...others, new StoreWriter(store)]
  for (let at = 0; at < runs(10); at++)
    await interleave({ store, writers, seed: SEED + at, steps: 60 })
  for (const database of connections) database.close()
})

test('the store in memory, with transactions that are undone', { timeout: 120_000 }, async () => {
  const store = attach(memoryStore())
  const writers = [new StoreWriter(store)]
  for (let at = 0; at < runs(20); at++)
    await interleave({ store, writers, seed: SEED + at, steps: 80 })
})

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
