// Creates rows. Their ids grow and become visible in order: the last id stays locked until the transaction ends, so
// that creates wait for each other.

import type { Item } from '../../base/values.ts'
import { inPlace, KeptError, UniqueError } from '../../store/errors.ts'
import { chosenId, nextId, nextUuid } from '../../store/ids.ts'
import type { Creation, Id, Stored, StoreWriteOptions } from '../../store/store.ts'
import { assemble } from '../../store/written.ts'
import type { IdSequence } from '../databases/database.ts'
import { type Fragment, sql } from '../databases/sql-text.ts'
import {
  compile,
  type Row,
  type Runner,
  type Statement,
  type StatementSession,
} from '../session/runner.ts'
import { decodeId } from '../table/column-values.ts'
import type { Column } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { bySize, inParts } from './by-size.ts'
import { type IdempotencyRecords, keepWritten } from './idempotency.ts'
import {
  buildInsertMany,
  compileInsertAndTell,
  compileInsertNext,
  type InsertMany,
} from './insert-next.ts'
import { LastId } from './last-id.ts'

/** A row that is created. */
interface Create {
  readonly values: Item
  readonly options: StoreWriteOptions
}

interface NewRow extends Create {
  readonly item: Item
  readonly version: string | undefined
}

/** A new row, and what the database returns of it. */
type Inserted = readonly [NewRow, Row | undefined]

/** What is known of a table, from its catalog. */
interface InsertRules {
  /** Whether the table returns exactly what was written, so that it need not be read back. */
  readonly isExact: boolean
  /** Whether each row of an insert comes into the table as it is. */
  readonly insertsAll: boolean
  /** Whether a trigger or a policy may keep a row out, or put it somewhere else. */
  readonly mayKeep: boolean
  /** Whether a row may be another one than the statement that inserts it returns. */
  readonly changesLater: boolean
  /** What other programs take ids from. */
  readonly sequence?: IdSequence | undefined
}

/** How often a statement makes an id: a greater one may exist by then. */
const MAX_TRIES = 20

/** Creates rows. It throws the driver's error where a row would break a rule of the table. */
export class Creates {
  readonly #mapping: TableMapping
  readonly #records: IdempotencyRecords
  readonly #clock: () => number
  readonly #isInteger: boolean
  readonly #isExact: boolean
  readonly #mayKeep: boolean
  /** Reads rows that may be other ones than their insert has returned. */
  readonly #findAll: ReturnType<typeof bySize> | undefined
  /** The columns beside the id. */
  readonly #others: readonly Column[]
  /** What an insert returns of each row. */
  readonly #returning: Fragment
  /** Whether it returns anything: SQLite inserts into an exact table what it gets, the id included. */
  readonly #returns: boolean
  readonly #lastId: LastId
  /** Parameters: `[id]`. */
  readonly #find: Statement
  /** Makes the next id and inserts its row. */
  readonly #insertNext: Statement | undefined
  /** The same, telling the id of a row that does not come back. */
  readonly #insertAndTell: Statement | undefined
  /** Makes the next ids and inserts their rows. */
  readonly #insertMany: InsertMany | undefined
  /** Inserts by their number of rows. */
  readonly #inserts = new Map<number, Statement>()
  /** The last UUID that this process has made, or has read. */
  #lastUuid: string | undefined

  constructor(
    mapping: TableMapping,
    records: IdempotencyRecords,
    { isExact, insertsAll, mayKeep, changesLater, sequence }: InsertRules,
    clock: () => number,
  ) {
    const { database, id, all, from } = mapping
    this.#mapping = mapping
    this.#records = records
    this.#clock = clock
    this.#isInteger = mapping.shape.identity.kind === 'integer'
    this.#isExact = isExact
    this.#mayKeep = mayKeep
    this.#others = mapping.written.filter(column => column !== id)
    // An existing table may store other values than it gets.
    this.#returning = isExact ? sql`${id.readable} as ${sql.id(id.read)}` : all
    this.#returns = !isExact || !database.serial
    this.#find = compile(database, sql`select ${all} from ${from} where ${mapping.isRow}`)
    if (changesLater) {
      this.#findAll = bySize(
        database,
        size => sql`select ${all} from ${from} where ${mapping.isOneOf(size)}`,
      )
    }
    this.#lastId = new LastId(mapping, sequence)
    if (!database.supportsDmlInCte) return
    this.#insertNext = compileInsertNext(mapping, this.#returning, sequence)
    this.#insertAndTell = compileInsertAndTell(mapping, this.#returning, sequence)
    // Numbers of a sequence need not follow each other.
    if (insertsAll && !sequence) this.#insertMany = buildInsertMany(mapping, this.#returning)
  }

  /** Creates all rows, or none, in the order of their ids. */
  async write(
    session: StatementSession,
    changes: readonly Creation[],
    options: StoreWriteOptions = {},
  ): Promise<readonly Stored[]> {
    const [first] = changes
    if (first && changes.length === 1)
      return [await this.#createOne(session, { values: first.create, options })]
    return this.#createAll(session, changes, options)
  }

  /** Creates a row, by one statement with others that wait for theirs. */
  #createOne(session: StatementSession, create: Create): Promise<Stored> {
    const { options } = create
    // What a row that does not come back has done must be undone; what a trigger makes of one is read after it.
    const single = options.idempotencyKey === undefined && !this.#mayKeep && !this.#findAll
    if (this.#needsNext(create)) {
      const statement = this.#insertMany ? 'of all' : this.#insertNext !== undefined && 'of one'
      return session.writeShared(create, this.#insertNextRows, options, single && statement)
    }
    return session.writeShared(create, this.#insertChosenRows, options, single && 'of one')
  }

  async #createAll(
    session: StatementSession,
    changes: readonly Creation[],
    options: StoreWriteOptions,
  ): Promise<readonly Stored[]> {
    // The key is that of all of them.
    const creates = changes.map(({ create }) => ({ values: create, options: {} }))
    const write = (insert: (runner: Runner) => Promise<Stored[]>) =>
      session.write(async runner => {
        const stored = await insert(runner)
        await keepWritten(this.#records, stored, runner, options)
        return stored
      }, options)
    try {
      return await write(runner => this.#insertAll(creates, runner))
    } catch (error) {
      if (!(error instanceof NoRowError)) throw error
    }
    return write(async runner => {
      const stored: Stored[] = []
      for (const [at, each] of creates.entries())
        stored.push(...(await inPlace(at, () => this.#insertAll([each], runner))))
      return stored
    })
  }

  /** Inserts rows under chosen ids and the next ones. */
  async #insertAll(creates: readonly Create[], runner: Runner): Promise<Stored[]> {
    const isChosen = (each: Create) => !this.#needsNext(each)
    const others = creates.filter(each => !isChosen(each))
    const made: Stored[] = []
    while (made.length < others.length)
      made.push(...(await this.#insertNextRows(others.slice(made.length), runner)))
    const named = await this.#insertChosenRows(creates.filter(isChosen), runner)
    // One row, one item.
    return creates.flatMap(each => (isChosen(each) ? named : made).shift() ?? [])
  }

  /** Whether the next id of all servers is needed. */
  #needsNext({ values }: Create): boolean {
    const { identity } = this.#mapping.shape
    return identity.ordered !== false && chosenId(identity, values) === undefined
  }

  /** Inserts rows under ids that clients have chosen, or that are made here. A field, as the next. */
  readonly #insertChosenRows = async (
    creates: readonly Create[],
    runner: Runner,
  ): Promise<Stored[]> => {
    const rows = creates.map(each => this.#newRow(this.#findId(each), each))
    return this.#finish(await this.#insertRows(rows, runner), runner)
  }

  #findId({ values }: Create): string {
    const chosen = chosenId(this.#mapping.shape.identity, values)
    if (chosen !== undefined) return chosen
    this.#lastUuid = nextUuid(this.#lastUuid, this.#clock())
    return this.#lastUuid
  }

  /** Inserts rows under the next ids: of many creates perhaps not all. A field, since work is shared by its function. */
  readonly #insertNextRows = async (
    creates: readonly Create[],
    runner: Runner,
  ): Promise<Stored[]> => {
    const [first] = creates
    if (creates.length === 1 && first && this.#insertNext) {
      return this.#finish([await this.#insertOne(first, runner)], runner)
    }
    if (this.#insertMany) {
      return this.#finish(await this.#insertTogether(creates, this.#insertMany, runner), runner)
    }
    const known = await this.#lastId.read(runner)
    let last: Id = this.#isInteger ? Number(known) : known
    const drawn = await this.#lastId.draw(last, creates.length, runner)
    const rows = creates.map((create, at) => {
      last = drawn[at] ?? nextId(this.#mapping.shape.identity, last, this.#clock())
      return this.#newRow(last, create)
    })
    const inserted = await this.#insertRows(rows, runner)
    await this.#lastId.keep(last, runner)
    return this.#finish(inserted, runner)
  }

  /** Makes an id and inserts its row by one statement. */
  async #insertOne(create: Create, runner: Runner): Promise<Inserted> {
    const { table, id } = this.#mapping
    const row = this.#newRow('', create)
    const values = this.#mapping.encode(row.item, this.#others, row.version)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const uuid = this.#isInteger ? undefined : nextUuid(this.#lastUuid, this.#clock())
      const next = this.#isInteger ? [table] : [uuid, table, uuid, uuid]
      // A trigger may be newer than the catalog.
      const tells = this.#mayKeep || tries > 0
      const insert = (tells ? this.#insertAndTell : this.#insertNext) as Statement // as the caller has checked
      const [made] = (await runner.run(insert, [...next, ...values])).rows
      this.#lastUuid = made ? uuid : await this.#lastId.read(runner)
      const isKept = tells && made && made[id.read] === null
      if (made) return [row, isKept ? await this.#requireRow(made.rest_made, runner) : made]
    }
    throw new NoRowError(table)
  }

  /**
   * Finds the row of an insert that has not returned it, as where a trigger has put it elsewhere.
   * @throws KeptError where there is none.
   */
  async #requireRow(id: unknown, runner: Runner): Promise<Row> {
    const [row] = (await runner.run(this.#find, [id])).rows
    if (row) return row
    throw new KeptError()
  }

  /** Makes ids and inserts their rows by one statement: of many creates so many as are not too long together. */
  async #insertTogether(
    creates: readonly Create[],
    { compiled, written, print, bind }: InsertMany,
    runner: Runner,
  ): Promise<Inserted[]> {
    const { id, table } = this.#mapping
    const rows = creates.map(each => this.#newRow('', each))
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (!this.#isInteger) this.#nameByUuids(rows)
      const encoded = rows.map(({ item, version }) => this.#mapping.encode(item, written, version))
      const { json, count } = print(encoded)
      const [first, end] = [rows[0], rows[count - 1]].map(row => row?.item[id.name])
      const made = (await runner.run(compiled, bind(json, count, first, end))).rows
      this.#lastUuid = made.length > 0 ? String(end) : await this.#lastId.read(runner)
      if (made.length > 0) return rows.slice(0, made.length).map((row, at) => [row, made[at]])
    }
    throw new NoRowError(table)
  }

  #nameByUuids(rows: readonly NewRow[]): void {
    const { name } = this.#mapping.id
    let last = this.#lastUuid
    for (const { item } of rows) item[name] = last = nextUuid(last, this.#clock())
  }

  async #insertRows(rows: readonly NewRow[], runner: Runner): Promise<Inserted[]> {
    const { id, written, table } = this.#mapping
    const [only] = rows.length === 1 ? rows : []
    const isTaken = this.#mayKeep && only && (await this.#isTaken(only, runner))
    const encoded = rows.map(row => this.#mapping.encode(row.item, written, row.version))
    const returned: Row[] = []
    let count = 0n
    for (const part of inParts(encoded)) {
      const result = await runner.run(this.#insertOf(part.length), part.flat())
      returned.push(...result.rows)
      count += result.numAffectedRows ?? 0n
    }
    if (!this.#returns && count === BigInt(rows.length)) return rows.map(row => [row, undefined])
    if (only && returned.length === 0) {
      if (isTaken) throw new UniqueError([id.name])
      returned.push(await this.#requireRow(this.#keyOf(only.item), runner))
    }
    return rows.map((row, at) => {
      const found = returned[at]
      // A trigger may skip rows or change their ids. A batch then fails, and its rows are inserted one by one.
      const isRow = found && (only || decodeId(found, id) === row.item[id.name])
      if (!isRow) throw new NoRowError(table)
      return [row, found]
    })
  }

  /** Whether a row with the id that a client chose stands there, which is not to be taken for the new one. */
  async #isTaken({ item, values }: NewRow, runner: Runner): Promise<boolean> {
    const { shape } = this.#mapping
    if (chosenId(shape.identity, values) === undefined) return false
    return (await runner.run(this.#find, [this.#keyOf(item)])).rows.length > 0
  }

  /** The id of an item, as it is bound. */
  #keyOf(item: Item): Id | null | undefined {
    return this.#mapping.encodeId(item[this.#mapping.id.name] as Id) // no id is of another type
  }

  /** Finds the insert of so many rows. */
  #insertOf(rows: number): Statement {
    const known = this.#inserts.get(rows)
    if (known) return known
    const insert = compileInsert(this.#mapping, rows, this.#returns && this.#returning)
    this.#inserts.set(rows, insert)
    return insert
  }

  #newRow(id: Id, create: Create): NewRow {
    const date = new Date(this.#clock()).toISOString()
    const item = assemble(this.#mapping.shape, id, create.values, date, date)
    return { ...create, item, version: this.#mapping.makeVersion() }
  }

  /** Reads rows that triggers may have changed since, by their ids. One that a view does not show is missing. */
  async #readLater(
    inserted: readonly Inserted[],
    runner: Runner,
  ): Promise<ReadonlyMap<unknown, Row> | undefined> {
    if (!this.#findAll || inserted.length === 0) return undefined
    const { id } = this.#mapping
    const ids = inserted.map(([, row]) => row && this.#mapping.encodeId(decodeId(row, id)))
    const { rows } = await this.#findAll(runner, ids)
    return new Map(rows.map(row => [row[id.read], row]))
  }

  /** Converts rows to items, and stores their answers under the idempotency keys. */
  async #finish(rows: readonly Inserted[], runner: Runner): Promise<Stored[]> {
    const { id } = this.#mapping
    const stored: Stored[] = []
    const later = await this.#readLater(rows, runner)
    for (const [{ item, version, options }, returned] of rows) {
      const row = (returned && later?.get(returned[id.read])) ?? returned
      if (row) item[id.name] = decodeId(row, id)
      const isRead = row && !this.#isExact
      const kept = isRead ? this.#mapping.decode(row) : this.#mapping.predict(item, version)
      if (options.idempotencyKey !== undefined)
        await keepWritten(this.#records, [kept], runner, options)
      stored.push(kept)
    }
    return stored
  }
}

/** Compiles an insert with the parameters `[...columns, version]` of each row. */
function compileInsert(mapping: TableMapping, rows: number, returns: Fragment | false): Statement {
  const { database, written, from } = mapping
  const names = mapping.nameColumns(written)
  const row = sql`(${sql.join(mapping.fillColumns(written, 'created'))})`
  const values = sql.join(Array.from({ length: rows }, () => row))
  const returned = returns ? sql` returning ${returns}` : sql``
  return compile(
    database,
    sql`insert into ${from} (${sql.join(names)})${database.overriding} values ${values}${returned}`,
  )
}

class NoRowError extends Error {
  constructor(table: string) {
    super(`${table} has taken no row: a trigger may have kept it out`)
  }
}
