// The contract of a store on PGlite, by the dialect of Kysely 0.29; prints the cases that fail.
import * as kysely from 'kysely'
import { sqlStore } from 'rest-conventions/sql'
import { storeCases } from 'rest-conventions/testing'

// By a variable, and without its type: only test/stores/databases has them.
const module: string = '@electric-sql/pglite'
const { PGlite } = await import(module)
const { PGliteDialect }: { PGliteDialect: new (config: object) => kysely.Dialect } = Object(kysely)

const pglite = await PGlite.create()
const db = new kysely.Kysely<unknown>({ dialect: new PGliteDialect({ pglite }) })

let tables = 0
const failed: string[] = []
let passed = 0
for (const { name, run } of storeCases(() =>
  sqlStore({ db, table: `cases_${++tables}`, create: true, changes: true }),
)) {
  try {
    await run()
    passed++
  } catch (error) {
    failed.push(`${name}: ${error}`)
  }
}
console.log(JSON.stringify({ passed: passed > 50, failed }))
