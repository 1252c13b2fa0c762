// The way to a database: one call after another where it has one connection, errors in a store's words.
import { type CompiledQuery, type Kysely, type QueryResult, sql } from 'kysely'
import { type StoreOptions, UnavailableError } from '../store.ts'
import type { Fragment, SqlDialect } from './sql-dialect.ts'

export type Row = Readonly<Record<string, unknown>>

/** A statement compiled once, to be run again with other values. */
export type Prepared = CompiledQuery<Row>

/** Where statements are run: the database, or one transaction of it. */
export interface Runner {
  run(statement: Prepared, parameters?: readonly unknown[]): Promise<QueryResult<Row>>
}

export class Session {
  readonly #db: Kysely<unknown>
  readonly #dialect: SqlDialect
  readonly #prepare: (db: Kysely<unknown>) => Promise<void>
  #prepared = false
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  /** @param prepare makes the tables, before the first statement. */
  constructor(
    db: Pick<Kysely<unknown>, 'destroy'> & { withoutPlugins(): unknown },
    dialect: SqlDialect,
    prepare: (db: Kysely<unknown>) => Promise<void>,
  ) {
    // Plugins that rename columns would rename the declared ones too.
    // The names of the user's tables, which are its type, are not the store's business.
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

  /** @throws UnavailableError for a database that cannot be reached, or a session that is closed. */
  direct<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    return this.#queued(() => work(runnerOf(this.#db)), options)
  }

  /** All of the work or nothing of it, with no other writer in between. */
  transaction<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    return this.#between(this.#dialect.begin, work, options)
  }

  /** Reads alone, all of one moment. */
  snapshot<T>(work: (runner: Runner) => Promise<T>, options?: StoreOptions): Promise<T> {
    return this.#between(this.#dialect.beginRead, work, options)
  }

  #between<T>(
    begin: string,
    work: (runner: Runner) => Promise<T>,
    options: StoreOptions | undefined,
  ): Promise<T> {
    return this.#queued(
      () =>
        this.#db.connection().execute(async connection => {
          await sql.raw(begin).execute(connection)
          try {
            const result = await work(runnerOf(connection))
            await sql.raw('commit').execute(connection)
            return result
          } catch (error) {
            // What undid the transaction itself leaves nothing to roll back.
            await sql
              .raw('rollback')
              .execute(connection)
              .catch(() => undefined)
            throw error
          }
        }),
      options,
    )
  }

  /** Ends after what is under way. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#last
    await this.#db.destroy()
  }

  /** In turn: Kysely's own lock for the one connection of SQLite wakes all that wait each time. */
  #queued<T>(work: () => Promise<T>, { signal }: StoreOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(new UnavailableError('The store is closed'))
    const result = this.#last.then(async () => {
      signal?.throwIfAborted()
      try {
        if (!this.#prepared) await this.#prepare(this.#db)
        this.#prepared = true
        return await work()
      } catch (error) {
        if (this.#dialect.failure(error)?.kind !== 'unavailable') throw error
        throw new UnavailableError('The database cannot be reached', { cause: error })
      }
    })
    this.#last = result.catch(() => undefined)
    return result
  }
}

function runnerOf(db: Kysely<unknown>): Runner {
  return {
    run: (statement, parameters = statement.parameters) =>
      db.executeQuery({ ...statement, parameters }),
  }
}
