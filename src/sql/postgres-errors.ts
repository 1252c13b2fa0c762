// What errors of PostgreSQL and of pg mean to a store.
import type { Failure } from './database.ts'

/** A text too long for its column, a number or a date out of its range, no value of an enum; null, a check, a trigger. */
const UNSTORABLE: ReadonlySet<string> = new Set([
  '22001',
  '22003',
  '22008',
  '22P02',
  '23502',
  '23514',
  'P0001',
])
/** Foreign keys, exclusions. */
const CONFLICT: ReadonlySet<string> = new Set(['23001', '23503', '23P01'])

/** SQLSTATE classes and codes, and what Node and pg say of connections. */
const UNAVAILABLE =
  /^(?:08...|53...|57P0\d|25006|55P03|E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN))$/
const LOST =
  /^Connection terminated|^Client (?:has encountered a connection error|was closed)|timeout exceeded when trying to connect|^Query read timeout|after calling end on the pool|already been destroyed|^the database system is (?:starting up|shutting down|in recovery)/

export function findFailure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? String(error.code) : ''
  if (code === '23505') return uniqueFailure(error)
  if (code === '40001' || code === '40P01' || isStale(error, code)) return { kind: 'again' }
  if (code === '54000') {
    // `index row size 2728 exceeds btree version 4 maximum 2704 for index "cars_by_color"`
    const index = /"([^"]+)"/.exec(error.message)?.[1]
    return { kind: 'unstorable', ...(index !== undefined && { index }) }
  }
  if (UNSTORABLE.has(code)) {
    const column = 'column' in error ? error.column : undefined
    return { kind: 'unstorable', ...(typeof column === 'string' && { column }) }
  }
  if (CONFLICT.has(code)) return { kind: 'conflict' }
  if (code === '57014') return { kind: 'cancelled' }
  // Several addresses tried at once fail as one.
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined && code === '') return findFailure(first)
  return UNAVAILABLE.test(code) || LOST.test(error.message) ? { kind: 'unavailable' } : undefined
}

/** Whether a statement was prepared before its table was altered, or all were dropped: it is prepared anew. */
function isStale(error: Error, code: string): boolean {
  // The message is in the server's language.
  const revalidated = 'routine' in error && error.routine === 'RevalidateCachedQuery'
  return code === '26000' || (code === '0A000' && revalidated)
}

function uniqueFailure(error: Error): Failure {
  const index = 'constraint' in error ? String(error.constraint) : ''
  const detail = 'detail' in error ? String(error.detail) : ''
  // `Key (paint, "Remark")=(…) already exists.`
  const [, list] = /^[^(]*\((.+?)\)=\(/.exec(detail) ?? []
  const columns = list
    ?.split(', ')
    .map(name => name.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'))
  return { kind: 'unique', ...(index !== '' && { index }), ...(columns && { columns }) }
}
