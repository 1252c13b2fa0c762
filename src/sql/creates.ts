// Creates rows, with ids that grow and become visible in their order: one row of a table holds the last
// id, and stays locked until the transaction ends, so that all makers of ids wait for each other.
import type { Item } from '../schema/values.ts'
import { chosenId, createVersion, nextId, nextUuid } from '../store/ids.ts'
import { assemble, buildAnswer, type Id, type Stored, type WriteOptions } from '../store/store.ts'
import { decodeValue } from './columns.ts'
import type { SqlIdempotencyRecords } from './idempotency.ts'
import { compile, type Prepared, type Row, type Runner, type StatementSession } from './session.ts'
import { sql } from './sql-text.ts'
import type { TableMapping } from './table-mapping.ts'
import { SEQUENCES } from './tables.ts'

/** What is to be created. */
interface Create {
  readonly values: Item
  readonly options: WriteOptions
}

interface NewRow extends Create {
  readonly item: Item
  readonly version: string | undefined
}

/** A new row, and what the database gives of it. */
type Inserted = readonly [NewRow, Row | undefined]

/** How often an id is made again that others have overtaken. */
const MAX_TRIES = 20

const [name, lastId] = [sql.id('name'), sql.id('last_id')]
const sequences = sql.table(SEQUENCES)
/** Only its place counts: the values are given at each run. */
const value = sql`${''}`

export class SqlCreates {
  readonly #mapping: TableMapping
  readonly #records: SqlIdempotencyRecords
  readonly #own: boolean
  readonly #clock: () => number
  readonly #inserts = new Map<number, Prepared>()
  /** `[table]`; selects the greatest id made or put into the table by another program, and locks the last one made. */
  readonly #lockLast: Prepared
  /** `[id, table]` */
  readonly #keepLast: Prepared
  /** `[table]` */
  readonly #startLast: Prepared
  /** Makes an id and inserts its row in one statement, where the database can. */
  readonly #insertNext: Prepared | undefined
  #lastUuid: string | undefined

  /** @param own whether the table keeps values exactly, so that they need not be read back. */
  constructor(
    mapping: TableMapping,
    records: SqlIdempotencyRecords,
    own: boolean,
    clock: () => number,
  ) {
    this.#mapping = mapping
    this.#records = records
    this.#own = own
    this.#clock = clock
    const { database, shape } = mapping
    const { kind } = shape.identity
    const last = kind === 'integer' ? sql`cast(${lastId} as bigint)` : lastId
    const greatest = kind === 'integer' ? sql.raw('last') : database.text(sql.raw('last'))
    const both = sql`select max(${greatest}) from (select ${last} as last union all select (${mapping.greatestId})) as ids`
    // Ids chosen by clients are not part of the sequence.
    this.#lockLast = compile(
      database,
      sql`select (${kind === 'text' ? lastId : both}) as last from ${sequences} where ${name} = ${value}${database.forUpdate}`,
    )
    this.#keepLast = compile(
      database,
      sql`update ${sequences} set ${lastId} = ${value} where ${name} = ${value}`,
    )
    this.#startLast = compile(
      database,
      sql`insert into ${sequences} (${name}, ${lastId}) values (${value}, ${sql.lit(kind === 'integer' ? '0' : '')}) on conflict do nothing`,
    )
    if (database.supportsDmlInCte) this.#insertNext = this.#compileInsertNext()
  }

  /** @throws the driver's error where a row would break a rule of the table. */
  create(session: StatementSession, values: Item, options: WriteOptions = {}): Promise<Stored> {
    const create = { values, options }
    const id = chosenId(this.#mapping.shape.identity, values)
    const single = options.idempotencyKey === undefined
    if (id === undefined) {
      const oneStatement = single && this.#insertNext !== undefined
      return session.writeShared(create, this.#insertUnderNext, options, oneStatement)
    }
    const insert = async (runner: Runner) =>
      this.#answer(await this.#insertRows([this.#newRow(id, create)], runner), runner)
    return session.write(async runner => (await insert(runner))[0] as Stored, options, single) // one row, one answer
  }

  readonly #insertUnderNext = async (
    creates: readonly Create[],
    runner: Runner,
  ): Promise<Stored[]> => {
    const [first] = creates
    if (creates.length === 1 && first && this.#insertNext) {
      return this.#answer([await this.#insertOne(first, this.#insertNext, runner)], runner)
    }
    return this.#answer(await this.#insertLocked(creates, runner), runner)
  }

  async #insertOne(create: Create, insert: Prepared, { run }: Runner): Promise<Inserted> {
    const { table, columns, id, shape } = this.#mapping
    const row = this.#newRow('', create)
    const others = columns.filter(column => column !== id)
    const values = this.#encode(row, others)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const uuid = nextUuid(this.#lastUuid, this.#clock())
      const next = shape.identity.kind === 'integer' ? [table] : [uuid, table, uuid, uuid]
      const [made] = (await run(insert, [...next, ...values])).rows
      if (made) {
        this.#lastUuid = uuid
        return [row, made]
      }
      this.#lastUuid = await this.#readLast(run)
    }
    throw noRow(table)
  }

  async #insertLocked(creates: readonly Create[], runner: Runner): Promise<Inserted[]> {
    const { shape, table } = this.#mapping
    const { run } = runner
    const known = await this.#readLast(run)
    let last: Id = shape.identity.kind === 'integer' ? Number(known) : known
    const rows = creates.map(create => {
      last = nextId(shape.identity, last, this.#clock())
      return this.#newRow(last, create)
    })
    const inserted = await this.#insertRows(rows, runner)
    await run(this.#keepLast, [String(last), table])
    return inserted
  }

  /**
   * Reads and locks the last id.
   * @throws Error for one that JavaScript cannot count on from.
   */
  async #readLast(run: Runner['run']): Promise<string> {
    const { table, shape } = this.#mapping
    let [row] = (await run(this.#lockLast, [table])).rows
    if (!row) {
      await run(this.#startLast, [table])
      row = (await run(this.#lockLast, [table])).rows[0]
    }
    const last = String(row?.last ?? '')
    if (shape.identity.kind !== 'integer' || Number(last) < Number.MAX_SAFE_INTEGER) return last
    throw new Error(`${table} takes no row: its greatest id, ${last}, is beyond 2^53`)
  }

  /** @returns each row with what the database gives of it. */
  async #insertRows(rows: readonly NewRow[], { run }: Runner): Promise<Inserted[]> {
    const { id, table } = this.#mapping
    const given: Row[] = []
    for (const part of inParts(rows.map(row => this.#encode(row)))) {
      given.push(...(await run(this.#compileInsert(part.length), part.flat())).rows)
    }
    return rows.map((row, at) => {
      const found = given[at]
      // A trigger may keep rows out or give them other ids: those of several are then inserted one by one.
      const isOther =
        rows.length > 1 && found && decodeValue(found[id.read], id) !== row.item[id.name]
      if (this.#returns && (!found || isOther)) throw noRow(table)
      return [row, found]
    })
  }

  #newRow(id: Id, create: Create): NewRow {
    const { shape, versionColumn } = this.#mapping
    const date = new Date(this.#clock()).toISOString()
    const item = assemble(shape, id, create.values, date, date)
    return { ...create, item, version: versionColumn === undefined ? undefined : createVersion() }
  }

  #encode({ item, version }: NewRow, columns = this.#mapping.columns): unknown[] {
    const values = this.#mapping.encode(item, columns)
    return version === undefined ? values : [...values, version]
  }

  /** Keeps what was stored as the answers to the idempotency keys. */
  async #answer(rows: readonly Inserted[], runner: Runner): Promise<Stored[]> {
    const mapping = this.#mapping
    const { id } = mapping
    const stored: Stored[] = []
    for (const [{ item, version, options }, row] of rows) {
      const madeId = row && decodeValue(row[id.read], id)
      if (madeId !== undefined) item[id.name] = madeId
      const kept = row && !this.#own ? mapping.decode(row) : mapping.predict(item, version)
      const key = options.idempotencyKey
      if (key !== undefined) {
        await this.#records.answer(key, buildAnswer(options, kept), runner)
      }
      stored.push(kept)
    }
    return stored
  }

  /** Whether inserts give something of their rows. In its own table SQLite has nothing to tell. */
  get #returns(): boolean {
    return !this.#own || !this.#mapping.database.serial
  }

  /** What an insert gives of its rows: foreign tables may keep another value than they are given. */
  get #returning() {
    const { id, all } = this.#mapping
    if (!this.#returns) return sql``
    return sql` returning ${this.#own ? sql`${id.readable} as ${sql.id(id.read)}` : all}`
  }

  /** `[...columns, version]` of each row. */
  #compileInsert(rows: number): Prepared {
    const known = this.#inserts.get(rows)
    if (known) return known
    const { database, columns, versionColumn, from } = this.#mapping
    const names = columns.map(({ column }) => sql.id(column))
    if (versionColumn !== undefined) names.push(sql.id(versionColumn))
    const row = sql`(${sql.join(names.map(() => value))})`
    const all = sql.join(Array.from({ length: rows }, () => row))
    const made = compile(
      database,
      sql`insert into ${from} (${sql.join(names)})${database.overriding} values ${all}${this.#returning}`,
    )
    this.#inserts.set(rows, made)
    return made
  }

  /**
   * `[table, …]` for integers, `[uuid, table, uuid, uuid, …]` for others, then the columns but the id, and
   * the version. Inserts no row where the table has no last id yet, or the last id is not the smaller one.
   */
  #compileInsertNext(): Prepared {
    const { database, columns, versionColumn, from, id, shape } = this.#mapping
    const { kind } = shape.identity
    const names = columns.filter(column => column !== id).map(({ column }) => sql.id(column))
    if (versionColumn !== undefined) names.push(sql.id(versionColumn))
    const columnList = sql.join([sql.id(id.column), ...names])
    const integer = sql`update ${sequences} as kept set last_id = (greatest(kept.last_id::bigint, top.most, 0) + 1)::text from (select (${this.#mapping.greatestId}) as most) as top where kept.name = ${value} returning kept.last_id::bigint as id`
    const taken =
      kind === 'text'
        ? sql`${value}::text is null`
        : // By its order, which an index gives: for `exists` the planner reads the whole table.
          sql`coalesce((select ${id.ref} from ${from} order by ${id.ref} desc limit 1) > ${this.#mapping.idValue}, false)`
    const uuid = sql`update ${sequences} as kept set last_id = ${value} where kept.name = ${value} and kept.last_id < ${value} and not ${taken} returning kept.last_id${sql.raw(id.native ? '::uuid' : '')} as id`
    // A greater number is none of JavaScript's: it would be read as another.
    const served =
      kind === 'integer' ? sql` where id <= ${sql.lit(Number.MAX_SAFE_INTEGER)}` : sql``
    return compile(
      database,
      sql`with made as (${kind === 'integer' ? integer : uuid}) insert into ${from} (${columnList})${database.overriding} select ${sql.join([sql`id`, ...names.map(() => value)])} from made${served}${this.#returning}`,
    )
  }
}

function noRow(table: string): Error {
  return new Error(`${table} has taken no row: a trigger may have kept it out`)
}

/** What one statement inserts at most: rows, values (SQLite takes 32,766), characters of text. */
const MAX_ROWS = 64
const MAX_VALUES = 30_000
const MAX_TEXT = 100_000

/** Splits rows into parts of 64, 32, 16 … and one, so that there are few statements to prepare. */
function* inParts(
  rows: readonly (readonly unknown[])[],
): Generator<readonly (readonly unknown[])[]> {
  for (let from = 0; from < rows.length; ) {
    let count = MAX_ROWS
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
  for (const each of values) if (typeof each === 'string') text += each.length
  return values.length > MAX_VALUES || text > MAX_TEXT
}
