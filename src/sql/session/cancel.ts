// Cancels a statement of PostgreSQL by the CancelRequest of its protocol, which poolers route to the process that
// runs it. Kysely hides the client of pg: the first statement on a connection has a marker that tells which it is.
import { setTimeout as delay } from 'node:timers/promises'
import { CompiledQuery, type DatabaseConnection } from 'kysely'
import type { StoreOptions } from '../../store/store.ts'
import { unwatch, watch } from '../../store/watch.ts'

/** How long a server may be silent that is asked to cancel a statement, in milliseconds. */
const SILENCE_MS = 2000
/** The pauses before the server is asked again, in milliseconds: it may not have had the statement yet. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 1000

/** The connection of a client of pg, as far as it is used here. */
interface Connection {
  readonly stream: {
    setTimeout?(milliseconds: number, listener: () => void): unknown
    destroy(): unknown
  }
  on(event: 'connect' | 'sslconnect' | 'error' | 'end', listener: () => void): void
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
}

/** A client of pg, as far as it is used here. */
interface PgClient {
  readonly host: string
  readonly port: number
  readonly ssl: unknown
  readonly sslNegotiation?: string
  readonly processID: number
  readonly secretKey: number
  readonly connection: Connection
  query(...input: readonly unknown[]): unknown
}

/** The options of a pool of pg, as far as they are used here. */
export interface PoolOptions {
  /** How many connections it has. */
  readonly max?: number | undefined
  /** Makes its sockets. */
  readonly stream?: unknown
}

/** A connection of Kysely whose client of pg is known. */
export interface CancelLink {
  readonly client: object
  readonly pool: PoolOptions
  /** Whether a pooler is in between: the process of the server is another than the client was told. */
  readonly pooled: boolean
  /** Asks the server to end the statement that runs, whichever that is. */
  cancel(): Promise<void>
}

const MARKER = 'select pg_backend_pid() as pid, version() as version /* rest-conventions '

/** The clients of the markers that were just sent, and the process that each was told when it connected. */
const marked = new Map<string, Omit<CancelLink, 'pooled'> & { readonly told: number }>()
/** What each connection is cancelled by, found once; null if it cannot be cancelled. */
const links = new WeakMap<DatabaseConnection, CancelLink | null>()
/** The number of the next marker. */
let marks = 0

/** Whether a statement is a marker: each is sent once. */
export function isMarker(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(MARKER)
}

/** Has a client of pg tell which one it is when it sends a marker. */
export function watchMarkers(client: object, pool: PoolOptions): void {
  // One that is made of libpq has no connection in JavaScript.
  if (!isClient(client)) return
  const { query } = client
  const cancel = () => sendCancel(client, pool.stream)
  client.query = (...input) => {
    const [statement, values] = input
    const config = typeof statement === 'string' ? { text: statement } : Object(statement)
    const { text, submit, callback } = config
    if (isMarker(text)) marked.set(text, { client, pool, told: client.processID, cancel })
    // A cursor is handed back; who gives a callback gets no promise.
    const isPromised =
      typeof text === 'string' &&
      !submit &&
      ![callback, ...input].some(each => typeof each === 'function')
    if (!isPromised) return query.call(client, ...input)
    // A copy: pg 8.16 writes the callback into what it is given, which a program may use again.
    const asked = config === statement ? { ...config, text, values: config.values } : statement
    // The function by which pg fulfils a promise of its own lies in old space, and keeps the rows until a full collection.
    const answer = new Promise((resolve, reject) => {
      const done = (error: unknown, result: unknown) => (error ? reject(error) : resolve(result))
      query.call(client, asked, values, done)
    })
    return answer.catch(error => {
      // As pg does: the stack leads to who asked, not to the socket.
      Error.captureStackTrace(error)
      throw error
    })
  }
}

function isClient(client: object): client is PgClient {
  const { connection, processID, secretKey }: Partial<PgClient> = client
  return (
    typeof connection?.requestSsl === 'function' &&
    typeof processID === 'number' &&
    typeof secretKey === 'number'
  )
}

/**
 * Sends a marker, which is never prepared.
 * @returns its client, where that is known, and the process and the version of the server that ran it.
 */
export async function sendMarker(connection: DatabaseConnection) {
  const text = `${MARKER}${++marks} */`
  try {
    const { rows } = await connection.executeQuery<{ pid: number; version: string }>(
      CompiledQuery.raw(text),
    )
    const [row] = rows
    return { processId: Number(row?.pid), version: String(row?.version), marked: marked.get(text) }
  } finally {
    marked.delete(text)
  }
}

/** Finds the client of a connection; null for one that did not go through `preparePostgres`. */
export async function findLink(connection: DatabaseConnection): Promise<CancelLink | null> {
  const known = links.get(connection)
  if (known !== undefined) return known
  const { processId, marked: client } = await sendMarker(connection)
  const link = client ? { ...client, pooled: client.told !== processId } : null
  links.set(connection, link)
  return link
}

/** Sends a CancelRequest by a connection of its own, made as that of the client. Resolves when it has ended. */
function sendCancel(client: PgClient, stream: unknown): Promise<void> {
  const { host, port, ssl, sslNegotiation, processID, secretKey } = client
  // The class of a connection, which no type gives.
  const Connection = client.connection.constructor as new (options: object) => Connection
  return new Promise(resolve => {
    const connection = new Connection({ ssl, sslNegotiation, stream })
    const send = () => connection.cancel(processID, secretKey)
    connection.on('connect', () => {
      if (!ssl) send()
      else if (sslNegotiation !== 'direct') connection.requestSsl()
    })
    connection.on('sslconnect', send)
    connection.on('error', () => {})
    connection.on('end', resolve)
    const { stream: socket } = connection
    socket.setTimeout?.(SILENCE_MS, () => socket.destroy())
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
    else connection.connect(port, host)
  })
}

/** What a statement runs on, and what ends it. */
export interface Cancellable {
  readonly connection: DatabaseConnection
  readonly link: CancelLink
  readonly options: StoreOptions
  /** After how many milliseconds it is ended; `undefined` for no limit. */
  readonly limit: number | undefined
}

/** Runs one statement, and has the server end it once the signal is aborted or the time is up. */
export async function runCancellable<T>(
  statement: () => Promise<T>,
  { connection, link, options, limit }: Cancellable,
): Promise<T> {
  let ended = false
  let sent: Promise<void> | undefined
  const cancel = async () => {
    if (sent) return
    for (let pause = FIRST_PAUSE_MS; !ended; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      sent = link.cancel()
      await sent
      await delay(pause, undefined, { ref: false })
    }
  }
  const watched = watch(options, limit, () => void cancel())
  try {
    return await statement()
  } finally {
    ended = true
    unwatch(watched)
    if (sent) {
      await sent
      // If the cancellation is still on its way, this statement receives it.
      await connection.executeQuery(CompiledQuery.raw('select 1')).catch(() => undefined)
    }
  }
}
