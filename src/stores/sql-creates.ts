// New rows and the ids that are made for them: in order, and visible in that order. Either the
// transaction is the only writer, or one row of a table, locked until the end of the transaction,
// has all makers of ids wait for each other.
import { randomInt } from 'node:crypto'
import { assemble, type Id, type Stored, type StoreOptions } from '../store.ts'
import { newVersion, nextInteger, nextUuid } from './ids.ts'
import type { SqlAttempts } from './sql-attempts.ts'
import type { Layout } from './sql-layout.ts'
import { compileFor, type Prepared, type Runner, type Session } from './sql-session.ts'
import type { Statements } from './sql-statements.ts'
import { SEQUENCES } from './sql-tables.ts'
import { type Fragment, sql } from './sql-text.ts'

export class SqlCreates {
  readonly #session: Session
  readonly #layout: Layout
  readonly #statements: Statements
  readonly #attempts: SqlAttempts
  readonly #clock: () => number
  /** Makes an id and inserts the row under it in one statement. */
  readonly #numbered: Prepared | undefined

  constructor(
    session: Session,
    layout: Layout,
    statements: Statements,
    attempts: SqlAttempts,
    clock: () => number,
  ) {
    this.#session = session
    this.#layout = layout
    this.#statements = statements
    this.#attempts = attempts
    this.#clock = clock
    const { dialect } = layout
    if (dialect.chains) this.#numbered = compileFor(dialect, numberedInsert(layout))
  }

  /** @throws whatever the driver throws where a row would break a unique set. */
  create(
    values: Stored['item'],
    options: StoreOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<Stored> {
    const { idempotencyKey: key } = options
    const { identity } = this.#layout.shape
    const wish = identity.kind === 'text' ? values[identity.name] : undefined
    const id = typeof wish === 'string' ? wish : undefined
    const single = key === undefined && (id !== undefined || this.#numbered !== undefined)
    return this.#session.write(
      async runner => {
        const stored = await this.#insert(id, values, runner)
        if (key !== undefined) await this.#attempts.answer(key, { ...stored }, runner)
        return stored
      },
      options,
      { single, queued: id === undefined },
    )
  }

  async #insert(
    chosen: string | undefined,
    values: Stored['item'],
    runner: Runner,
  ): Promise<Stored> {
    const layout = this.#layout
    const { shape, versionColumn } = layout
    const date = new Date(this.#clock()).toISOString()
    const version = versionColumn === undefined ? undefined : newVersion()
    const rowOf = (id: Id, columns = layout.columns) => {
      const row = layout.encode(assemble(shape, id, values, date, date), columns)
      return version === undefined ? row : [...row, version]
    }
    if (chosen === undefined && this.#numbered) {
      const others = layout.columns.filter(({ column }) => column !== layout.id.column)
      const id = await this.#insertNumbered(this.#numbered, rowOf('', others), runner)
      return layout.storedItem(assemble(shape, id, values, date, date), version)
    }
    const id = chosen ?? (await this.#nextId(runner))
    await runner.run(this.#statements.insert, rowOf(id))
    return layout.storedItem(assemble(shape, id, values, date, date), version)
  }

  async #insertNumbered(
    statement: Prepared,
    others: readonly unknown[],
    { run }: Runner,
  ): Promise<Id> {
    const layout = this.#layout
    const integer = layout.shape.identity.kind === 'integer'
    for (;;) {
      const made = integer ? [] : [nextUuid(undefined, this.#clock()), randomInt(1, 2 ** 32)]
      const [found] = (await run(statement, [...made, layout.table, ...others])).rows
      if (found) return integer ? Number(found.made) : String(found.made)
      await run(this.#statements.firstLast, [layout.table])
    }
  }

  async #nextId(runner: Runner): Promise<Id> {
    const layout = this.#layout
    const statements = this.#statements
    const last = async () => (await runner.run(statements.last, [layout.table])).rows[0]
    let row = await last()
    while (!row) {
      await runner.run(statements.firstLast, [layout.table])
      row = await last()
    }
    // What another program put into the table counts as made.
    const known = [row.last, row.most].filter(id => id !== null && id !== undefined)
    const id =
      layout.shape.identity.kind === 'integer'
        ? nextInteger(Math.max(0, ...known.map(Number)))
        : nextUuid(known.map(String).sort().at(-1), this.#clock())
    await runner.run(statements.keepLast, [String(id), layout.table])
    return id
  }
}

/**
 * `[...made, table, ...columns but the id, version]`, where `made` is `[uuid, step]` for other ids
 * than integers; gives `made`, or no row where the table has no last id yet. The lock on the last id
 * is kept until the row is committed: a greater id becomes visible later.
 */
function numberedInsert(layout: Layout): Fragment {
  const { shape, from } = layout
  const id = sql.id(layout.id.column)
  // Only its place counts: the values are given at each run.
  const value = sql`${''}`
  const names = layout.columns.map(({ column }) => column).filter(name => name !== layout.id.column)
  if (layout.versionColumn !== undefined) names.push(layout.versionColumn)
  const integer = shape.identity.kind === 'integer'
  // Ids chosen by clients are no numbers of a sequence.
  const top =
    shape.identity.kind === 'text'
      ? sql`select null::text as most`
      : sql`select (${layout.greatestId}) as most`
  const given = integer
    ? sql``
    : sql`given as (select ${value}::text as uuid, ${value}::bigint as step), `
  const next = integer
    ? sql`(greatest(kept.last_id::bigint, top.most, 0) + 1)::text`
    : nextUuidSql(sql`greatest(kept.last_id, top.most collate "C")`)
  const source = integer ? sql`` : sql`, given`
  const made = integer
    ? sql`made.last_id::bigint`
    : sql`made.last_id${layout.id.declared ? sql`::uuid` : sql``}`
  return sql`with ${given}made as (update ${sql.table(SEQUENCES)} as kept set last_id = ${next} from (${top}) as top${source} where kept.name = ${value} returning kept.last_id) insert into ${from} (${sql.join([id, ...names.map(name => sql.id(name))])}) overriding system value select ${sql.join([made, ...names.map(() => value)])} from made returning ${id} as made`
}

/** What `nextUuid` gives: the given one where it is greater than the last; else the last one counted on. */
function nextUuidSql(last: Fragment): Fragment {
  const pattern = sql.lit('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
  const tail = sql`('x' || right(${last}, 12))::bit(48)::bigint`
  const time = sql`('x' || left(${last}, 8) || substr(${last}, 10, 4))::bit(48)::bigint`
  const later = sql`lpad(to_hex(${time} + 1), 12, '0')`
  return sql`(case
    when coalesce(${last} !~ ${pattern}, true) or given.uuid collate "C" > ${last} then given.uuid
    when ${tail} + given.step < 281474976710656
      then left(${last}, 24) || lpad(to_hex(${tail} + given.step), 12, '0')
    else left(${later}, 8) || '-' || right(${later}, 4) || substr(given.uuid, 14) end)`
}
