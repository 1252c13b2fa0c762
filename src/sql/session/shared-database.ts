// What all stores of one database share: its connections, and the work that waits for them.
import type { Kysely, QueryExecutor } from 'kysely'
import { TransactionQueue } from '../../store/transaction-queue.ts'
import { SlowReads } from './slow-reads.ts'
import { StartAdvice } from './start-advice.ts'

/** The user's Kysely, as far as a session needs it. */
export type AnyKysely = Pick<Kysely<unknown>, 'getExecutor'> & { withoutPlugins(): unknown }

export interface SharedDatabase {
  readonly executor: QueryExecutor
  /** A second connection to SQLite, which reads while a transaction occupies the first. */
  reader?: QueryExecutor
  /** Whether it is PGlite, which has one connection; some drivers give it to several at the same time. */
  single: boolean
  /** What the server says that it is. */
  version?: string
  /** The last turn of all stores on the connection of PGlite. */
  turn: Promise<unknown>
  /** How many connections its pool has, where that is known. */
  poolSize?: number | undefined
  /** Whether it was said that its statements cannot be cancelled. */
  warned?: boolean
  /** How many transactions run, or wait for their turn. */
  transactions: number
  readonly queue: TransactionQueue
  /** Called after each write: by who follows changes. */
  listeners?: Set<() => void>
  /** The last transaction that makes tables. */
  setUps: Promise<unknown>
  readonly slowReads: SlowReads
  readonly advice: StartAdvice
}

/** How many transactions of one database run at the same time, where its pool is large enough. */
const MAX_TRANSACTIONS = 4
/** How many connections of a pool transactions leave to other calls. */
const LEFT_CONNECTIONS = 2

/** By the adapter, which all Kyselys derived from one share. */
const databases = new WeakMap<object, SharedDatabase>()

export function findSharedDatabase(db: AnyKysely): SharedDatabase {
  const { adapter } = db.getExecutor()
  const known = databases.get(adapter)
  if (known) return known
  // Plugins that rename columns would rename the declared ones too. `withoutPlugins` returns a Kysely.
  const executor = (db.withoutPlugins() as Kysely<unknown>).getExecutor()
  const made: SharedDatabase = {
    executor,
    single: false,
    turn: Promise.resolve(),
    setUps: Promise.resolve(),
    transactions: 0,
    queue: new TransactionQueue(() => {
      // The only connection of SQLite has them one after another anyway.
      if (!adapter.supportsTransactionalDdl) return 1
      const { poolSize = MAX_TRANSACTIONS + LEFT_CONNECTIONS } = made
      return Math.max(1, Math.min(MAX_TRANSACTIONS, poolSize - LEFT_CONNECTIONS))
    }),
    slowReads: new SlowReads(),
    advice: new StartAdvice(),
  }
  databases.set(adapter, made)
  return made
}
