// What all stores of one database share: its connections, and the lines of work on them.
import type { Kysely, QueryExecutor } from 'kysely'
import { TransactionQueue } from '../../store/transaction-queue.ts'
import { findTransactionWidth } from './drivers.ts'

/** The user's Kysely, as far as a session needs it. */
export type AnyKysely = Pick<Kysely<unknown>, 'getExecutor'> & { withoutPlugins(): unknown }

export interface SharedDatabase {
  readonly executor: QueryExecutor
  /** A second connection to SQLite, which reads while a transaction occupies the first. */
  reader?: QueryExecutor
  /** Whether it is PGlite, which has one connection; some drivers give it to several at the same time. */
  single: boolean
  /** The last turn on the only connection. */
  turn: Promise<unknown>
  /** Whether it was said that its statements cannot be cancelled. */
  warned?: boolean
  /** How many transactions run, or wait for their turn. */
  transactions: number
  readonly queue: TransactionQueue
  /** Slow reads: how many run, and those that wait. */
  readonly slow: { running: number; readonly waiting: (() => void)[] }
}

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
    transactions: 0,
    // The only connection of SQLite has them one after another anyway.
    queue: new TransactionQueue(() =>
      adapter.supportsTransactionalDdl ? findTransactionWidth() : 1,
    ),
    slow: { running: 0, waiting: [] },
  }
  databases.set(adapter, made)
  return made
}
