// Whether a database makes the JSON of a page sooner than rows and JSON.stringify do: 25 of 100,000 cars.
//   npx tsx bench/json-by-database.ts [--rounds=2000]
import { deepStrictEqual } from 'node:assert'
import { parseArgs } from 'node:util'
import Database from 'libsql'
import pg from 'pg'
import { type Engine, openDatabases } from './databases.ts'
import { median, printSetting, printSpread, printTable, printTime } from './tables.ts'

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '2000' } } })
const rounds = Number(options.rounds)

const TABLE = `create table cars (id integer primary key, color text not null, price double precision,
  year integer not null, note text, created_at text not null, updated_at text not null)`
const CAR = `'c' || i % 12, i % 5000 + 0.5, 1990 + i % 30, 'a note of some length, number ' || i,
  '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z'`
const PAGE = 'select * from cars where id > 50000 order by id limit 25'
const MEMBERS = ['id', 'color', 'price', 'year', 'note', 'created_at', 'updated_at']
const OBJECT = `json_object(${MEMBERS.map(name => `'${name}', ${name}`).join(', ')})`

/** The text of a page, made by one or the other. */
interface Ways {
  readonly rows: () => Promise<string>
  readonly database: () => Promise<string>
  close(): Promise<void>
}

const WAYS: Readonly<Record<Engine, (address: string) => Promise<Ways>>> = { sqlite, postgres }

const table: string[][] = []
for (const engine of ['sqlite', 'postgres'] as const) {
  const databases = await openDatabases(engine)
  const ways = await WAYS[engine](await databases.fresh())
  try {
    table.push([databases.title, ...(await compare(ways))])
  } finally {
    await ways.close()
    await databases.close()
  }
}
printTable(
  'The text of a page of 25, µs',
  [
    'store',
    'rows and JSON.stringify',
    'by the database',
    '÷ rows',
    'by the database, parsed and JSON.stringify',
    '÷ rows',
  ],
  table,
)
printSetting(`alternating, medians of ${rounds}; the ratio of ten parts, least and most`, [
  'libsql',
  'pg',
])

async function compare({ rows, database }: Ways): Promise<string[]> {
  // The library filters, links and prints items as values in every format: it would have to parse.
  const parsed = async () => JSON.stringify(JSON.parse(await database()))
  const ways = [rows, database, parsed]
  deepStrictEqual(JSON.parse(await database()), JSON.parse(await rows()))
  const times: number[][] = ways.map(() => [])
  for (let at = -rounds; at < rounds; at++) {
    // Each is the first as often as the others.
    for (let turn = 0; turn < ways.length; turn++) {
      const which = (at + rounds + turn) % ways.length
      const start = performance.now()
      await ways[which]?.()
      if (at >= 0) times[which]?.push((performance.now() - start) * 1000)
    }
  }
  const [own = [], ...others] = times
  const part = (all: readonly number[], tenth: number) =>
    median(all.filter((_, at) => at % 10 === tenth))
  const tenths = Array.from({ length: 10 }, (_, tenth) => tenth)
  return [
    printTime(median(own)),
    ...others.flatMap(each => [
      printTime(median(each)),
      printSpread(tenths.map(tenth => part(each, tenth) / part(own, tenth))),
    ]),
  ]
}

async function sqlite(address: string): Promise<Ways> {
  const database = new Database(address)
  database.exec(TABLE)
  database.exec(`insert into cars with recursive n(i) as
    (select 1 union all select i + 1 from n where i < 100000) select i, ${CAR} from n`)
  const rows = database.prepare(PAGE)
  const text = database.prepare(`select json_group_array(${OBJECT}) as page from (${PAGE})`)
  return {
    rows: async () => JSON.stringify(rows.all()),
    database: async () => {
      // The one column that is asked for.
      const { page } = text.get() as { page: string }
      return page
    },
    close: async () => void database.close(),
  }
}

async function postgres(address: string): Promise<Ways> {
  const pool = new pg.Pool({ connectionString: address, max: 1 })
  await pool.query(TABLE)
  await pool.query(`insert into cars select i, ${CAR} from generate_series(1, 100000) as n(i)`)
  await pool.query('analyze cars')
  const text = `select json_agg(row_to_json(page))::text as page from (${PAGE}) as page`
  return {
    rows: async () => JSON.stringify((await pool.query({ name: 'rows', text: PAGE })).rows),
    database: async () => (await pool.query({ name: 'page', text })).rows[0].page,
    close: () => pool.end(),
  }
}
