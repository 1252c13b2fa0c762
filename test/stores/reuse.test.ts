// Statements that are prepared once: the same answers, by fewer preparations, and never too many kept.
import { Kysely, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { describe, expect, test } from 'vitest'
import { reuseStatements, sqlStore } from '../../src/sql/index.ts'
import type { Filter } from '../../src/store/filter.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { by, is, SHAPE } from './selections.ts'
import { newFile } from './sqlite.ts'

usePostgres()

describe('a database of SQLite', () => {
  function open() {
    const texts: string[] = []
    const real = new Database(newFile())
    const database = reuseStatements({
      prepare(text) {
        texts.push(text)
        return real.prepare(text)
      },
      close: () => real.close(),
    })
    return { texts, db: new Kysely<unknown>({ dialect: new SqliteDialect({ database }) }) }
  }

  test('prepares a text once, whatever the values are', async () => {
    const { texts, db } = open()
    for (const value of [1, 2, 3]) {
      const { rows } = await sql`select ${value} as value`.execute(db)
      expect(rows).toEqual([{ value }])
    }
    expect(texts).toEqual(['select ? as value'])
    await db.destroy()
  })

  test('keeps the latest 500', async () => {
    const { texts, db } = open()
    const ask = (at: number) => sql.raw(`select ${at}`).execute(db)
    for (let at = 0; at < 501; at++) await ask(at)
    await ask(500)
    expect(texts).toHaveLength(501)
    await ask(0)
    expect(texts).toHaveLength(502)
    await db.destroy()
  })

  test('prepares one that failed anew', async () => {
    const { texts, db } = open()
    await sql`create table cars (id integer primary key)`.execute(db)
    const insert = () => sql`insert into cars values (1)`.execute(db)
    await insert()
    await expect(insert()).rejects.toThrow('UNIQUE')
    await sql`delete from cars`.execute(db)
    await insert()
    expect(texts.filter(text => text.startsWith('insert'))).toHaveLength(2)
    await db.destroy()
  })

  test('follows a change of the table', async () => {
    const { db } = open()
    await sql`create table cars (id integer primary key)`.execute(db)
    await sql`insert into cars values (1)`.execute(db)
    const read = async () => (await sql`select * from cars where id = ${1}`.execute(db)).rows
    expect(await read()).toEqual([{ id: 1 }])
    await sql`alter table cars add column color text default 'red'`.execute(db)
    expect(await read()).toEqual([{ id: 1, color: 'red' }])
    await db.destroy()
  })
})

describe('a pool of PostgreSQL', () => {
  const prepared = sql<{ statement: string }>`select statement from pg_prepared_statements
    where statement like '%as value%'`

  test('prepares a text once on each connection', async () => {
    const db = openPostgres({ max: 1 })
    for (const value of [1, 2, 3]) {
      const { rows } = await sql`select ${value}::int as value`.execute(db)
      expect(rows).toEqual([{ value }])
    }
    const { rows } = await prepared.execute(db)
    expect(rows.map(({ statement }) => statement)).toContain('select $1::int as value')
    await db.destroy()
  })

  test('keeps the latest 500', async () => {
    const db = openPostgres({ max: 1 })
    const ask = async (at: number) => {
      const { rows } = await sql.raw(`select ${at} as value`).execute(db)
      expect(rows).toEqual([{ value: at }])
    }
    for (let at = 0; at < 510; at++) {
      await ask(at)
      await ask(0)
    }
    const texts = (await prepared.execute(db)).rows.map(({ statement }) => statement)
    // This one and another are kept too.
    expect(texts.filter(text => /^select \d+ as value$/.test(text)).length).toBeLessThanOrEqual(500)
    expect(texts).toContain('select 0 as value')
    expect(texts).toContain('select 509 as value')
    expect(texts).not.toContain('select 1 as value')
    // What was dropped is prepared again, and an error in between hurts nobody.
    await expect(sql`select 1 / ${0}::int as value`.execute(db)).rejects.toThrow('zero')
    for (const at of [1, 2, 3, 0, 1]) await ask(at)
    await db.destroy()
  })

  test('has usual limits as they are in lists without filters, so that these are planned once', async () => {
    const texts: string[] = []
    const db = openPostgres({}, statement => void texts.push(statement.sql))
    const store = sqlStore({ db, table: 'planned_cars', create: true })
    store.attach(SHAPE)
    await store.open?.()
    texts.length = 0
    const list = (where: Filter[], sort: string, limit: number) =>
      store.list({ where, sort: by(sort) }, { limit, offset: 0 }, 'none')
    await list([], 'color', 25)
    await list([], 'color', 27)
    // The best plans of these depend on the color, and on how many items there are.
    await list([is('color', 'in', 'red')], '', 25)
    await list([], 'note', 25)
    const ends = texts.map(text => text.slice(text.lastIndexOf('limit')))
    expect(ends).toEqual(['limit 26', 'limit $1', 'limit $2', 'limit $1'])
  })

  test('keeps those of two texts apart that begin alike, in and after a transaction that failed', async () => {
    const db = openPostgres({ max: 1 })
    const read = async () => (await sql`select ${1}::int as value`.execute(db)).rows
    expect(await read()).toEqual([{ value: 1 }])
    const failed = db.transaction().execute(async transaction => {
      await sql`deallocate all`.execute(transaction)
      await sql`select ${1}::int as value`.execute(transaction)
    })
    await expect(failed).rejects.toMatchObject({ code: '26000' })
    expect(await read()).toEqual([{ value: 1 }])
    await sql`deallocate all`.execute(db)
    expect(await read()).toEqual([{ value: 1 }])
    await db.destroy()
  })

  test('gives no name to what begins and ends a transaction: a pooler may hold it already', async () => {
    const db = openPostgres({ max: 1 })
    await db.transaction().execute(async tx => {
      await sql`savepoint first`.execute(tx)
      await sql`select ${1}::int as value`.execute(tx)
      await sql`release savepoint first`.execute(tx)
    })
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements
      where statement ~* '^(begin|commit|rollback|savepoint|release)'`.execute(db)
    expect(rows).toEqual([])
    await db.destroy()
  })

  test('prepares one anew that a change of the table made useless', async () => {
    const db = openPostgres({ max: 1 })
    await sql`create table reused (id integer)`.execute(db)
    await sql`insert into reused values (1)`.execute(db)
    const read = () => sql`select * from reused where id = ${1}`.execute(db)
    expect((await read()).rows).toEqual([{ id: 1 }])
    await sql`alter table reused add column color text default 'red'`.execute(db)
    await expect(read()).rejects.toThrow('cached plan must not change result type')
    expect((await read()).rows).toEqual([{ id: 1, color: 'red' }])
    await db.destroy()
  })
})
