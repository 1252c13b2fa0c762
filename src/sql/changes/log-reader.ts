// Reads the log of changes of a database, for all stores that share it, and prunes it.
import { setTimeout as delay } from 'node:timers/promises'
import type { SqlDatabase } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import { LOG } from '../databases/table-names.ts'
import { compile, isTrue, type Row } from '../session/runner.ts'
import type { Session } from '../session/session.ts'
import type { LogSql } from './log-shape.ts'
import { findLogSql } from './log-sql.ts'

/** How long the log is kept where `changes` does not say, in seconds, and how many rows of it. */
const KEEP_SECONDS = 86_400
const KEEP_ROWS = 1_000_000

/** How often the log is pruned, in milliseconds, and how many rows at a time. */
const PRUNE_MS = 60_000
const PRUNE_ROWS = 1000

/** How often it is asked whether transactions have ended, before a reader gets what is sure, in milliseconds. */
const PAUSES_MS = [0, 2, 5, 10, 20, 40]

/** How long it holds that changes wait, in milliseconds: longer than two reads are apart. */
const FRESH_MS = 5000

/** How far the log may be read: what has smaller numbers is committed, or never will be. */
export interface Mark {
  /** The name of the log. */
  readonly log: string
  /** Absent where nothing is known yet. */
  readonly number: number | undefined
  /** The last number that was given. */
  readonly last: number
}

/** A position that is not proved yet. */
interface Pending {
  readonly log: string
  readonly number: number
  /** The number of an own transaction that proves it, and when that was taken. */
  readonly own: string
  readonly at: number
}

/** A row of the log. */
export interface LogRow {
  readonly seq: number
  readonly id: unknown
  readonly before: unknown
  readonly after: unknown
}

const log = sql.id(LOG)

export class LogReader {
  readonly #session: Session
  readonly #database: SqlDatabase
  readonly #sql: LogSql
  /** The mark that is sure, and one that is not, with the own number that proves it. */
  #sure: { readonly log: string; readonly number: number } | undefined
  #pending: Pending | undefined
  /** When that was seen, by `performance.now()`. */
  #seenAt = 0
  #running: Promise<Mark> | undefined
  #next: Promise<Mark> | undefined

  constructor(session: Session, database: SqlDatabase, keep: number | undefined) {
    this.#session = session
    this.#database = database
    this.#sql = findLogSql(database)
    const seconds = keep === undefined ? KEEP_SECONDS : keep / 1000
    // A failure is that of the next read.
    const prune = () => this.prune(seconds).catch(() => undefined)
    setInterval(prune, Math.min(PRUNE_MS, seconds * 1000)).unref()
  }

  /** Finds how far the log may be read, by statements that begin after the call: calls of one moment share them. */
  mark(): Promise<Mark> {
    if (!this.#running) {
      this.#running = this.#findMark().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.mark()
      })
    return this.#next
  }

  /** For how many milliseconds changes have waited. If nobody reads, it is not known, and 0. */
  get late(): number {
    const now = performance.now()
    return this.#pending && now < this.#seenAt + FRESH_MS ? now - this.#pending.at : 0
  }

  /** Reads rows of a table behind a number, up to a mark; and how far the log is pruned. */
  async rows(name: string, after: number, upTo: number, limit: number) {
    const found = await this.#select(
      sql`select rest_h."before" as pruned, rest_r.* from ${log} as rest_h left join (select "seq", "id", "before", "after" from ${log}
        where "name" = ${name} and "seq" > ${after} and "seq" <= ${upTo} order by "seq" limit ${limit}) as rest_r on 1 = 1 where rest_h."seq" = 0 order by rest_r."seq"`,
    )
    const rows: LogRow[] = found
      .filter(({ seq }) => seq !== null)
      .map(({ seq, id, before, after: now }) => ({ seq: Number(seq), id, before, after: now }))
    return { rows, pruned: Number(found[0]?.pruned ?? Number.POSITIVE_INFINITY) }
  }

  /** Deletes what is older, and what is too much. */
  async prune(seconds: number, rows = KEEP_ROWS): Promise<void> {
    for (;;) {
      const [head] = await this.#select(this.#sql.last)
      const [pruned, last] = [Number(head?.pruned), Number(head?.last)]
      const oldest = sql`select "seq", "at" from ${log} where "seq" > ${pruned} order by "seq" limit ${PRUNE_ROWS}`
      const [{ upto = null } = {}] = await this.#select(
        sql`select max("seq") as upto from (${oldest}) as rest_o where ${this.#sql.olderThan(seconds)} or "seq" <= ${last - rows}`,
      )
      if (upto === null) return
      const statements = [
        sql`update ${log} set "before" = ${String(upto)} where "seq" = 0`,
        sql`delete from ${log} where "seq" > 0 and "seq" <= ${Number(upto)}`,
      ].map(each => compile(this.#database, each))
      await this.#session.write(async runner => {
        for (const statement of statements) await runner.run(statement)
      })
    }
  }

  async #findMark(): Promise<Mark> {
    const [row] = await this.#select(this.#sql.last)
    if (!row) throw new Error(`${LOG} has lost its row 0: drop the table, and start again`)
    const [name, last] = [String(row.log), Number(row.last ?? 0)]
    const { own, ended } = this.#sql
    if (!own || !ended) return { log: name, number: last, last }
    if (this.#sure?.log !== name) this.#sure = undefined
    if (this.#pending?.log !== name) this.#pending = undefined
    this.#seenAt = performance.now()
    if (this.#sure?.number === last) return { log: name, number: last, last }
    // One that is pending may be sure by now; then a second one is.
    for (let left = 2; left > 0 && this.#sure?.number !== last; left--) {
      if (!this.#pending) {
        // In a statement behind: who has taken a number up to `last` has begun before it.
        const [taken] = await this.#select(own)
        this.#pending = { log: name, number: last, own: String(taken?.own), at: this.#seenAt }
      }
      if (!(await this.#isSure(ended(this.#pending.own)))) break
      this.#sure = this.#pending
      this.#pending = undefined
    }
    return { log: name, number: this.#sure?.number, last }
  }

  async #isSure(ended: Fragment): Promise<boolean> {
    for (const pause of PAUSES_MS) {
      if (pause > 0) await delay(pause)
      const [row] = await this.#select(ended)
      if (isTrue(row?.ended)) return true
    }
    return false
  }

  async #select(statement: Fragment): Promise<readonly Row[]> {
    const compiled = compile(this.#database, statement)
    return (await this.#session.read(runner => runner.run(compiled))).rows
  }
}
