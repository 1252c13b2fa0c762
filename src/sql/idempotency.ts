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
import { compileFor, type Row, type Runner, type Session } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import { IDEMPOTENCY } from './tables.ts'

const table = sql.table(IDEMPOTENCY)
const [name, key, fingerprint, answer, expires] = [
  'name',
  'key',
  'fingerprint',
  'answer',
  'expires_at',
].map(column => sql.id(column))

/** How often keys that nobody may ask for any more are removed, in milliseconds. */
const SWEEP = 60_000

/** The keys of one table, which are apart from those of the others. */
export class SqlIdempotencyRecords {
  readonly #session: Session
  readonly #dialect: SqlDatabase
  readonly #name: string
  readonly #clock: () => number
  #swept = Number.NEGATIVE_INFINITY

  constructor(session: Session, dialect: SqlDatabase, name: string, clock: () => number) {
    this.#session = session
    this.#dialect = dialect
    this.#name = name
    this.#clock = clock
  }

  async claim(given: string, print: string, options?: StoreOptions): Promise<IdempotencyRecord> {
    await this.#sweep(options)
    for (;;) {
      if (await this.#claim(given, print, options)) return { state: 'new' }
      const known = await this.#row(
        sql`select ${fingerprint}, ${answer} from ${table} where ${name} = ${this.#name} and ${key} = ${given}`,
        options,
      )
      // Freed in between: claimed again.
      if (!known) continue
      const kept = String(known.fingerprint)
      if (typeof known.answer !== 'string') return { state: 'running', fingerprint: kept }
      return { state: 'done', fingerprint: kept, answer: JSON.parse(known.answer) }
    }
  }

  /** One statement claims: of those who do so at the same time one changes a row. */
  async #claim(given: string, print: string, options?: StoreOptions): Promise<boolean> {
    const now = this.#clock()
    const columns = sql`(${name}, ${key}, ${fingerprint}, ${expires}) values (${this.#name}, ${given}, ${print}, ${now + CLAIM_TTL_MS})`
    const claim = sql`insert into ${table} as kept ${columns} on conflict (${name}, ${key}) do update set ${fingerprint} = excluded.${fingerprint}, ${answer} = null, ${expires} = excluded.${expires} where kept.${expires} <= ${now} returning 1 as claimed`
    return (await this.#row(claim, options)) !== undefined
  }

  complete(given: string, value: Json | undefined, options?: StoreOptions): Promise<void> {
    return this.#session.write(
      async runner => {
        if (value !== undefined) await this.#keep(given, value, runner)
        else {
          const free = sql`delete from ${table} where ${name} = ${this.#name} and ${key} = ${given} and ${answer} is null`
          await runner.run(compileFor(this.#dialect, free))
        }
      },
      options,
      true,
    )
  }

  /**
   * Keeps the answer of a claimed key, within the caller's own transaction.
   * @throws UnavailableError for a claim that is lost: it took so long that somebody else may have it.
   */
  async answer(given: string, value: Json, runner: Runner): Promise<void> {
    if (await this.#keep(given, value, runner)) return
    throw new UnavailableError('The claim of the idempotency key has expired')
  }

  async #keep(given: string, value: Json, { run }: Runner): Promise<boolean> {
    const until = this.#clock() + RECORD_TTL_MS
    const keep = sql`update ${table} set ${answer} = ${JSON.stringify(value)}, ${expires} = ${until} where ${name} = ${this.#name} and ${key} = ${given} and ${answer} is null`
    return (await run(compileFor(this.#dialect, keep))).numAffectedRows === 1n
  }

  async #row(statement: Fragment, options: StoreOptions | undefined): Promise<Row | undefined> {
    const compiled = compileFor(this.#dialect, statement)
    return this.#session.write(async ({ run }) => (await run(compiled)).rows[0], options, true)
  }

  async #sweep(options: StoreOptions | undefined): Promise<void> {
    const now = this.#clock()
    if (now < this.#swept + SWEEP) return
    this.#swept = now
    await this.#row(sql`delete from ${table} where ${expires} <= ${now}`, options)
  }
}
