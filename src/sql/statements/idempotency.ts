// Idempotency keys in a database, so that they outlive the process and are shared by nodes.

import { parseKept, printJson } from '../../base/exact-numbers.ts'
import type { Json } from '../../base/values.ts'
import { UnavailableError } from '../../store/errors.ts'
import { CLAIM_TTL_MS, RECORD_TTL_MS } from '../../store/idempotency.ts'
import type { IdempotencyRecord } from '../../store/idempotency-record.ts'
import type { KeepOptions, Stored, StoreOptions, StoreWriteOptions } from '../../store/store.ts'
import { buildAnswer } from '../../store/written.ts'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { IDEMPOTENCY } from '../databases/table-names.ts'
import { compile, type Row, type Runner, type StatementSession } from '../session/runner.ts'

const table = sql.table(IDEMPOTENCY)

/** How often expired keys are removed, in milliseconds. */
const SWEEP_INTERVAL_MS = 60_000

export type IdempotencyRecords = ReturnType<typeof createRecords>

/**
 * Creates the records of one table's keys; other tables may have the same keys.
 * @param clock the time in milliseconds since 1970. Default: the clock of the database, since processes share the keys.
 */
export function createRecords(
  database: SqlDatabase,
  name: string,
  clock: (() => number) | undefined,
) {
  let swept = Number.NEGATIVE_INFINITY
  const is = (key: string) => sql`name = ${name} and key = ${key}`
  const isRunning = (key: string, claim?: number) =>
    sql`${is(key)} and answer is null${claim === undefined ? sql`` : sql` and expires_at = ${claim}`}`

  /** The time so many milliseconds from now. */
  function after(milliseconds: number): Fragment {
    return clock ? sql`${clock() + milliseconds}` : sql`${database.now} + ${sql.lit(milliseconds)}`
  }

  function updateAnswer(key: string, answer: Json, options: KeepOptions): Fragment {
    const until = after(options.keepFor ?? RECORD_TTL_MS)
    return sql`update ${table} set answer = ${printJson(answer)}, expires_at = ${until} where ${isRunning(key)}`
  }

  /**
   * Keeps the answer of a claimed key, within the caller's transaction.
   * @throws UnavailableError for a claim that has expired: another request may have it.
   */
  async function keepAnswer(
    key: string,
    answer: Json,
    runner: Runner,
    options: KeepOptions = {},
  ): Promise<void> {
    const { numAffectedRows } = await runner.run(
      compile(database, updateAnswer(key, answer, options)),
    )
    if (numAffectedRows === 1n) return
    throw new UnavailableError('The claim of the idempotency key has expired')
  }

  return {
    keepAnswer,
    async claim(
      session: StatementSession,
      key: string,
      fingerprint: string,
      options?: StoreOptions,
    ): Promise<IdempotencyRecord> {
      // One statement is a transaction by itself.
      const write = (statement: Fragment) =>
        session.write(runner => runner.run(compile(database, statement)), options, true)
      const now = after(0)
      if (performance.now() >= swept + SWEEP_INTERVAL_MS) {
        swept = performance.now()
        // Not a claim that has just ended: nobody may have it yet.
        await write(sql`delete from ${table} where expires_at <= ${after(-SWEEP_INTERVAL_MS)}`)
      }
      for (;;) {
        // One statement claims: of several at the same time, one changes a row and has the key.
        const claimed = await write(
          sql`insert into ${table} as kept (name, key, fingerprint, expires_at) values (${name}, ${key}, ${fingerprint}, ${after(CLAIM_TTL_MS)}) on conflict (name, key) do update set fingerprint = excluded.fingerprint, answer = null, expires_at = excluded.expires_at where kept.expires_at <= ${now} returning expires_at as claim`,
        )
        const [row] = claimed.rows
        if (row) return { state: 'new', claim: Number(row.claim) }
        // By `write` too: a read may go to another connection, and this one must see the key.
        const find = sql`select fingerprint, answer, expires_at - (${now}) as rest from ${table} where ${is(key)}`
        const [known] = (await write(find)).rows
        if (known) return toRecord(known)
        // Freed in between: claim it again.
      }
    },
    /** Renews a claim: only its owner knows when it was to end. */
    async renew(
      session: StatementSession,
      key: string,
      claim: number,
    ): Promise<number | undefined> {
      const renew = sql`update ${table} set expires_at = ${after(CLAIM_TTL_MS)} where ${isRunning(key, claim)} returning expires_at as claim`
      const { rows } = await session.write(run => run.run(compile(database, renew)), {}, true)
      return rows[0] && Number(rows[0].claim)
    },
    /**
     * Keeps the answer of a claimed key; without an answer the key is free again.
     * @throws UnavailableError in a transaction, as `keepAnswer` does.
     */
    async complete(
      session: StatementSession,
      key: string,
      answer: Json | undefined,
      options: KeepOptions = {},
    ): Promise<void> {
      const free = sql`delete from ${table} where ${isRunning(key, options.claim)}`
      const write = async (runner: Runner) => {
        if (answer !== undefined && runner.apart) return keepAnswer(key, answer, runner, options)
        await runner.run(
          compile(database, answer === undefined ? free : updateAnswer(key, answer, options)),
        )
      }
      await session.write(write, options, true)
    },
  }
}

/** Keeps the answer of a write under its key, if it has one, within its transaction. @throws as `complete` does. */
export async function keepWritten(
  { keepAnswer }: IdempotencyRecords,
  written: readonly Stored[],
  runner: Runner,
  options: StoreWriteOptions | undefined,
): Promise<void> {
  const key = options?.idempotencyKey
  if (key !== undefined) await keepAnswer(key, buildAnswer(options, written), runner, options)
}

function toRecord({ fingerprint, answer, rest }: Row): IdempotencyRecord {
  const record = { fingerprint: String(fingerprint) }
  return typeof answer === 'string'
    ? { state: 'done', ...record, answer: parseKept(answer) }
    : { state: 'running', ...record, rest: Number(rest) }
}
