// New rows and the ids that are made for them: in order, and visible in that order. Either the
// transaction is the only writer, or one row of a table, locked until the end of the transaction,
// has all makers of ids wait for each other.
import { randomInt } from 'node:crypto'
import type { Item } from '../schema/values.ts'
import { chosenId, createVersion, nextId, nextUuid } from '../store/ids.ts'
import { assemble, type Id, type Stored, type StoreOptions, toAnswer } from '../store/store.ts'
import type { Known } from './catalog.ts'
import type { SqlIdempotencyRecords } from './idempotency.ts'
import { compileFor, type Prepared, type Row, type Runner, type Session } from './session.ts'
import { type Fragment, sql } from './sql-text.ts'
import type { Statements } from './statements.ts'
import type { TableMapping } from './table-mapping.ts'
import { SEQUENCES } from './tables.ts'

/** What is to be created. */
interface Create {
  readonly values: Item
  /** The idempotency key that it answers. */
  readonly key: string | undefined
}

/** A row to be inserted. */
interface NewRow {
  readonly item: Item
  readonly version: string | undefined
  readonly key: string | undefined
  /** As the database says that it is kept, where that need not be what it was given. */
  kept?: Stored | undefined
}

export class SqlCreates {
  readonly #session: Session
  readonly #layout: TableMapping
  readonly #statements: Statements
  readonly #attempts: SqlIdempotencyRecords
  readonly #known: Known
  readonly #clock: () => number
  /** Makes an id and inserts the row under it in one statement; the other gives the whole row. */
  readonly #numbered: { readonly id: Prepared; readonly whole: Prepared } | undefined

  constructor(
    session: Session,
    layout: TableMapping,
    statements: Statements,
    attempts: SqlIdempotencyRecords,
    known: Known,
    clock: () => number,
  ) {
    this.#session = session
    this.#layout = layout
    this.#statements = statements
    this.#attempts = attempts
    this.#known = known
    this.#clock = clock
    const { dialect } = layout
    const numbered = (given: Fragment) => compileFor(dialect, numberedInsert(layout, given))
    if (dialect.chains) {
      const id = sql`${sql.id(layout.id.column)} as made`
      this.#numbered = { id: numbered(id), whole: numbered(layout.all) }
    }
  }

  /** @throws whatever the driver throws where a row would break a unique set. */
  create(
    values: Item,
    options: StoreOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<Stored> {
    const create = { values, key: options.idempotencyKey }
    const unkeyed = create.key === undefined
    const id = chosenId(this.#layout.shape.identity, values)
    if (id === undefined) {
      const single = unkeyed && this.#numbered !== undefined
      return this.#session.writeTogether(create, this.#insertUnderNext, options, single)
    }
    const insert = async (runner: Runner) => {
      const row = this.#newRow(id, create)
      await this.#insert([row], runner)
      return this.#answered(row, runner)
    }
    return this.#session.write(insert, options, unkeyed)
  }

  /** Rows under ids that are made for them. */
  readonly #insertUnderNext = async (
    creates: readonly Create[],
    runner: Runner,
  ): Promise<Stored[]> => {
    const [first] = creates
    const rows =
      first && creates.length === 1 && this.#numbered
        ? [await this.#insertNumbered(first, this.#numbered[this.#gives], runner)]
        : await this.#insertCounted(creates, runner)
    const stored: Stored[] = []
    for (const row of rows) stored.push(await this.#answered(row, runner))
    return stored
  }

  async #insertNumbered(create: Create, statement: Prepared, { run }: Runner): Promise<NewRow> {
    const { table, columns, id, shape } = this.#layout
    const row = this.#newRow('', create)
    const others = columns.filter(({ column }) => column !== id.column)
    const values = [table, ...this.#encode(row, others)]
    const integer = shape.identity.kind === 'integer'
    const insert = async () => {
      const next = integer ? [] : [nextUuid(undefined, this.#clock()), randomInt(1, 2 ** 32)]
      return (await run(statement, [...next, ...values])).rows[0]
    }
    let found = await insert()
    if (!found) {
      await run(this.#statements.startLast, [table])
      found = await insert()
    }
    if (!found) {
      throw noRow(table, integer ? ', or its greatest id be beyond 2^53' : '')
    }
    if (this.#gives === 'whole') row.kept = this.#layout.stored(found)
    else row.item[shape.identity.name] = integer ? Number(found.made) : String(found.made)
    return row
  }

  async #insertCounted(creates: readonly Create[], runner: Runner): Promise<NewRow[]> {
    const { dialect, shape, table } = this.#layout
    let last = await this.#lastId(runner)
    const rows = creates.map(create => {
      last = nextId(shape.identity, last, this.#clock())
      return this.#newRow(last, create)
    })
    const made = await this.#insert(rows, runner)
    // A trigger may keep rows out or give them other ids: alone each is asked for its own.
    const wanted = rows.map(({ item }) => String(item[shape.identity.name]))
    if (dialect.chains && made.join() !== wanted.join()) throw new Error(`${table} took other rows`)
    await runner.run(this.#statements.keepLast, [String(last), table])
    return rows
  }

  async #lastId({ run }: Runner): Promise<Id | undefined> {
    const { shape, table } = this.#layout
    const { last, startLast } = this.#statements
    let [row] = (await run(last, [table])).rows
    while (!row) {
      await run(startLast, [table])
      row = (await run(last, [table])).rows[0]
    }
    // What another program put into the table counts as made.
    const known = [row.last, row.most].filter(id => id !== null && id !== undefined)
    if (shape.identity.kind !== 'integer') return known.map(String).sort().at(-1)
    const greatest = Math.max(0, ...known.map(Number))
    if (greatest < Number.MAX_SAFE_INTEGER) return greatest
    throw new Error(`${table} takes no row: its greatest id, ${row.most}, is beyond 2^53`)
  }

  /** What an insert gives: others' tables may keep another value than they are given. */
  get #gives(): 'id' | 'whole' {
    return this.#known.own ? 'id' : 'whole'
  }

  /** @returns the ids, if the database chains. */
  async #insert(rows: readonly NewRow[], { run }: Runner): Promise<string[]> {
    const whole = this.#gives === 'whole'
    const given: Row[] = []
    for (const part of inParts(rows.map(row => this.#encode(row)))) {
      given.push(...(await run(this.#statements.insert(part.length, whole), part.flat())).rows)
    }
    if (!whole) return given.map(({ made }) => String(made))
    const kept = given.map(row => this.#layout.stored(row))
    const { name } = this.#layout.shape.identity
    // SQLite gives them in any order.
    for (const row of rows) {
      row.kept = rows.length === 1 ? kept[0] : kept.find(({ id }) => id === row.item[name])
    }
    return kept.map(({ id }) => String(id))
  }

  #newRow(id: Id, { values, key }: Create): NewRow {
    const { shape, versionColumn } = this.#layout
    const date = new Date(this.#clock()).toISOString()
    const item = assemble(shape, id, values, date, date)
    return { item, version: versionColumn === undefined ? undefined : createVersion(), key }
  }

  #encode({ item, version }: NewRow, columns = this.#layout.columns): unknown[] {
    const values = this.#layout.encode(item, columns)
    return version === undefined ? values : [...values, version]
  }

  /** What was stored, kept as the answer to its idempotency key. */
  async #answered(row: NewRow, runner: Runner): Promise<Stored> {
    const { item, version, key } = row
    const { kept } = row
    if (!kept && !this.#known.own) throw noRow(this.#layout.table)
    const stored = kept ?? this.#layout.storedItem(item, version)
    if (key !== undefined) await this.#attempts.answer(key, toAnswer(stored), runner)
    return stored
  }
}

function noRow(table: string, or = ''): Error {
  return new Error(`${table} has taken no row: a trigger may have kept it out${or}`)
}

/** What one statement inserts at most: rows, values (SQLite takes 32,766), characters of text. */
const MOST_ROWS = 64
const MOST_VALUES = 30_000
const MOST_TEXT = 100_000

/** Rows in parts of 64, 32, 16 … and one, so that there are few statements to prepare. */
function* inParts(
  rows: readonly (readonly unknown[])[],
): Generator<readonly (readonly unknown[])[]> {
  for (let from = 0; from < rows.length; ) {
    let count = MOST_ROWS
    let part = rows.slice(from, from + count)
    while (count > 1 && (part.length < count || isLarge(part))) {
      count /= 2
      part = part.slice(0, count)
    }
    yield part
    from += count
  }
}

function isLarge(rows: readonly (readonly unknown[])[]): boolean {
  const values = rows.flat()
  let text = 0
  for (const value of values) if (typeof value === 'string') text += value.length
  return values.length > MOST_VALUES || text > MOST_TEXT
}

/**
 * `[...made, table, ...columns but the id, version]`, where `made` is `[uuid, step]` for other ids
 * than integers; no row where the table has no last id yet. The lock on the last id is kept until the
 * row is committed: a greater id becomes visible later.
 * @param given what it gives of the row.
 */
function numberedInsert(layout: TableMapping, given: Fragment): Fragment {
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
  const begun = integer
    ? sql``
    : sql`given as (select ${value}::text as uuid, ${value}::bigint as step), `
  const next = integer
    ? sql`(greatest(kept.last_id::bigint, top.most, 0) + 1)::text`
    : nextUuidSql(sql`greatest(kept.last_id, top.most collate "C")`)
  const source = integer ? sql`` : sql`, given`
  const made = integer
    ? sql`made.last_id::bigint`
    : sql`made.last_id${layout.id.declared ? sql`::uuid` : sql``}`
  // A greater one is no number of JavaScript's: it would be read as another.
  const served = integer ? sql` where ${made} <= ${sql.lit(Number.MAX_SAFE_INTEGER)}` : sql``
  return sql`with ${begun}made as (update ${sql.table(SEQUENCES)} as kept set last_id = ${next} from (${top}) as top${source} where kept.name = ${value} returning kept.last_id) insert into ${from} (${sql.join([id, ...names.map(name => sql.id(name))])})${layout.dialect.overriding} select ${sql.join([made, ...names.map(() => value)])} from made${served} returning ${given}`
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
