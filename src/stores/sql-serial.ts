// The way to a database with one connection: one call after another, writes that wait together in
// one commit, errors in a store's words.
import { type Kysely, sql } from 'kysely'
import type { StoreOptions } from '../store.ts'
import type { Fragment, SqlDialect } from './sql-dialect.ts'
import {
  answer,
  closed,
  compileFor,
  type GivenKysely,
  MOST_WRITES,
  meaningOf,
  type Prepared,
  type Runner,
  type Session,
  settled,
  together,
  type Write,
  type WriteOptions,
  withoutPlugins,
} from './sql-session.ts'

export class SerialSession implements Session {
  /** One connection is one way. */
  readonly generation = 0
  readonly #db: Kysely<unknown>
  readonly #dialect: SqlDialect
  readonly #prepare: ((db: Kysely<unknown>) => Promise<void>) | undefined
  #prepared = false
  #last: Promise<unknown> = Promise.resolve()
  #writes: Write[] = []
  #closed = false

  /** @param prepare makes the tables, before the first statement. */
  constructor(
    db: GivenKysely,
    dialect: SqlDialect,
    prepare: ((db: Kysely<unknown>) => Promise<void>) | undefined,
  ) {
    this.#db = withoutPlugins(db)
    this.#dialect = dialect
    this.#prepare = prepare
  }

  renew(): void {
    this.#prepared = false
  }

  compile(statement: Fragment): Prepared {
    return compileFor(this.#db, statement)
  }

  read<T>(work: (runner: Runner) => Promise<T>, { signal }: StoreOptions = {}): Promise<T> {
    return this.#inTurn(() => {
      signal?.throwIfAborted()
      return work(runnerOf(this.#db))
    })
  }

  snapshot<T>(work: (runner: Runner) => Promise<T>, { signal }: StoreOptions = {}): Promise<T> {
    return this.#inTurn(() => {
      signal?.throwIfAborted()
      return this.#between(this.#dialect.beginRead, work)
    })
  }

  /**
   * With no other writer in between. Writes that wait at the same time share a commit, which is most
   * of what they cost; none is answered before it.
   */
  write<T>(
    work: (runner: Runner) => Promise<T>,
    { signal }: StoreOptions = {},
    { single = false }: WriteOptions = {},
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
    const writes = this.#writes.splice(0, MOST_WRITES)
    if (this.#writes.length > 0) this.#flushInTurn()
    const [first] = writes
    try {
      const results =
        first && writes.length === 1
          ? [await settled(this.#alone(first))]
          : await this.#between(this.#dialect.begin, runner => together(writes, runner))
      answer(writes, results, this.#dialect)
    } catch (error) {
      for (const { reject } of writes) reject(meaningOf(error, this.#dialect))
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
        if (!this.#prepared) await this.#prepare?.(this.#db)
        this.#prepared = true
        return await work()
      } catch (error) {
        throw meaningOf(error, this.#dialect)
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
