// The way to a database with one connection: one call after another, writes that wait together in
// one commit, errors in a store's words.
import { CompiledQuery, type Kysely, type QueryResult, sql } from 'kysely'
import { type StoreOptions, UnavailableError } from '../store.ts'
import type { Fragment, SqlDialect } from './sql-dialect.ts'

export type Row = Readonly<Record<string, unknown>>

/** A statement compiled once, to be run again with other values. */
export type Prepared = CompiledQuery<Row>

/** Where statements are run: the database, or one transaction of it. */
export interface Runner {
  run(statement: Prepared, parameters?: readonly unknown[]): Promise<QueryResult<Row>>
}

/** A write that waits for its turn. */
interface Write {
  readonly work: (runner: Runner) => Promise<unknown>
  /** Whether it is one statement, which is a transaction by itself. */
  readonly single: boolean
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** How many writes share a commit at most. */
const MOST = 100

const SAVEPOINT = 'rest_write'

export class Session {
  readonly #db: Kysely<unknown>
  readonly #dialect: SqlDialect
  readonly #prepare: (db: Kysely<unknown>) => Promise<void>
  #prepared = false
  #last: Promise<unknown> = Promise.resolve()
  #writes: Write[] = []
  #closed = false

  /** @param prepare makes the tables, before the first statement. */
  constructor(
    db: Pick<Kysely<unknown>, 'destroy'> & { withoutPlugins(): unknown },
    dialect: SqlDialect,
    prepare: (db: Kysely<unknown>) => Promise<void>,
  ) {
    // Plugins that rename columns would rename the declared ones too; the names of the user's
    // tables, which are the type of a Kysely, are not the store's business.
    this.#db = db.withoutPlugins() as Kysely<unknown>
    this.#dialect = dialect
    this.#prepare = prepare
  }

  /** Has the tables made again before the next statement. */
  renew(): void {
    this.#prepared = false
  }

  compile(statement: Fragment): Prepared {
    // Every row has its columns by name.
    return statement.compile(this.#db) as Prepared
  }

  /**
   * Reads by one statement.
   * @throws UnavailableError for a database that cannot be reached, or a session that is closed.
   */
  read<T>(work: (runner: Runner) => Promise<T>, { signal }: StoreOptions = {}): Promise<T> {
    return this.#inTurn(() => {
      signal?.throwIfAborted()
      return work(runnerOf(this.#db))
    })
  }

  /** Reads by several statements, all of one moment. */
  snapshot<T>(work: (runner: Runner) => Promise<T>, { signal }: StoreOptions = {}): Promise<T> {
    return this.#inTurn(() => {
      signal?.throwIfAborted()
      return this.#between(this.#dialect.beginRead, work)
    })
  }

  /**
   * Writes all of the work or nothing of it, with no other writer in between. Writes that wait at
   * the same time share a commit, which is most of what they cost; none is answered before it.
   * @param single whether the work is one statement.
   */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    { signal }: StoreOptions = {},
    single = false,
  ): Promise<T> {
    if (this.#closed) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      this.#writes.push({
        work: async runner => {
          signal?.throwIfAborted()
          return work(runner)
        },
        single,
        // What the work gives is a `T`.
        resolve: resolve as (result: unknown) => void,
        reject,
      })
      if (this.#writes.length === 1) this.#flushInTurn()
    })
  }

  /** Ends after what is under way, and closes the database. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (let last: unknown; last !== this.#last; ) {
      last = this.#last
      await last
    }
    await this.#db.destroy()
  }

  #flushInTurn(): void {
    this.#inTurn(() => this.#flush(), true).catch(error => {
      // The tables could not be made: the flush itself does not fail.
      for (const { reject } of this.#writes.splice(0)) reject(error)
    })
  }

  async #flush(): Promise<void> {
    // Lets the requests that came at the same time add their writes.
    await new Promise(resolve => setImmediate(resolve))
    const writes = this.#writes.splice(0, MOST)
    if (this.#writes.length > 0) this.#flushInTurn()
    const [first] = writes
    try {
      const results =
        first && writes.length === 1
          ? [await settled(this.#alone(first))]
          : await this.#between(this.#dialect.begin, runner => together(writes, runner))
      for (const [at, result] of results.entries()) {
        if (result.status === 'fulfilled') writes[at]?.resolve(result.value)
        else writes[at]?.reject(this.#meaningOf(result.reason))
      }
    } catch (error) {
      for (const { reject } of writes) reject(this.#meaningOf(error))
    }
  }

  #alone({ work, single }: Write): Promise<unknown> {
    return single ? work(runnerOf(this.#db)) : this.#between(this.#dialect.begin, work)
  }

  #between<T>(begin: string, work: (runner: Runner) => Promise<T>): Promise<T> {
    return this.#db.connection().execute(async connection => {
      await sql.raw(begin).execute(connection)
      try {
        const result = await work(runnerOf(connection))
        await sql.raw('commit').execute(connection)
        return result
      } catch (error) {
        // An error that undid the transaction itself leaves nothing to roll back.
        await sql
          .raw('rollback')
          .execute(connection)
          .catch(() => undefined)
        throw error
      }
    })
  }

  /** One after another: Kysely's own lock for the connection of SQLite wakes all that wait, each time. */
  #inTurn<T>(work: () => Promise<T>, closing = false): Promise<T> {
    if (this.#closed && !closing) return Promise.reject(closed())
    const result = this.#last.then(async () => {
      try {
        if (!this.#prepared) await this.#prepare(this.#db)
        this.#prepared = true
        return await work()
      } catch (error) {
        throw this.#meaningOf(error)
      }
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  #meaningOf(error: unknown): unknown {
    if (this.#dialect.failure(error)?.kind !== 'unavailable') return error
    return new UnavailableError('The database cannot be reached', { cause: error })
  }
}

function closed(): UnavailableError {
  return new UnavailableError('The store is closed')
}

function runnerOf(db: Kysely<unknown>): Runner {
  return {
    run: (statement, parameters = statement.parameters) =>
      db.executeQuery({ ...statement, parameters }),
  }
}

async function settled(work: Promise<unknown>): Promise<PromiseSettledResult<unknown>> {
  const [result] = await Promise.allSettled([work])
  return result
}

/** Several writes in one transaction, each undone alone where it fails. */
async function together(
  writes: readonly Write[],
  runner: Runner,
): Promise<PromiseSettledResult<unknown>[]> {
  const results: PromiseSettledResult<unknown>[] = []
  // What it gives is not read.
  const say = (text: string) => runner.run(CompiledQuery.raw(text) as Prepared)
  for (const { work } of writes) {
    await say(`savepoint ${SAVEPOINT}`)
    const result = await settled(work(runner))
    if (result.status === 'rejected') await say(`rollback to ${SAVEPOINT}`)
    await say(`release ${SAVEPOINT}`)
    results.push(result)
  }
  return results
}
