// Idempotency keys in a database, so that they outlive the process and are shared by nodes.
import type { Json } from '../schema/values.ts'
import {
  CLAIM_TTL_MS,
  type IdempotencyRecord,
  RECORD_TTL_MS,
  type StoreOptions,
  UnavailableError,
} from '../store/store.ts'
import type { SqlDatabase } from './database.ts'
import { compile, type Runner, type StatementSession } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import { IDEMPOTENCY } from './tables.ts'

const table = sql.table(IDEMPOTENCY)

/** How often expired keys are removed, in milliseconds. */
const SWEEP_INTERVAL_MS = 60_000

/** The keys of one table; those of other tables are apart. */
export class SqlIdempotencyRecords {
  readonly #database: SqlDatabase
  readonly #name: string
  readonly #clock: () => number
  #swept = Number.NEGATIVE_INFINITY

  constructor(database: SqlDatabase, name: string, clock: () => number) {
    this.#database = database
    this.#name = name
    this.#clock = clock
  }

  async claim(
    session: StatementSession,
    key: string,
    print: string,
    options?: StoreOptions,
  ): Promise<IdempotencyRecord> {
    const now = this.#clock()
    if (now >= this.#swept + SWEEP_INTERVAL_MS) {
      this.#swept = now
      await this.#write(session, sql`delete from ${table} where expires_at <= ${now}`, options)
    }
    for (;;) {
      // One statement claims: of several at the same time one changes a row.
      const claim = sql`insert into ${table} as kept (name, key, fingerprint, expires_at) values (${this.#name}, ${key}, ${print}, ${now + CLAIM_TTL_MS}) on conflict (name, key) do update set fingerprint = excluded.fingerprint, answer = null, expires_at = excluded.expires_at where kept.expires_at <= ${now} returning 1 as claimed`
      const claimed = await this.#write(session, claim, options)
      if (claimed.rows.length > 0) return { state: 'new' }
      const find = sql`select fingerprint, answer from ${table} where ${this.#is(key)}`
      const [known] = (await this.#write(session, find, options)).rows
      // Freed in between: claimed again.
      if (!known) continue
      const fingerprint = String(known.fingerprint)
      if (typeof known.answer !== 'string') return { state: 'running', fingerprint }
      return { state: 'done', fingerprint, answer: JSON.parse(known.answer) }
    }
  }

  /**
   * Keeps the answer of a claimed key; without an answer the key is free again.
   * @throws UnavailableError in a transaction, as `answer` does.
   */
  async complete(
    session: StatementSession,
    key: string,
    answer: Json | undefined,
    options?: StoreOptions,
  ): Promise<void> {
    const free = sql`delete from ${table} where ${this.#is(key)} and answer is null`
    const write = async (runner: Runner) => {
      if (answer !== undefined && runner.apart) return this.answer(key, answer, runner)
      const statement = answer === undefined ? free : this.#keep(key, answer)
      await runner.run(compile(this.#database, statement))
    }
    await session.write(write, options, true)
  }

  /**
   * Keeps the answer of a claimed key, within the caller's own transaction.
   * @throws UnavailableError for a claim that has expired: another request may have it.
   */
  async answer(key: string, answer: Json, { run }: Runner): Promise<void> {
    const { numAffectedRows } = await run(compile(this.#database, this.#keep(key, answer)))
    if (numAffectedRows === 1n) return
    throw new UnavailableError('The claim of the idempotency key has expired')
  }

  #keep(key: string, answer: Json): Fragment {
    const until = this.#clock() + RECORD_TTL_MS
    return sql`update ${table} set answer = ${JSON.stringify(answer)}, expires_at = ${until} where ${this.#is(key)} and answer is null`
  }

  #is(key: string): Fragment {
    return sql`name = ${this.#name} and key = ${key}`
  }

  /** One statement is a transaction by itself. */
  #write(session: StatementSession, statement: Fragment, options: StoreOptions | undefined) {
    const compiled = compile(this.#database, statement)
    return session.write(({ run }) => run(compiled), options, true)
  }
}
