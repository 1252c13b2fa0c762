// Statements of PostgreSQL that are prepared once on each connection, where what is in between keeps them.
import { createHash } from 'node:crypto'
import { emitWarning } from 'node:process'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { isMarker } from './cancel.ts'

/** How many prepared statements a database, or each connection of a pool, keeps at most. */
export const MAX_STATEMENTS = 500

/** Prepares statements, unless that has been stopped for its pool. */
class Preparing {
  stopped = false

  /** Sends statements without a name from now on. */
  stop(): void {
    if (this.stopped) return
    this.stopped = true
    emitWarning('This pooler keeps no prepared statements: leave reuseStatements out', {
      code: 'REST_CONVENTIONS_POOLER',
    })
  }
}

/** By the clients of pg that are wrapped. */
const preparing = new WeakMap<object, Preparing>()

/** Finds how the statements of a client are prepared; `undefined` for one that is not wrapped. */
export function findPreparing(client: object): Preparing | undefined {
  return preparing.get(client)
}

export function wrapPool(pool: PostgresPool): PostgresPool {
  // Kysely tells connections apart by identity.
  const clients = new WeakMap<PostgresPoolClient, PostgresPoolClient>()
  const ofPool = new Preparing()
  return {
    async connect() {
      const client = await pool.connect()
      const wrapped = clients.get(client) ?? wrapClient(client, ofPool)
      clients.set(client, wrapped)
      return wrapped
    },
    end: () => pool.end(),
  }
}

/** What a client of pg has besides, as far as it is used here. */
interface PreparingClient {
  /** `I` outside of a transaction. */
  getTransactionStatus?(): string | null
  readonly connection?: {
    readonly parsedStatements: Record<string, string>
    close?(message: { type: 'S'; name: string }): void
  }
}

/** The errors of a prepared statement that PostgreSQL cannot run any more: a table was altered, or all were dropped. */
const STALE = new Set(['0A000', '26000'])
/** Another client of the pooler has prepared it on the same process of the server. */
const PREPARED = '42P05'

/** They cost nothing to parse; a rollback that failed for its name would leave the transaction open for the next work. */
const CONTROL = /^(?:begin|start|commit|rollback|savepoint|release)\b/i

function wrapClient(client: PostgresPoolClient, ofPool: Preparing): PostgresPoolClient {
  preparing.set(client, ofPool)
  // Kysely's type of a client does not say it, but that of pg has more.
  const own = client as PreparingClient
  const { connection } = own
  const isIdle = () => own.getTransactionStatus?.() === 'I'
  /** The names of the statements that are kept, the one that was used last at the end. */
  const kept = new Map<string, string>()
  /** The names that the server does not know yet to be free. */
  const dropped: string[] = []
  const forget = (text: string) => {
    const name = kept.get(text)
    if (name !== undefined && kept.delete(text)) dropped.push(name)
  }
  const toName = (text: string) => {
    const known = kept.get(text)
    // Several statements cannot be prepared as one.
    if (known === undefined && text.includes('; ')) return undefined
    // Behind a pooler a process may know the names of other clients: each is of one text.
    const name = known ?? `rest_${createHash('sha1').update(text).digest('base64url')}`
    if (!kept.delete(text) && kept.size >= MAX_STATEMENTS) {
      // libpq has no message that drops one.
      if (!connection?.close) return undefined
      for (const [oldest] of kept) {
        forget(oldest)
        break
      }
    }
    kept.set(text, name)
    return name
  }
  const drop = () => {
    for (const name of dropped.splice(0)) {
      delete connection?.parsedStatements[name]
      connection?.close?.({ type: 'S', name })
    }
  }
  const query = async (text: string, values: readonly unknown[]) => {
    const unnamed = ofPool.stopped || isMarker(text) || CONTROL.test(text)
    const name = unnamed ? undefined : toName(text)
    if (name === undefined) return client.query(text, values)
    // They go with the next statement, and need no answer.
    if (dropped.length > 0) drop()
    const idle = isIdle()
    try {
      // Kysely's type of a client does not say it, but pg takes a configuration too.
      return await client.query({ name, text, values } as never)
    } catch (error) {
      const code = String(Object(error).code)
      if (STALE.has(code)) forget(text)
      if (code === PREPARED) ofPool.stop()
      // Nothing has been run; a transaction has ended, and is tried again by whoever began it.
      if (idle && (code === PREPARED || code === '26000')) return client.query(text, values)
      throw error
    }
  }
  return {
    // Kysely passes a cursor without values.
    query: ((statement: never, values?: readonly unknown[]) =>
      values ? query(statement, values) : client.query(statement)) as PostgresPoolClient['query'],
    release: () => client.release(),
  }
}
