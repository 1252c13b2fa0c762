// Creates rows. Their ids grow and become visible in order: a row of another table holds the last id, and stays
// locked until the transaction ends, so that creates wait for each other.

import type { Item } from '../../base/values.ts'
import { chosenId, nextId, nextUuid } from '../../store/ids.ts'
import type { Id, Stored, StoreOptions, StoreWriteOptions } from '../../store/store.ts'
import { assemble, buildAnswer } from '../../store/written.ts'
import { type Fragment, PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { SEQUENCES } from '../databases/table-names.ts'
import {
  compile,
  type Row,
  type Runner,
  type Statement,
  type StatementSession,
  waitForOnly,
} from '../session/runner.ts'
import { decodeValue } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { IdempotencyRecords } from './idempotency.ts'
import { buildInsertMany, compileInsertNext, type InsertMany } from './insert-next.ts'

/** One call of `create`. */
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

/** How often a statement makes an id: a greater one may exist by then. */
const MAX_TRIES = 20

const name = sql.id('name')
const lastId = sql.id('last_id')
const sequences = sql.table(SEQUENCES)

/** Creates rows. Each function throws the driver's error where a row would break a rule of the table. */
export interface Creates {
  create(session: StatementSession, values: Item, options?: StoreWriteOptions): Promise<Stored>
  /** Creates all rows, or none. */
  createAll(
    session: StatementSession,
    values: readonly Item[],
    options?: StoreOptions,
  ): Promise<readonly Stored[]>
}

/**
 * Builds the functions that create rows of a table.
 * @param isExact whether the table returns exactly what was written, so that it need not be read back.
 * @param insertsAll whether each row of an insert comes into the table as it is.
 */
export function buildCreates(
  mapping: TableMapping,
  records: IdempotencyRecords,
  isExact: boolean,
  insertsAll: boolean,
  clock: () => number,
): Creates {
  const { database, shape, table, id, written } = mapping
  const isInteger = shape.identity.kind === 'integer'
  // SQLite inserts into an exact table what it gets, the id included: RETURNING would tell nothing new.
  const returns = !isExact || !database.serial
  const others = written.filter(column => column !== id)
  const sequence = compileSequence(mapping)
  // An existing table may store other values than it gets.
  const returning = isExact ? sql`${id.readable} as ${sql.id(id.read)}` : mapping.all
  const insertNext = database.supportsDmlInCte ? compileInsertNext(mapping, returning) : undefined
  const insertMany = database.supportsDmlInCte && insertsAll && buildInsertMany(mapping, returning)
  const inserts = new Map<number, Statement>()
  let lastUuid: string | undefined

  function newRow(newId: Id, create: Create): NewRow {
    const date = new Date(clock()).toISOString()
    const item = assemble(shape, newId, create.values, date, date)
    const version = mapping.makeVersion()
    return { ...create, item, version }
  }

  /** Reads and locks the last id. @throws Error for one after which JavaScript has no exact number. */
  async function readLast(run: Runner['run']): Promise<string> {
    let [row] = (await run(sequence.lock, [table])).rows
    if (!row) {
      await run(sequence.start, [table])
      row = (await run(sequence.lock, [table])).rows[0]
    }
    const last = String(row?.last ?? '')
    if (!isInteger || Number(last) < Number.MAX_SAFE_INTEGER) return last
    throw new Error(`${table} takes no row: its greatest id, ${last}, is beyond 2^53`)
  }

  /** Makes an id and inserts its row by one statement. */
  async function insertOne(create: Create, insert: Statement, { run }: Runner): Promise<Inserted> {
    const row = newRow('', create)
    const values = mapping.encode(row.item, others, row.version)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const uuid = isInteger ? undefined : nextUuid(lastUuid, clock())
      const next = isInteger ? [table] : [uuid, table, uuid, uuid]
      const [made] = (await run(insert, [...next, ...values])).rows
      lastUuid = made ? uuid : await readLast(run)
      if (made) return [row, made]
    }
    throw new NoRowError(table)
  }

  /** Makes ids and inserts their rows by one statement: of many creates so many as are not too long together. */
  async function insertTogether(
    creates: readonly Create[],
    { compiled, written, print, bind }: InsertMany,
    { run }: Runner,
  ): Promise<Inserted[]> {
    const rows = creates.map(each => newRow('', each))
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      let last = lastUuid
      if (!isInteger) for (const { item } of rows) item[id.name] = last = nextUuid(last, clock())
      const encoded = rows.map(({ item, version }) => mapping.encode(item, written, version))
      const { json, count } = print(encoded)
      const [first, end] = [rows[0], rows[count - 1]].map(row => row?.item[id.name])
      const made = (await run(compiled, bind(json, count, first, end))).rows
      lastUuid = made.length > 0 ? String(end) : await readLast(run)
      if (made.length > 0) return made.map((row, at) => [rows[at] as NewRow, row]) // as many as there are
    }
    throw new NoRowError(table)
  }

  async function insertRows(rows: readonly NewRow[], { run }: Runner): Promise<Inserted[]> {
    const returned: Row[] = []
    for (const part of inParts(rows.map(row => mapping.encode(row.item, written, row.version)))) {
      const insert =
        inserts.get(part.length) ?? compileInsert(mapping, part.length, returns && returning)
      inserts.set(part.length, insert)
      returned.push(...(await run(insert, part.flat())).rows)
    }
    if (!returns) return rows.map(row => [row, undefined])
    return rows.map((row, at) => {
      const found = returned[at]
      // A trigger may skip rows or change their ids. A batch then fails, and its rows are inserted one by one.
      const isRow =
        found && (rows.length === 1 || decodeValue(found[id.read], id) === row.item[id.name])
      if (!isRow) throw new NoRowError(table)
      return [row, found]
    })
  }

  /** Converts rows to items, and stores their answers under the idempotency keys. */
  async function finish(rows: readonly Inserted[], runner: Runner): Promise<Stored[]> {
    const stored: Stored[] = []
    for (const [{ item, version, options }, row] of rows) {
      if (row) item[id.name] = decodeValue(row[id.read], id) as Id // no id is null
      const kept = row && !isExact ? mapping.decode(row) : mapping.predict(item, version)
      const key = options.idempotencyKey
      if (key !== undefined)
        await records.keepAnswer(key, buildAnswer(options, kept), runner, options)
      stored.push(kept)
    }
    return stored
  }

  /** Inserts rows under the next ids: of many creates perhaps not all. */
  async function insertNextRows(creates: readonly Create[], runner: Runner): Promise<Stored[]> {
    const [first] = creates
    if (creates.length === 1 && first && insertNext) {
      return finish([await insertOne(first, insertNext, runner)], runner)
    }
    if (insertMany) return finish(await insertTogether(creates, insertMany, runner), runner)
    const known = await readLast(runner.run)
    let last: Id = isInteger ? Number(known) : known
    const rows = creates.map(create => {
      last = nextId(shape.identity, last, clock())
      return newRow(last, create)
    })
    const inserted = await insertRows(rows, runner)
    await runner.run(sequence.keep, [String(last), table])
    return finish(inserted, runner)
  }

  /** Whether the next id of all servers is needed. */
  function needsNext({ values }: Create): boolean {
    return shape.identity.ordered !== false && chosenId(shape.identity, values) === undefined
  }

  function findId({ values }: Create): string {
    const chosen = chosenId(shape.identity, values)
    if (chosen !== undefined) return chosen
    lastUuid = nextUuid(lastUuid, clock())
    return lastUuid
  }

  /** Inserts rows under ids that clients have chosen, or that are made here. */
  async function insertChosenRows(creates: readonly Create[], runner: Runner): Promise<Stored[]> {
    const rows = creates.map(each => newRow(findId(each), each))
    return finish(await insertRows(rows, runner), runner)
  }

  /** Inserts rows under chosen ids and the next ones. */
  async function insertAll(creates: readonly Create[], runner: Runner): Promise<Stored[]> {
    const isChosen = (each: Create) => !needsNext(each)
    const others = creates.filter(needsNext)
    const made: Stored[] = []
    while (made.length < others.length)
      made.push(...(await insertNextRows(others.slice(made.length), runner)))
    const named = await insertChosenRows(creates.filter(isChosen), runner)
    // One row, one item.
    return creates.map(each => (isChosen(each) ? named : made).shift() as Stored)
  }

  return {
    create(session, values, options = {}) {
      const create = { values, options }
      const single = options.idempotencyKey === undefined
      if (needsNext(create)) {
        const statement = insertMany ? 'of all' : insertNext !== undefined && 'of one'
        return session.writeShared(create, insertNextRows, options, single && statement)
      }
      const insert = (runner: Runner) => waitForOnly(insertChosenRows([create], runner))
      return session.write(insert, options, single)
    },
    async createAll(session, values, options) {
      const creates = values.map(each => ({ values: each, options: {} }))
      try {
        return await session.write(runner => insertAll(creates, runner), options)
      } catch (error) {
        if (!(error instanceof NoRowError) || creates.length === 1) throw error
      }
      return session.write(async runner => {
        const stored: Stored[] = []
        for (const each of creates) stored.push(...(await insertAll([each], runner)))
        return stored
      }, options)
    },
  }
}

/** Compiles the statements that read and write the last id of a table. */
function compileSequence({ database, shape, greatestId }: TableMapping) {
  const { kind } = shape.identity
  const isInteger = kind === 'integer'
  const last = isInteger ? sql`cast(${lastId} as bigint)` : lastId
  const greatest = isInteger ? sql.raw('last') : database.text(sql.raw('last'))
  const both = sql`select max(${greatest}) from (select ${last} as last union all select (${greatestId})) as ids`
  return {
    /**
     * Parameters: `[table]`. Locks the last id that the store has made, and selects the greatest id. If clients
     * choose ids, it selects the last made one.
     */
    lock: compile(
      database,
      sql`select (${kind === 'text' ? lastId : both}) as last from ${sequences} where ${name} = ${PLACEHOLDER}${database.forUpdate}`,
    ),
    /** Parameters: `[id, table]`. */
    keep: compile(
      database,
      sql`update ${sequences} set ${lastId} = ${PLACEHOLDER} where ${name} = ${PLACEHOLDER}`,
    ),
    /** Parameters: `[table]`. */
    start: compile(
      database,
      sql`insert into ${sequences} (${name}, ${lastId}) values (${PLACEHOLDER}, ${sql.lit(isInteger ? '0' : '')}) on conflict do nothing`,
    ),
  }
}

/** Compiles an insert with the parameters `[...columns, version]` of each row. */
function compileInsert(mapping: TableMapping, rows: number, returns: Fragment | false): Statement {
  const { database, written, from } = mapping
  const names = mapping.nameColumns(written)
  const row = sql`(${sql.join(names.map(() => PLACEHOLDER))})`
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

/** Limits of one insert: rows, values (SQLite allows 32,766), characters of text. */
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
