// The stores with transactions, on each database: each opens one, and makes stores in it.
import { memoryStore } from '../../src/index.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { openPostgres } from './postgres.ts'
import { newFile, openDatabase } from './sqlite.ts'

let tables = 0

/** Those on PostgreSQL need `usePostgres()`. */
export const TRANSACTIONAL: Readonly<Record<string, () => Promise<() => Store>>> = {
  memory: async () => () => memoryStore(),
  async SQLite() {
    const db = await openDatabase()
    return () => sqlStore({ db, create: true })
  },
  async 'SQLite with a reader'() {
    const file = newFile()
    const db = await openDatabase(file)
    await prepareSqlite(db, { reader: await openDatabase(file) })
    return () => sqlStore({ db, create: true })
  },
  async PostgreSQL() {
    const db = openPostgres()
    const at = ++tables
    return (name = '') => sqlStore({ db, table: `tx${at}_${++tables}${name}`, create: true })
  },
}
