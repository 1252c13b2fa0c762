// The trash of a collection (docs/collections.md, "Trash"): what is deleted is marked, and comes back whole.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../src/client/index.ts'
import {
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  sweepBlobs,
} from '../src/index.ts'
import { runs } from './random.ts'
import { scopedScheme } from './scoped-scheme.ts'
import { usePostgres } from './stores/postgres.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'
import { marks, openGarage, trash } from './trash-garage.ts'
import { askTrash } from './trash-model.ts'
import { defineUntyped } from './untyped.ts'

usePostgres()

const ADMIN = 'Test ann admin'

describe.each(Object.entries(TRANSACTIONAL))('on %s', (_name, open) => {
  it('DELETE marks: nothing but the trash has the item, and restore brings it back', async () => {
    const { send, ids, events, api, cars } = openGarage(await open())
    await send('POST', '/cars', [{ plate: 'A' }, { plate: 'B' }])
    const deleted = await send('DELETE', '/cars/1')
    expect(deleted).toMatchObject({
      status: 200,
      json: { plate: 'A', deleted_at: expect.any(String) },
    })
    expect(await ids('/cars')).toEqual([2])
    expect((await send('GET', '/cars/count')).json).toEqual({ count: 1 })
    for (const method of ['GET', 'DELETE']) expect((await send(method, '/cars/1')).status).toBe(404)
    expect((await send('PATCH', '/cars/1', { plate: 'C' })).status).toBe(404)
    expect(await send('PUT', '/cars/1', { plate: 'C' })).toMatchObject({
      status: 409,
      type: 'in_trash',
    })
    expect(await send('POST', '/parts', { car_id: 1, name: 'x' })).toMatchObject({
      status: 400,
      type: 'unknown_reference',
    })
    expect(await ids('/cars/trash')).toEqual([1])
    expect((await send('GET', '/cars/trash/count?plate=A')).json).toEqual({ count: 1 })
    const inTrash = await send('GET', '/cars/trash/1')
    expect(inTrash.json).toEqual(deleted.json)
    const tag = inTrash.headers.get('etag') ?? ''
    expect((await send('POST', '/cars/1/restore', undefined, { 'if-match': '"x"' })).status).toBe(
      412,
    )
    expect((await send('POST', '/cars/2/restore')).status).toBe(404)
    const restored = await send('POST', '/cars/1/restore', undefined, { 'if-match': tag })
    expect(restored).toMatchObject({ status: 200, json: { id: 1, plate: 'A' } })
    expect(restored.json.deleted_at).toBeUndefined()
    expect((await send('POST', '/cars/1/restore')).status).toBe(404)
    expect(await ids('/cars')).toEqual([1, 2])
    expect(events).toEqual(['before delete', 'after delete', 'before restore', 'after restore'])
    // For good, without another hook.
    await send('DELETE', '/cars/1')
    expect((await send('DELETE', '/cars/trash/1')).status).toBe(200)
    expect(await ids('/cars/trash')).toEqual([])
    expect(events.length).toBe(6)
    // By a key once; in a batch; in process.
    await api.collection(cars).delete(2)
    const key = { 'idempotency-key': 'k' }
    const both = [
      await send('POST', '/cars/2/restore', undefined, key),
      await send('POST', '/cars/2/restore', undefined, key),
    ]
    expect(both.map(each => [each.status, each.headers.get('location')])).toEqual([
      [303, 'http://test/cars/2'],
      [303, 'http://test/cars/2'],
    ])
    const steps = [
      { method: 'DELETE', path: '/cars/2' },
      { method: 'POST', path: '/cars/2/restore' },
    ]
    expect(
      (await send('POST', '/batch', steps)).json.map((each: { status: number }) => each.status),
    ).toEqual([200, 200])
    await api.collection(cars).deleteMany({ plate: 'B' }, { maxAffected: 5 })
    expect(
      (await api.collection(cars).trash.list({ plate: 'B' }).toArray()).map(({ id }) => id),
    ).toEqual([2])
    expect(await api.collection(cars).trash.restore(2)).toMatchObject({ id: 2, plate: 'B' })
  })

  it('a cascade and its restore are whole', async () => {
    const { send, ids } = openGarage(await open())
    await send('POST', '/cars', [{ plate: 'A' }, { plate: 'B' }])
    await send('POST', '/parts', [
      { car_id: 1, name: 'door', serial: 's' },
      { car_id: 1, name: 'seat' },
      { car_id: 2, name: 'door' },
    ])
    await send('DELETE', '/parts/2')
    await send('DELETE', '/cars/1')
    expect(await ids('/parts')).toEqual([3])
    expect(await ids('/parts/trash')).toEqual([1, 2])
    // A part must not come back to a car that is in the trash.
    expect(await send('POST', '/parts/1/restore')).toMatchObject({
      status: 409,
      type: 'in_trash',
      field: 'car_id',
    })
    // What is taken by now, of the car or of a part, restores nothing.
    const { id } = (await send('POST', '/cars', { plate: 'A' })).json
    expect(await send('POST', '/cars/1/restore')).toMatchObject({
      status: 409,
      type: 'not_unique',
      field: 'plate',
    })
    await send('DELETE', `/cars/${id}`)
    const taken = (await send('POST', '/parts', { car_id: 2, name: 'x', serial: 's' })).json
    expect((await send('POST', '/cars/1/restore')).status).toBe(409)
    expect(await ids('/cars')).toEqual([2])
    await send('DELETE', `/parts/${taken.id}`)
    expect((await send('POST', '/cars/1/restore')).status).toBe(303)
    expect(await ids('/parts')).toEqual([1, 3])
    expect(await ids('/parts/trash')).toEqual([2, taken.id])
    // What is deleted for good takes all with it, the part that was deleted before too.
    await send('DELETE', '/cars/1')
    expect((await send('DELETE', '/cars/trash/1')).status).toBe(200)
    expect(await ids('/parts/trash')).toEqual([taken.id])
  })

  it('of 16 who create or restore the same value at once one wins', async () => {
    const { send, ids } = openGarage(await open())
    for (let at = 1; at <= 8; at++) {
      await send('POST', '/cars', { plate: 'A' })
      await send('DELETE', `/cars/${at}`)
    }
    const all = Array.from({ length: 16 }, (_, at) =>
      at < 8 ? send('POST', `/cars/${at + 1}/restore`) : send('POST', '/cars', { plate: 'A' }),
    )
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    expect(statuses.filter(status => status < 400).length).toBe(1)
    expect(statuses.filter(status => status === 409).length).toBe(15)
    expect((await ids('/cars')).length).toBe(1)
  })

  it('a child never refers to a marked parent, whoever is first', async () => {
    const { send, ids } = openGarage(await open())
    for (let round = 1; round <= 5; round++) {
      await send('POST', '/cars', { plate: `p${round}` })
      const body = { car_id: round, name: 'late' }
      await Promise.all([
        send('DELETE', `/cars/${round}`),
        ...Array.from({ length: 4 }, () => send('POST', '/parts', body)),
      ])
    }
    expect(await ids('/cars')).toEqual([])
    expect(await ids('/parts')).toEqual([])
  })

  it('row policies and the rule hold', async () => {
    const { send } = openGarage(await open(), { secured: true })
    const as = (authorization: string) => ({ authorization })
    await send('POST', '/cars', { plate: 'A' }, as(ADMIN))
    await send('DELETE', '/cars/1', undefined, as('Test ann'))
    for (const [method, path] of [
      ['GET', '/cars/trash'],
      ['GET', '/cars/trash/1'],
      ['DELETE', '/cars/trash/1'],
      ['POST', '/cars/1/restore'],
    ] as const) {
      expect((await send(method, path)).status).toBe(401)
      expect((await send(method, path, undefined, as('Test ann'))).status).toBe(403)
    }
    const put = (who: string) => send('PUT', '/cars/1', { plate: 'C' }, as(who))
    expect((await put('Test ann')).status).toBe(404)
    expect((await put(ADMIN)).status).toBe(409)
    // Of another owner it is not there.
    const bob = as('Test bob admin')
    expect((await send('GET', '/cars/trash', undefined, bob)).json).toEqual([])
    expect((await send('POST', '/cars/1/restore', undefined, bob)).status).toBe(404)
    expect((await send('DELETE', '/cars/trash/1', undefined, bob)).status).toBe(404)
    expect((await send('POST', '/cars/1/restore', undefined, as(ADMIN))).status).toBe(303)
  })

  it('no list has what is in the other one, whichever way it is read', async () => {
    const { send, api, cars } = openGarage(await open())
    await send('POST', '/cars', [{ plate: 'LIVE' }, { plate: 'GONE' }])
    await send('DELETE', '/cars/2')
    const query = { 'content-type': 'application/x-www-form-urlencoded' }
    const ways = [
      ['GET', ''],
      ['GET', '?sort=-plate&limit=1'],
      ['GET', '?since_id=0'],
      ['GET', '?include=parts'],
      ['GET', '.csv'],
      ['GET', '.ndjson'],
      ['GET', '', { accept: 'text/html' }],
      ['QUERY', '', query],
    ] as const
    for (const [method, more, headers] of ways) {
      for (const [path, has, lacks] of [
        ['/cars', 'LIVE', 'GONE'],
        ['/cars/trash', 'GONE', 'LIVE'],
      ] as const) {
        const { status, json } = await send(
          method,
          path + more,
          method === 'QUERY' ? 'plate[prefix]=' : undefined,
          headers ?? {},
        )
        const text = typeof json === 'string' ? json : JSON.stringify(json)
        expect([status, more, text.includes(has), text.includes(lacks)]).toEqual([
          200,
          more,
          true,
          false,
        ])
      }
    }
    const own = api.collection(cars)
    for (const [part, plate] of [
      [own, 'LIVE'],
      [own.trash, 'GONE'],
    ] as const) {
      expect((await part.list().toArray()).map(each => each.plate)).toEqual([plate])
      expect((await part.list().page()).items.map(each => each.plate)).toEqual([plate])
      expect(await part.count({ plate })).toBe(1)
    }
  })

  it('a client cannot set the mark, and a program is told that it does not', async () => {
    const { send, ids, api, cars } = openGarage(await open())
    const deleted_at = '2026-01-01T00:00:00.000Z'
    await send('POST', '/cars', { plate: 'A', deleted_at, deletion_id: 'x' })
    await send('PUT', '/cars/1', { plate: 'B', deleted_at, deletion_id: 'x' })
    await send('PUT', '/cars?plate=C', { deleted_at })
    const patched = await send('PATCH', '/cars/1', { deleted_at })
    expect(patched).toMatchObject({ status: 400, type: 'read_only_field', field: 'deleted_at' })
    expect(await ids('/cars')).toEqual([1, 2])
    const own = api.collection(cars)
    const calls: (() => Promise<unknown>)[] = [
      () => own.create({ plate: 'X', deleted_at }),
      () => own.create([{ plate: 'X' }, { plate: 'Y', deleted_at }]),
      () => own.replace(1, { plate: 'B', deleted_at }),
      () => own.patch(1, { deleted_at }),
      () => own.upsert({ plate: 'C' }, { plate: 'C', deleted_at }),
      () => own.patchMany({ plate: 'C' }, { deleted_at }),
      () => api.transaction(async tx => tx.collection(cars).patch(1, { deleted_at })),
    ]
    for (const call of calls)
      await expect(call()).rejects.toThrow(/^cars: deleted_at is set by delete\(\)/)
    expect(await ids('/cars')).toEqual([1, 2])
    expect(await ids('/cars/trash')).toEqual([])
  })

  it('a transaction, a batch and a dry run that end without it leave no mark', async () => {
    const { send, ids, events, api, cars } = openGarage(await open())
    await send('POST', '/cars', [{ plate: 'A' }, { plate: 'B' }])
    await send('POST', '/parts', { car_id: 1, name: 'door' })
    await send('DELETE', '/cars/2')
    events.length = 0
    const failed = api.transaction(async tx => {
      const own = tx.collection(cars)
      await own.delete(1)
      await own.trash.restore(2)
      expect([await own.count(), await own.trash.count()]).toEqual([1, 1])
      throw new Error('undone')
    })
    await expect(failed).rejects.toThrow('undone')
    expect(events).toEqual(['before delete', 'before restore'])
    const steps = [
      { method: 'DELETE', path: '/cars/1' },
      { method: 'POST', path: '/cars/2/restore' },
      { method: 'DELETE', path: '/cars/9' },
    ]
    expect((await send('POST', '/batch', steps)).status).toBe(404)
    const dry = { prefer: 'tx=rollback' }
    const tried = [
      await send('DELETE', '/cars/1', undefined, dry),
      await send('POST', '/cars/2/restore', undefined, dry),
      await send('DELETE', '/cars/trash/2', undefined, dry),
      await send('POST', '/batch', steps.slice(0, 2), dry),
    ]
    expect(tried.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect([await ids('/cars'), await ids('/cars/trash')]).toEqual([[1], [2]])
    expect([await ids('/parts'), await ids('/parts/trash')]).toEqual([[1], []])
    // One that goes on after a restore that failed has the rest.
    await api.transaction(async tx => {
      const own = tx.collection(cars)
      const { id } = await own.create({ plate: 'B' })
      await expect(own.trash.restore(2)).rejects.toMatchObject({ status: 409 })
      await own.delete(id)
      await own.trash.restore(2)
    })
    expect([await ids('/cars'), await ids('/cars/trash')]).toEqual([[1, 2], [3]])
  })

  it('a transaction that goes on after an error has no half of a deletion or of a restore', async () => {
    const { send, ids, api, cars, parts } = openGarage(await open())
    await send('POST', '/cars', [{ plate: 'A' }, { plate: 'B' }])
    await send('POST', '/parts', [
      { car_id: 1, name: 'door', serial: 's' },
      { car_id: 1, name: 'seat' },
    ])
    await send('DELETE', '/cars/1')
    await send('POST', '/parts', { car_id: 2, name: 'x', serial: 's' })
    // The car is restored when its part is refused: what goes on has nothing of it.
    const caught = api.transaction(async tx => {
      await tx.collection(cars).create({ plate: 'C' })
      await expect(tx.collection(cars).trash.restore(1)).rejects.toMatchObject({ status: 409 })
    })
    await expect(caught).rejects.toMatchObject({ status: 409 })
    // By an action, which is a part of the transaction.
    const calls = await api.transaction(async tx => {
      await tx.collection(parts).delete(3)
      await tx.collection(parts).swap({ out: 2, back: 1 })
      await expect(tx.collection(cars).delete(2)).rejects.toMatchObject({ status: 404 })
      await expect(tx.collection(cars).create({ plate: 'A' })).rejects.toMatchObject({
        status: 409,
      })
      return tx.collection(cars).list().toArray()
    })
    expect(calls.map(({ id }) => id)).toEqual([1])
    const undone = api.transaction(async tx => {
      await tx.collection(parts).swap({ out: 1, back: 2 })
      await tx
        .collection(parts)
        .swap({ out: 2, back: 99 })
        .catch(() => undefined)
    })
    await expect(undone).rejects.toMatchObject({ status: 404 })
    expect([await ids('/cars'), await ids('/cars/trash')]).toEqual([[1], [2]])
    expect([await ids('/parts'), await ids('/parts/trash')]).toEqual([[1, 2], [3]])
  })

  it('a PUT by a unique set creates anew, and a step has its id', async () => {
    const { send, ids } = openGarage(await open())
    const put = () => send('PUT', '/cars?plate=A', {}, { prefer: 'return=representation' })
    expect((await put()).status).toBe(201)
    await send('DELETE', '/cars/1')
    const all = await Promise.all(Array.from({ length: 8 }, put))
    expect(all.map(({ status }) => status).sort()).toEqual([...Array(7).fill(200), 201])
    expect(await ids('/cars')).toEqual([2])
    const steps = [
      { method: 'PUT', path: '/cars?plate=A', body: {}, as: 'c' },
      { method: 'POST', path: '/parts', body: { car_id: '{c}', name: 'door' } },
      { method: 'DELETE', path: '/cars/{c}' },
      { method: 'PUT', path: '/cars?plate=A', body: {}, as: 'd' },
      { method: 'POST', path: '/parts', body: { car_id: '{d}', name: 'door' } },
    ]
    const done = (await send('POST', '/batch', steps)).json
    expect(done.map((each: { status: number }) => each.status)).toEqual([200, 201, 200, 201, 201])
    expect([await ids('/parts'), await ids('/parts/trash')]).toEqual([[2], [1]])
  })

  it('is equal to a model over random requests of two owners, with upserts', async () => {
    const { statuses } = await askTrash(open, runs(300))
    for (const kind of ['restore 303', 'restore 404', 'upsert 303', 'merge 201'])
      expect(statuses[kind], kind).toBeGreaterThan(0)
  })
})

test('a live list is told that an item is gone, and that it is back', async () => {
  const { send, api, cars } = openGarage(() => memoryStore(), { live: true })
  await send('POST', '/cars', { plate: 'A' })
  const abort = new AbortController()
  const request = new Request('http://test/cars', {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  })
  const reader = (await api.fetch(request)).body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (pattern: RegExp) => {
    while (!pattern.test(text)) text += (await reader?.read())?.value ?? ''
    const told = text
    text = ''
    return told
  }
  await until(/event: ready/)
  // What is undone is not told.
  await send('DELETE', '/cars/1', undefined, { prefer: 'tx=rollback' })
  const failed = api.transaction(async tx => {
    await tx.collection(cars).delete(1)
    throw new Error('undone')
  })
  await expect(failed).rejects.toThrow('undone')
  await send('POST', '/cars', { plate: 'B' })
  expect(await until(/event: items\n(?:id: .*\n)?data: \[\{"id":2,/)).not.toMatch(/removed/)
  await send('DELETE', '/cars/1')
  await until(/event: removed\n(?:id: .*\n)?data: \[1\]/)
  await send('POST', '/cars/1/restore')
  await until(/event: items\n(?:id: .*\n)?data: \[\{"id":1,/)
  abort.abort()
})

test('the client, the pages and the document have it', async () => {
  const { send, api } = openGarage(() => memoryStore())
  const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init))
  const client = createClient<typeof api>('http://test', { fetch })
  const car = await client.cars.create({ plate: 'A' })
  await client.cars.delete(car)
  const [marked] = await client.cars.trash.list({ plate: 'A' }).toArray()
  expect(await client.cars.trash.count()).toBe(1)
  const page = await send('GET', '/cars/trash', undefined, { accept: 'text/html' })
  expect(page.json).toMatch(/href="\/cars\/trash\/1"/)
  expect((await send('GET', '/cars', undefined, { accept: 'text/html' })).json).toMatch(
    /href="\/cars\/trash"/,
  )
  const item = await send('GET', '/cars/trash/1', undefined, { accept: 'text/html' })
  expect(item.json).toMatch(/action="\/cars\/1\/restore"/)
  const document = (await send('GET', '/openapi.json')).json
  expect(
    Object.keys(document.paths)
      .filter(path => /trash|restore/.test(path))
      .sort(),
  ).toEqual([
    '/cars/trash',
    '/cars/trash/count',
    '/cars/trash/{id}',
    '/cars/{id}/restore',
    '/parts/trash',
    '/parts/trash/count',
    '/parts/trash/{id}',
    '/parts/{id}/restore',
  ])
  expect(document.paths['/cars/trash'].get.operationId).toBe('listCarsInTrash')
  expect(
    Object.keys(document.components.schemas).filter(name => /^Car\d|cars\./.test(name)),
  ).toEqual([])
  // @ts-expect-error the server sets it
  await client.cars.create({ plate: 'B', deletion_id: 'x' })
  if (!marked) throw new Error('Nothing is in the trash')
  expect(await client.cars.trash.restore(marked)).toMatchObject({ id: 1, plate: 'A' })
  await client.cars.delete(car.id)
  await client.cars.trash.delete(car.id)
  expect(await client.cars.trash.count()).toBe(0)
})

test('a 409 says of items in the trash that they are there, to who may see it', async () => {
  const owners = defineCollection({
    name: 'owners',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ owner_id: z.int(), deleted_at: z.iso.datetime().optional() }),
    store: memoryStore(),
    id: 'integer',
    references: { owner_id: 'owners' },
    trash: 'deleted_at',
    access: { trash: ['admin'] },
  })
  const api = defineApi({ collections: { owners, cars }, schemes: [scopedScheme] })
  const messageFor = async (authorization: string) => {
    const init = { method: 'DELETE', headers: { authorization } }
    const response = await api.fetch(new Request('http://test/owners/1', init))
    return response.status === 409 && Object(await response.json()).errors[0].message
  }
  const [all, own] = [api.asSystem().collection(owners), api.asSystem().collection(cars)]
  await all.create({ name: 'ann' })
  const { id } = await own.create({ owner_id: 1 })
  const plain = 'This owner cannot be deleted: cars refer to it. Delete or change those first.'
  expect(await messageFor(ADMIN)).toBe(plain)
  await own.delete(id)
  expect(await messageFor('Test ann')).toBe(plain)
  const said = await messageFor(ADMIN)
  expect(said).toBe(
    'This owner cannot be deleted: cars in the trash refer to it. Delete those for good first.',
  )
  await own.trash.delete(id)
  expect(await messageFor(ADMIN)).toBe(false)
})

test('files of what is in the trash stay', async () => {
  const blobs = memoryBlobs()
  const pictures = defineCollection({
    name: 'pictures',
    schema: z.object({ photo: blob(), deleted_at: z.iso.datetime().nullable().default(null) }),
    store: memoryStore(),
    blobs,
    trash: 'deleted_at',
    timestamps: false,
  })
  const api = defineApi({ collections: { pictures } })
  const { id } = await api.collection(pictures).create({ photo: new Blob(['bytes']) })
  await api.collection(pictures).delete(id)
  expect(await sweepBlobs(blobs, [pictures], { olderThan: -1000 })).toBe(0)
  const content = await api.fetch(new Request(`http://test/pictures/trash/${id}/photo`))
  expect(await content.text()).toBe('bytes')
  await api.collection(pictures).trash.delete(id)
  let left = 0
  for await (const _ of blobs.keys()) left++
  expect(left).toBe(0)
})

describe('the declaration', () => {
  const schema = z.object({ name: z.string(), both: z.iso.datetime().nullish(), ...marks })
  const base = { name: 'cars', schema, store: memoryStore() }
  it.each([
    [
      { trash: 'deletedat' },
      /trash must name a date-time .*, not "deletedat"; did you mean "deleted_at"/,
    ],
    [{ trash: 'name' }, /trash must name a date-time .*deleted_at|not "name"/],
    [{ trash: 'both' }, /either optional or null, not "both"/],
    [{ trash: { date: 'deleted_at', deletion: 'deleted_at' } }, /trash must name a string/],
    [
      { trash, fields: { deleted_at: 'writeOnly' } },
      /"deleted_at" is read-only as a property of trash/,
    ],
    [
      { trash, actions: { restore: { on: 'item', run: () => undefined } } },
      /may not be called "restore"/,
    ],
    [{ trash, lease: 'deleted_at' }, /lease cannot be combined with trash/],
  ] as const)('refuses %j', (options, message) => {
    expect(() => defineUntyped({ ...base, ...(options as object) })).toThrow(message)
  })

  it('refuses a cascade that could not be restored, and versions that differ', () => {
    const cars = defineUntyped({ ...base, store: memoryStore(), trash: 'deleted_at' })
    const parts = defineUntyped({
      name: 'parts',
      schema: z.object({ car_id: z.string() }),
      store: memoryStore(),
      parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
    })
    expect(() => defineApi({ collections: { cars, parts } })).toThrow(
      /parts: "car_id" has onDelete: 'cascade', and cars has a trash.*Give parts trash/,
    )
    const links = defineUntyped({
      name: 'links',
      schema: z.object({ car_id: z.string(), tag_id: z.string() }),
      store: memoryStore(),
      id: ['car_id', 'tag_id'],
      relation: { car_id: { collection: 'cars', onDelete: 'cascade' }, tag_id: 'tags' },
    })
    const tags = defineUntyped({ ...base, name: 'tags', store: memoryStore() })
    expect(() => defineApi({ collections: { cars, tags, links } })).toThrow(
      /cars has a trash: a link table without an id cannot have one. Give links an id/,
    )
    const store = memoryStore()
    for (const trashes of [
      [undefined, 'deleted_at'],
      ['deleted_at', trash],
    ]) {
      const [v1, v2] = trashes.map(each => defineUntyped({ ...base, store, trash: each }))
      expect(() =>
        defineApi({
          versions: [
            { version: 1, collections: { cars: v1 } },
            { version: 2, collections: { cars: v2 } },
          ],
        } as never),
      ).toThrow(/versions of one table need the same trash/)
    }
  })
})
