// What all stores of one database share: the user's Kysely, and whether a transaction runs on it.
import { CompiledQuery, type Kysely, type QueryExecutor } from 'kysely'

/** The user's Kysely, as far as a session needs it. */
export type GivenKysely = Pick<Kysely<unknown>, 'getExecutor'> & { withoutPlugins(): unknown }

interface Reader {
  readonly executor: QueryExecutor
  destroy(): Promise<void>
}

export interface SharedDatabase {
  readonly executor: QueryExecutor
  /** A second connection, for what is read while a transaction has the only one of SQLite. */
  reader?: Reader
  /** How many transactions run, or wait for their connection. */
  transactions: number
}

/** By the adapter, which all Kyselys made of one have in common. */
const databases = new WeakMap<object, SharedDatabase>()

export function findSharedDatabase(db: GivenKysely): SharedDatabase {
  const { adapter } = db.getExecutor()
  const known = databases.get(adapter)
  if (known) return known
  // Plugins that rename columns would rename the declared ones too. A Kysely without plugins is one.
  const executor = (db.withoutPlugins() as Kysely<unknown>).getExecutor()
  const made: SharedDatabase = { executor, transactions: 0 }
  databases.set(adapter, made)
  return made
}

/** Has what is read while a transaction runs read by another connection. */
export async function useReader(
  db: GivenKysely,
  reader: GivenKysely & Pick<Kysely<unknown>, 'destroy' | 'executeQuery'>,
): Promise<void> {
  await reader.executeQuery(CompiledQuery.raw('pragma query_only = 1'))
  const { executor } = findSharedDatabase(reader)
  findSharedDatabase(db).reader = { executor, destroy: () => reader.destroy() }
}
