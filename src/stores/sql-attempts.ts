// Idempotency keys in a database, so that they outlive the process and are shared by nodes.
import { sql } from 'kysely'
import type { Json } from '../fields.ts'
import { type Attempt, IDEMPOTENCY_ANSWER, IDEMPOTENCY_CLAIM, type StoreOptions } from '../store.ts'
import type { Runner, Session } from './sql-session.ts'
import { IDEMPOTENCY } from './sql-tables.ts'

const table = sql.table(IDEMPOTENCY)
const [name, key, fingerprint, answer, expires] = [
  'name',
  'key',
  'fingerprint',
  'answer',
  'expires_at',
].map(column => sql.id(column))

/** The keys of one table, which are apart from those of the others. */
export class SqlAttempts {
  readonly #session: Session
  readonly #name: string
  readonly #clock: () => number

  constructor(session: Session, name: string, clock: () => number) {
    this.#session = session
    this.#name = name
    this.#clock = clock
  }

  begin(given: string, print: string, options?: StoreOptions): Promise<Attempt> {
    return this.#session.write(async ({ run }): Promise<Attempt> => {
      const compile = this.#session.compile.bind(this.#session)
      const now = this.#clock()
      await run(compile(sql`delete from ${table} where ${expires} <= ${now}`))
      const { rows } = await run(
        compile(
          sql`select ${fingerprint}, ${answer} from ${table} where ${name} = ${this.#name} and ${key} = ${given}`,
        ),
      )
      const [known] = rows
      if (!known) {
        await run(
          compile(
            sql`insert into ${table} (${name}, ${key}, ${fingerprint}, ${expires}) values (${this.#name}, ${given}, ${print}, ${now + IDEMPOTENCY_CLAIM})`,
          ),
        )
        return { state: 'new' }
      }
      const kept = String(known.fingerprint)
      if (typeof known.answer !== 'string') return { state: 'running', fingerprint: kept }
      return { state: 'done', fingerprint: kept, answer: JSON.parse(known.answer) }
    }, options)
  }

  finish(given: string, value: Json | undefined, options?: StoreOptions): Promise<void> {
    return this.#session.write(
      async runner => {
        if (value !== undefined) return this.answer(given, value, runner)
        const free = sql`delete from ${table} where ${name} = ${this.#name} and ${key} = ${given} and ${answer} is null`
        await runner.run(this.#session.compile(free))
      },
      options,
      true,
    )
  }

  /** Keeps the answer of a claimed key, within the caller's own transaction. */
  async answer(given: string, value: Json, { run }: Runner): Promise<void> {
    const until = this.#clock() + IDEMPOTENCY_ANSWER
    const keep = sql`update ${table} set ${answer} = ${JSON.stringify(value)}, ${expires} = ${until} where ${name} = ${this.#name} and ${key} = ${given} and ${answer} is null`
    await run(this.#session.compile(keep))
  }
}
