// The contract of a store on PGlite, by the dialect of Kysely 0.29; prints the cases that fail. The word `third` leaves
// two thirds of the cases to the runs on PostgreSQL itself.
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
const all = storeCases(() =>
  sqlStore({ db, table: `cases_${++tables}`, create: true, changes: true }),
)
const step = process.argv[2] === 'third' ? 3 : 1
for (const { name, run } of all.filter((_, at) => at % step === 0)) {
  try {
    await run()
    passed++
  } catch (error) {
    failed.push(`${name}: ${error}`)
  }
}
console.log(JSON.stringify({ passed: passed > 90 / step, failed }))
// A timer of PGlite would keep the process for ten seconds.
process.exit()
