// The contract of a store on `node:sqlite`, in a Node.js that has it; prints the cases that fail.
import { Kysely, SqliteDialect } from 'kysely'
import { type NodeSqliteDatabase, nodeSqlite, prepareSqlite, sqlStore } from 'rest-conventions/sql'
import { storeCases } from 'rest-conventions/testing'

// By a variable: the types of this Node.js do not have it.
const module: string = 'node:sqlite'
const { DatabaseSync }: { DatabaseSync: new (file: string) => NodeSqliteDatabase } = await import(
  module
)

async function open() {
  const database = nodeSqlite(new DatabaseSync(':memory:'))
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
  await prepareSqlite(db)
  return sqlStore({ db, create: true, changes: true })
}

const failed: string[] = []
let passed = 0
for (const { name, run } of storeCases(open)) {
  try {
    await run()
    passed++
  } catch (error) {
    failed.push(`${name}: ${error}`)
  }
}
console.log(JSON.stringify({ passed: passed > 50, failed }))
