// What the small choices of docs/decisions save: each beside what one would write without it, alternating, the least of
// nine rounds.
//   npx tsx bench/choices.ts
import { createHash } from 'node:crypto'
import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql as tag,
} from 'kysely'
import Negotiator from 'negotiator'
import { Remembered } from '../src/base/remembered.ts'
import { printHttpDate } from '../src/http/date.ts'
import { print, sql } from '../src/sql/databases/sql-text.ts'
import { foldText, lowerAscii } from '../src/store/search.ts'
import { printSetting, printTable } from './tables.ts'

interface Choice {
  readonly title: string
  readonly ours: () => unknown
  readonly plain: () => unknown
  readonly times: number
}

const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: kysely => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})
const style = { placeholder: () => '?' }
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const TYPES = ['application/json', 'application/xml', 'text/csv', 'text/html']
const kept = new Remembered<string | undefined>(200, 256)
const chunks = Array.from({ length: 64 }, () => Buffer.alloc(16_384, 'x'))
const text = 'A long text of ASCII, as most are. '.repeat(30)
const accented = 'Un texte accentué, où rien n’est égal. '.repeat(30)

const CHOICES: readonly Choice[] = [
  {
    title: 'a statement of three conditions: as text, by the tag of Kysely',
    times: 20_000,
    ours() {
      const where = sql`a = ${1} and ${sql`b > ${2}`} and ${sql`c < ${3}`}`
      return print(sql`select * from t where ${where} limit ${5}`, style)
    },
    plain() {
      const where = tag`a = ${1} and ${tag`b > ${2}`} and ${tag`c < ${3}`}`
      return tag`select * from t where ${where} limit ${5}`.compile(db)
    },
  },
  {
    title: 'the format of an Accept header: kept, by negotiator',
    times: 20_000,
    ours: () => kept.get(ACCEPT, () => 'text/html'),
    plain: () => new Negotiator({ headers: { accept: ACCEPT } }).mediaType(TYPES),
  },
  {
    title: 'the date of a header: kept for its second, printed',
    times: 100_000,
    ours: () => printHttpDate(1_790_000_000_123),
    plain: () => new Date(1_790_000_000_000).toUTCString(),
  },
  {
    title: 'a MiB of an upload: read, read and hashed',
    times: 100,
    ours: () => chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    plain() {
      const hash = createHash('sha256')
      for (const chunk of chunks) hash.update(chunk)
      return hash.digest('hex')
    },
  },
  {
    title: 'a text of ASCII: folded, in lower case',
    times: 20_000,
    ours: () => foldText(text),
    plain: () => lowerAscii(text),
  },
  {
    title: 'a text with accents: folded, in lower case',
    times: 2_000,
    ours: () => foldText(accented),
    plain: () => accented.toLowerCase(),
  },
]

/** The CPU of one call, in µs. */
function measure(run: () => unknown, times: number): number {
  const { user } = process.cpuUsage()
  for (let at = 0; at < times; at++) run()
  return (process.cpuUsage().user - user) / times
}

const rows = CHOICES.map(({ title, ours, plain, times }) => {
  let [least, least2] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round <= 9; round++) {
    const found = [measure(ours, times), measure(plain, times)] as const
    // The first round compiles the code.
    if (round === 0) continue
    least = Math.min(least, found[0])
    least2 = Math.min(least2, found[1])
  }
  return [title, least.toFixed(2), least2.toFixed(2), (least / least2).toFixed(2)]
})
printTable('Small choices', ['first, second', 'µs', 'µs', '÷'], rows)
printSetting('CPU of one call, the least of nine rounds', ['kysely', 'negotiator'])
