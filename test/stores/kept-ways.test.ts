// A trigger that keeps a row, or marks it in place of a deletion, by each way of writing: arrays, filters, cascades, batches,
// transactions, many clients at once, and a trigger that is newer than what the store knows.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { KeptError } from '../../src/store-authors/index.ts'
import { openHandler } from '../handlers.ts'
import { instead, makeKept, NAMES, useKeptTables } from './kept-tables.ts'

useKeptTables()

const KEPT = { code: 409, type: 'kept_by_database' }
const EFFECTS = 'create table TABLE_effects (id integer, what text)'
const TABLE =
  'create table TABLE (id integer primary key, name text not null, car_id text, gone integer not null default 0)'
const log = (what: string) => `insert into TABLE_effects values (old.id, '${what}');`

describe.each(NAMES)('%s', name => {
  /** Does something in place of a write, but not on rows whose name is `free`. */
  const unlessFree = (event: string, body: string): readonly string[] =>
    instead(event, 'TABLE', '')[name].map(each =>
      name === 'SQLite'
        ? each.replace('begin', `when old.name <> 'free' begin ${body}`)
        : each.replace(
            'begin',
            `begin if old.name = 'free' then return coalesce(new, old); end if; ${body}`,
          ),
    )
  const MARKING = unlessFree(
    'delete',
    `${log('marked')} update TABLE set gone = 1 where id = old.id and gone = 0;`,
  )

  /** Serves the table with cars, whose notes are deleted with them. */
  async function serve(made: readonly string[], transaction = false) {
    const table = await makeKept(name, [EFFECTS, TABLE, ...made])
    const db = table.owner
    const ran: string[] = []
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ name: z.string() }),
      store: sqlStore({ db, table: `${table.table}_cars`, create: true }),
    })
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({ name: z.string(), car_id: z.string().nullable().default(null) }),
      store: sqlStore({ db, table: table.table, version: false }),
      id: 'integer',
      timestamps: false,
      references: { car_id: { collection: 'cars', onDelete: 'cascade' } },
      operations: ['list', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
      hooks: { transaction, after: { delete: () => void ran.push('deleted') } },
    })
    const api = defineApi({ collections: { cars, notes }, batch: true })
    const { request } = await openHandler('fetch', api)
    const all = api.collection(notes)
    /** Adds notes with these names. */
    const fill = (names: readonly string[], car_id: string | null = null) =>
      all.create(names.map(each => ({ name: each, car_id })))
    const marks = async () => (await table.say('select id from TABLE where gone = 1')).length
    return {
      ...table,
      api,
      request,
      cars: api.collection(cars),
      notes: all,
      own: { cars, notes },
      fill,
      marks,
      ran,
    }
  }

  test('a deletion by filter: all are marked, each once; one that is kept undoes all', async () => {
    const { request, notes, fill, marks, effects, ran } = await serve(MARKING)
    await fill(['a', 'free', 'b'])
    const headers = { prefer: 'max-affected=9', 'idempotency-key': '"k"' }
    for (const _ of [1, 2]) {
      const gone = await request('/notes?id[gt]=0', { method: 'DELETE', headers })
      expect([gone.status, gone.json]).toEqual([200, { count: 3 }])
    }
    expect([await effects(), await marks(), ran.length]).toEqual([2, 2, 3])
    // They are marked by now: a second deletion changes nothing of them.
    const names = await fill(['free', 'free'])
    const again = await request('/notes?id[gt]=0', {
      method: 'DELETE',
      headers: { prefer: 'max-affected=9' },
    })
    expect([again.status, again.json]).toMatchObject([409, { errors: [KEPT] }])
    expect(again.text).toContain('(note 1)')
    await expect(notes.deleteMany({ id: { gt: 2 } }, { maxAffected: 9 })).rejects.toMatchObject({
      at: 0,
    })
    await expect(notes.deleteMany({ id: { gt: 0 } }, { maxAffected: 9 })).rejects.toThrow(KeptError)
    expect([await effects(), await marks(), ran.length]).toEqual([2, 2, 3])
    expect(await notes.count()).toBe(2 + names.length)
  })

  test('a change by filter names the item that is kept, and changes none', async () => {
    const { request, notes, fill, effects } = await serve(unlessFree('update', log('kept')))
    await fill(['free', 'a', 'free'])
    const json = { car_id: null, name: 'x' }
    const kept = await request('/notes?id[gt]=0', { method: 'PATCH', json })
    expect([kept.status, kept.json]).toMatchObject([409, { errors: [KEPT] }])
    expect(kept.text).toContain('(note 2)')
    await expect(notes.patchMany({ id: { gt: 0 } }, json)).rejects.toMatchObject({ at: 1 })
    expect(await effects()).toBe(0)
    expect((await notes.list().toArray()).map(each => each.name)).toEqual(['free', 'a', 'free'])
  })

  test('an array names the item that is kept out', async () => {
    const out = instead('insert', 'TABLE', '')[name].map(each =>
      name === 'SQLite'
        ? each.replace('begin', "when new.name = 'out' begin")
        : each.replace('begin', "begin if new.name <> 'out' then return new; end if;"),
    )
    const { request, notes } = await serve(out)
    const json = ['a', 'b', 'out'].map(each => ({ name: each }))
    const kept = await request('/notes', { method: 'POST', json })
    expect([kept.status, kept.json]).toMatchObject([409, { errors: [{ ...KEPT, field: '2' }] }])
    await expect(notes.create(json)).rejects.toMatchObject({ at: 2 })
    expect(await notes.count()).toBe(0)
    expect((await notes.create(json.slice(0, 2))).length).toBe(2)
  })

  test('a deletion with others: those that are marked are, once', async () => {
    const { api, cars, own, fill, marks, effects } = await serve(MARKING)
    const [one, other] = await cars.create([{ name: 'one' }, { name: 'other' }])
    await fill(['a', 'free', 'b'], one?.id)
    await fill(['c'], other?.id)
    await cars.delete(one?.id ?? '')
    expect([await effects(), await marks(), await cars.count()]).toEqual([2, 2, 1])
    await api.transaction(tx => tx.collection(own.cars).delete(other?.id ?? ''))
    expect([await effects(), await marks(), await cars.count()]).toEqual([3, 3, 0])
  })

  test('a deletion with others: one that is kept undoes all, also within a transaction', async () => {
    const { api, cars, own, fill, request, effects, notes } = await serve(
      unlessFree('delete', log('kept')),
    )
    const { id } = await cars.create({ name: 'one' })
    await fill(['free', 'a', 'free'], id)
    const kept = await request(`/cars/${id}`, { method: 'DELETE' })
    expect([kept.status, kept.json]).toMatchObject([409, { errors: [KEPT] }])
    expect(kept.text).toContain('the database keeps notes that refer to it')
    await expect(cars.delete(id)).rejects.toThrow(KeptError)
    const within = api.transaction(async tx => {
      await tx.collection(own.notes).patch(1, { name: 'b' })
      await tx.collection(own.cars).delete(id)
    })
    await expect(within).rejects.toThrow(KeptError)
    const batch = await request('/batch', {
      method: 'POST',
      json: [
        { method: 'PATCH', path: '/notes/1', body: { name: 'b' } },
        { method: 'DELETE', path: `/cars/${id}` },
      ],
    })
    expect([batch.status, batch.json]).toMatchObject([409, { errors: [{ ...KEPT, step: 1 }] }])
    expect([await effects(), await cars.count()]).toEqual([0, 1])
    expect((await notes.list().toArray()).map(each => each.name)).toEqual(['free', 'a', 'free'])
  })

  test('a batch, a dry run and hooks in the transaction: the effect is that of one deletion', async () => {
    const { request, fill, effects, marks, ran } = await serve(MARKING, true)
    await fill(['a', 'b', 'c'])
    const remove = (id: number, headers = {}) =>
      request(`/notes/${id}`, { method: 'DELETE', headers })
    expect((await remove(1, { prefer: 'tx=rollback' })).status).toBe(200)
    expect([await effects(), await marks()]).toEqual([0, 0])
    ran.length = 0
    expect((await remove(1)).status).toBe(200)
    expect([await effects(), await marks(), ran]).toEqual([1, 1, ['deleted']])
    expect((await remove(1)).status).toBe(409)
    const json = [2, 3].map(id => ({ method: 'DELETE', path: `/notes/${id}` }))
    expect((await request('/batch', { method: 'POST', json })).status).toBe(200)
    expect([await effects(), await marks(), ran.length]).toEqual([3, 3, 3])
  })

  test.each([
    ['marks it once', 409],
    ['hides it', 404],
  ] as const)('of 100 deletions at once one succeeds, whose trigger %s', async (how, lost) => {
    const { owner, table, say, effects, request, fill, ran } = await serve(MARKING)
    await fill(['a'])
    await say('create view TABLE_view as select id, name, car_id from TABLE where gone = 0')
    if (name === 'SQLite')
      await say(
        'create trigger TABLE_hide instead of delete on TABLE_view begin delete from TABLE where id = old.id; end',
      )
    const hidden = defineCollection({
      name: 'hidden',
      schema: z.object({ name: z.string() }),
      store: sqlStore({ db: owner, table: `${table}_view`, version: false }),
      id: 'integer',
      timestamps: false,
      hooks: { after: { delete: () => void ran.push('deleted') } },
    })
    const view = await openHandler('fetch', defineApi({ collections: { hidden } }))
    const remove = () =>
      how === 'hides it'
        ? view.request('/hidden/1', { method: 'DELETE' })
        : request('/notes/1', { method: 'DELETE' })
    const answers = await Promise.all(Array.from({ length: 100 }, remove))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(99).fill(lost)])
    expect([await effects(), ran]).toEqual([1, ['deleted']])
  })

  test('a chosen id that is taken is no new item, where a trigger skips it', async () => {
    const skip = instead('insert', 'TABLE', '')[name].map(each =>
      name === 'SQLite'
        ? each.replace('begin', 'when exists (select 1 from TABLE where id = new.id) begin')
        : each.replace(
            'begin',
            'begin if not exists (select 1 from TABLE where id = new.id) then return new; end if;',
          ),
    )
    const { owner, table } = await makeKept(name, [
      'create table TABLE (id text primary key, name text not null)',
      ...skip,
    ])
    const named = defineCollection({
      name: 'named',
      schema: z.object({ id: z.string(), name: z.string() }),
      store: sqlStore({ db: owner, table, version: false }),
      timestamps: false,
    })
    const { request } = await openHandler('fetch', defineApi({ collections: { named } }))
    const post = (text: string) =>
      request('/named', { method: 'POST', json: { id: 'a', name: text } })
    expect((await post('first')).status).toBe(201)
    const taken = await post('second')
    expect([taken.status, taken.json]).toMatchObject([409, { errors: [{ type: 'not_unique' }] }])
  })

  test.each([
    ['hooks after it', false],
    ['hooks in its transaction', true],
  ])('a trigger that is newer than the store: each write ends, with %s', async (_, transaction) => {
    const { owner, table, say, effects } = await makeKept(name, [EFFECTS])
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ name: z.string() }),
      store: sqlStore({ db: owner, table, create: true }),
      id: 'integer',
      hooks: { transaction, before: { delete: () => undefined, patch: () => undefined } },
    })
    const api = defineApi({ collections: { cars } })
    const all = api.collection(cars)
    await all.create([{ name: 'a' }, { name: 'b' }])
    for (const event of ['insert', 'update', 'delete']) {
      const made = instead(event, 'TABLE', `insert into TABLE_effects values (1, '${event}');`)
      for (const each of made[name]) await say(each.replaceAll('TABLE_rule', `TABLE_${event}`))
    }
    const { request } = await openHandler('fetch', api)
    for (const [method, path, json] of [
      ['DELETE', '/cars/1', undefined],
      ['PATCH', '/cars/1', { name: 'x' }],
      ['POST', '/cars', { name: 'x' }],
    ] as const) {
      const before = await effects()
      const kept = await request(path, { method, json })
      expect([kept.status, kept.json]).toMatchObject([409, { errors: [KEPT] }])
      expect((await effects()) - before).toBeLessThanOrEqual(2)
    }
    expect(await all.count()).toBe(2)
  })

  test('a trigger that is newer than the store: a deletion with others ends within a transaction', async () => {
    const { owner, table, say } = await makeKept(name, [])
    const store = (of: string) => sqlStore({ db: owner, table: `${table}_${of}`, create: true })
    const cars = defineCollection({
      name: 'cars',
      schema: z.object({ name: z.string() }),
      store: store('cars'),
    })
    const [parts, notes] = (['parts', 'notes'] as const).map(each =>
      defineCollection({
        name: each,
        schema: z.object({ car_id: z.string() }),
        store: store(each),
        references: { car_id: { collection: 'cars', onDelete: 'cascade' } },
      }),
    )
    const api = defineApi({ collections: [cars, parts, notes].flatMap(each => each ?? []) })
    const [car] = await api.collection(cars).create([{ name: 'a' }])
    const { id = '' } = car ?? {}
    for (const each of [parts, notes]) if (each) await api.collection(each).create({ car_id: id })
    for (const each of instead('delete', 'TABLE_notes', '')[name]) await say(each)
    const deletion = api.transaction(tx => tx.collection(cars).delete(id))
    await expect(deletion).rejects.toThrow(KeptError)
    for (const each of [cars, parts, notes])
      if (each) expect(await api.collection(each).count()).toBe(1)
  })
})
