// The contract of a store on `node:sqlite`, in a Node.js that has it; prints the cases that fail.
import { CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import { defineApi, defineCollection } from 'rest-conventions'
import { type NodeSqliteDatabase, nodeSqlite, prepareSqlite, sqlStore } from 'rest-conventions/sql'
import { storeCases } from 'rest-conventions/testing'
import { z } from 'zod'
import { proveShown, SQLITE } from './shown-values.ts'
import { findMisread, findMissorted } from './sqlite-columns.ts'

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
/** Of another program: whole numbers that JavaScript rounds, which Node.js refuses to read. */
async function readBigNumbers() {
  const raw = new DatabaseSync(':memory:')
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: nodeSqlite(raw) }) })
  const run = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  await run('create table sums (id integer primary key, name text not null, total integer)')
  await run("insert into sums values (1, 'a', 9007199254740993), (2, 'b', 5)")
  const sums = defineCollection({
    name: 'sums',
    id: 'integer',
    timestamps: false,
    schema: z.object({ name: z.string(), total: z.int().nullable() }),
    store: sqlStore({ db, version: false }),
  })
  const api = defineApi({ collections: [sums] })
  const ask = async (method: string, path: string, body?: unknown) => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
    const response = await api.fetch(new Request(`http://x${path}`, { method, headers, ...init }))
    return `${method} ${response.status} ${await response.text()}`
  }
  const found = [
    await ask('GET', '/sums'),
    await ask('PATCH', '/sums/1', { name: 'c' }),
    await ask('DELETE', '/sums/1'),
  ]
  const wanted = [
    'GET 200 [{"id":1,"name":"a","total":null},{"id":2,"name":"b","total":5}]',
    'PATCH 200 {"id":1,"name":"c","total":null}',
    'DELETE 200 {"id":1,"name":"c","total":null}',
  ]
  for (const [at, text] of found.entries())
    if (text !== wanted[at]) failed.push(`${text}, not ${wanted[at]}`)
}

await readBigNumbers()
const others = new Kysely<unknown>({
  dialect: new SqliteDialect({ database: nodeSqlite(new DatabaseSync(':memory:')) }),
})
await prepareSqlite(others)
failed.push(...(await findMisread(others)), ...(await findMissorted(others)))
failed.push(...(await proveShown(others, SQLITE, { count: 300 })).wrong)
console.log(JSON.stringify({ passed: passed > 50, failed }))
