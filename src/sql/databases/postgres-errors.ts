// What errors of PostgreSQL mean, by their codes: "PostgreSQL Error Codes", an appendix of its manual. Messages are in the
// server's language; codes and the names of its functions are not.

import type { DriverFailure } from './database.ts'

/** The first that fits counts. */
const KINDS = [
  [/^23505$/, 'unique'],
  [/^23P01$/, 'excluded'],
  [/^23502$/, 'missing'],
  // A text too long, a number or a date out of range, what a type cannot read, XML, a range; a check, a row of an index.
  [/^(?:2200[013789MN]|22026|22P02|23514|54000)$/, 'unstorable'],
  [/^(?:23001|23503)$/, 'conflict'],
  // Of another transaction, or of a prepared statement.
  [/^(?:40001|40P01|26000|42P05)$/, 'again'],
  [/^53100$/, 'full'],
  [/^55P03$/, 'locked'],
  [/^57014$/, 'cancelled'],
  [/^(?:08...|53...|57P0\d)$/, 'unavailable'],
  [/^25006$/, 'read-only'],
  // Those of Node, and of postgres.js.
  [
    /^(?:E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)|CONNECT(?:_TIMEOUT|ION_(?:CLOSED|DESTROYED|ENDED)))$/,
    'unavailable',
  ],
] as const

/** Lost connections, and servers that take no work: the messages of pg. */
const LOST =
  /^Connection terminated|^Client (?:has encountered a connection error|was closed)|timeout exceeded when trying to connect|^Query read timeout|after calling end on the pool|already been destroyed|^the database system is (?:starting up|shutting down|in recovery)/

/** What `raise` says without a code, and the classes that SQL leaves to programs, but for those of PostgreSQL itself. */
const RAISED = /^(?:P0001|(?:45|(?!5[34578]|72|P0|XX)[5-9I-Z][0-9A-Z])[0-9A-Z]{3})$/
/** A status of HTTP, as PostgREST has it. */
const STATUS = /^PT([45]\d\d)$/
/** The functions of the server that say 42501 of a row; others say it of a missing grant. */
const OF_ROW: ReadonlySet<unknown> = new Set(['ExecWithCheckOptions', 'exec_stmt_raise'])

/** What the server says in English of a key that names no row, and not of a row that a key names. */
const NOT_PRESENT = /is not present in table/

/** What names no column in an expression: texts and types. */
const NO_NAMES = /'[^']*'|::[\w ]+/g
const NAMES = /"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu

/** Finds the meaning of an error; `undefined` for any other failure. */
export function findFailure(error: unknown): DriverFailure | undefined {
  if (!(error instanceof Error)) return undefined
  const code = textOf(error, 'code') ?? ''
  const routine = textOf(error, 'routine')
  const kind = KINDS.find(([codes]) => codes.test(code))?.[1]
  const status = findStatus(code, routine, kind)
  if (status !== undefined) {
    const { message } = error
    return { kind: 'refused', status, ...(routine !== 'ExecWithCheckOptions' && { message }) }
  }
  switch (kind) {
    case 'unique':
    case 'excluded':
      return { kind, index: nameOf(error, 'constraint'), columns: listKeyColumns(error) }
    case 'conflict':
      return { kind, columns: NOT_PRESENT.test(detailOf(error)) ? listKeyColumns(error) : [] }
    case 'missing':
      return { kind, columns: [nameOf(error, 'column') ?? []].flat() }
    case 'unstorable': {
      // `index row size 2728 exceeds btree version 4 maximum 2704 for index "cars_by_color"`
      const index = code === '54000' ? /"([^"]+)"/.exec(error.message)?.[1] : undefined
      return { kind, index, columns: [nameOf(error, 'column') ?? []].flat() }
    }
    case undefined: {
      // A prepared statement whose table was altered.
      if (code === '0A000' && routine === 'RevalidateCachedQuery') return { kind: 'again' }
      // If all addresses of a host fail, Node throws one error for them.
      const [first] = error instanceof AggregateError ? error.errors : []
      if (first !== undefined && code === '') return findFailure(first)
      return LOST.test(error.message) ? { kind: 'unavailable' } : undefined
    }
    default:
      return { kind }
  }
}

/** The status of a write that a policy, a view or a function refuses. */
function findStatus(
  code: string,
  routine: string | undefined,
  kind: DriverFailure['kind'] | undefined,
): number | undefined {
  const [, status] = STATUS.exec(code) ?? []
  if (status !== undefined) return Number(status)
  // 44000: the check option of a view.
  if (code === '44000' || (code === '42501' && OF_ROW.has(routine))) return 403
  const isRaised = kind === 'unstorable' && routine === 'exec_stmt_raise'
  return isRaised || RAISED.test(code) ? 400 : undefined
}

function textOf(error: Error, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : undefined
}

/** Reads a name as pg has it, or postgres.js: `constraint`, `constraint_name`. */
const nameOf = (error: Error, of: string) => textOf(error, of) ?? textOf(error, `${of}_name`)

function detailOf(error: Error): string {
  return textOf(error, 'detail') ?? ''
}

/**
 * Lists the columns that the key of an error names, within expressions too:
 * `Key (paint, lower("Remark"))=(…) already exists.`
 */
function listKeyColumns(error: Error): string[] | undefined {
  const [, key] = /^[^(]*\((.+?)\)=\(/.exec(detailOf(error)) ?? []
  const names = key?.replaceAll(NO_NAMES, '').match(NAMES)
  return names?.map(name => name.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'))
}
