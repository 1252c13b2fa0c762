// Binary properties in their three forms (specification, "Naming conventions for fields" and "photos"),
// and downloads, through both handlers.
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  sweepBlobs,
} from '../../src/index.ts'
import { HANDLER_NAMES, type HandlerName, type OpenHandler, openHandler } from '../handlers.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const BASE64 = PNG.toString('base64')
const OTHER = Buffer.concat([PNG, PNG]).toString('base64')

const Photo = z.object({
  comment: z.string(),
  photo: blob({ accept: ['image/*'] }),
  thumb: blob({ inlineBelow: 100 }).nullable().optional(),
})

function photosApi(blobs: BlobStore = memoryBlobs()) {
  const store = memoryStore()
  const strip = {
    on: 'item',
    run: async ({ update }: { update(changes: { thumb: null }): Promise<unknown> }) => {
      await update({ thumb: null })
    },
  } as const
  const photos = { name: 'photos', schema: Photo, store, blobs, actions: { strip } } as const
  const flat = defineCollection(photos)
  const object = defineCollection({ ...photos, binary: 'object' })
  const api = defineApi({
    versions: [
      { version: 1, collections: [flat] },
      { version: 2, collections: [object] },
    ],
    limits: { upload: 1000 },
  })
  return { api, flat, blobs }
}

async function keysOf(blobs: BlobStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of blobs.keys()) keys.push(key)
  return keys
}

/** A form as a browser sends it. */
async function encoded(form: FormData) {
  const request = new Response(form)
  return {
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
    body: new Uint8Array(await request.arrayBuffer()),
  }
}

/** What an answer's body holds, as far as these tests look. */
interface Shown {
  id: string
  comment: string
  photo_url: string
  thumb_url: string | null
  thumb_data: string
  photo: { url: string; updated_at: string; data?: string }
}

const open: OpenHandler[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(handler => handler.close()))
})

describe.each(HANDLER_NAMES)('binary properties through %s', (name: HandlerName) => {
  async function start(blobs?: BlobStore) {
    const made = photosApi(blobs)
    const handler = await openHandler(name, made.api)
    open.push(handler)
    const create = async (json: object = { comment: 'A', photo_data: BASE64 }) => {
      const { status, json: shown } = await handler.request('/v1/photos', { method: 'POST', json })
      expect(status).toBe(201)
      return shown as Shown
    }
    const pathOf = (url: string) => url.slice(handler.base.length)
    return { ...made, handler, create, pathOf }
  }

  it('flat form: photo_url serves the bytes', async () => {
    const { handler, create, pathOf } = await start()
    const made = await create()
    expect(made).toMatchObject({
      comment: 'A',
      photo_url: `${handler.base}/v1/photos/${made.id}/photo`,
    })
    expect(made).not.toHaveProperty('photo')
    const answer = await handler.request(pathOf(made.photo_url))
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline',
      'content-security-policy': "sandbox; default-src 'none'",
      etag: expect.stringMatching(/^"[\w-]{24}"$/),
    })
  })

  it('a create refuses an address beside a content', async () => {
    const { handler, create } = await start()
    const { photo_url } = await create()
    const both = { comment: 'B', photo_url, photo_data: BASE64 }
    const { status, text } = await handler.request('/v1/photos', { method: 'POST', json: both })
    expect(status).toBe(400)
    expect(text).toContain('photo is given in photo_data and photo_url. Send one of them.')
  })

  it.each([
    ['v1', 'photo_data', 'photo_url'],
    ['v2', 'photo.data', 'photo.url'],
  ])(
    'Base64 in the wrong place: the message names the right ones: %s',
    async (version, data, url) => {
      const { handler, create } = await start()
      const { id } = await create()
      const { status, json } = await handler.request(`/${version}/photos/${id}`, {
        method: 'PATCH',
        json: { photo: BASE64 },
      })
      expect([status, json]).toMatchObject([
        400,
        {
          errors: [
            {
              message: `photo must be a file of a multipart body, Base64 in ${data}, or its own address in ${url}`,
              field: 'photo',
              type: 'invalid_type',
            },
          ],
        },
      ])
    },
  )

  it('object form: url and updated_at, of the same item in another version', async () => {
    const { handler, create } = await start()
    const { id } = await create()
    const { json } = await handler.request(`/v2/photos/${id}`)
    expect(json).toMatchObject({
      photo: {
        url: `${handler.base}/v2/photos/${id}/photo`,
        updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    })
    expect(Object.keys((json as Shown).photo)).toEqual(['url', 'updated_at'])
  })

  it('inline form: where fields asks for it, and below the declared size', async () => {
    const { handler, create } = await start()
    const { id, thumb_data } = await create({
      comment: 'A',
      photo_data: BASE64,
      thumb_data: BASE64,
    })
    expect(thumb_data).toBe(BASE64)
    const inlined = await handler.request(`/v1/photos/${id}?fields=photo_data`)
    expect(inlined.json).toEqual({ photo_data: BASE64 })
    const list = await handler.request('/v2/photos?fields=photo.data,id')
    expect(list.json).toEqual([{ id, photo: { data: BASE64 } }])
  })

  it.each([
    ['the address it has', (made: Shown) => ({ photo_url: made.photo_url }), 303],
    ['another address', () => ({ photo_url: 'http://127.0.0.1:1/secret' }), 400],
    ['new Base64', () => ({ photo_data: BASE64 }), 303],
    ['a data URL', () => ({ photo_data: `data:image/png;base64,${BASE64}` }), 303],
    ['what is no Base64', () => ({ photo_data: '%%%' }), 400],
    [
      'a type that is not taken',
      () => ({ photo_data: Buffer.from('<svg>').toString('base64') }),
      400,
    ],
    [
      'as much as the limit',
      () => ({ photo_data: Buffer.alloc(1000, PNG).toString('base64') }),
      303,
    ],
    [
      'more than the limit',
      () => ({ photo_data: Buffer.alloc(1001, PNG).toString('base64') }),
      413,
    ],
    ['null where it is required', () => ({ photo_url: null }), 400],
    ['null where it may be', () => ({ thumb_url: null }), 303],
    [
      'a record of its own making',
      () => ({
        photo: { key: 'x', type: 'text/html', size: 1, updated_at: '2026-01-01T00:00:00Z' },
      }),
      400,
    ],
    ['a number', () => ({ photo: 5 }), 400],
  ])('PATCH with %s', async (_what, changes, status) => {
    const { handler, create, blobs } = await start()
    const made = await create()
    const answer = await handler.request(`/v1/photos/${made.id}`, {
      method: 'PATCH',
      json: changes(made),
    })
    expect(answer.status).toBe(status)
    expect(await keysOf(blobs)).toHaveLength(1)
  })

  it.each<[string, string, object, unknown]>([
    ['v1', 'thumb_url', { thumb_url: null }, undefined],
    ['v1', 'thumb_url', { comment: 'B' }, expect.stringContaining('/thumb')],
    ['v1', 'thumb_url', { thumb_data: BASE64 }, expect.stringContaining('/thumb')],
    ['v2', 'thumb', { thumb: null }, undefined],
    ['v2', 'thumb', { comment: 'B' }, expect.objectContaining({ data: BASE64 })],
    ['v2', 'thumb', { thumb: { data: BASE64 } }, expect.objectContaining({ data: BASE64 })],
  ])(
    '%s: %s after PATCH %j, of one that is given inline',
    async (version, name, changes, after) => {
      const { handler, create, blobs } = await start()
      const { id } = await create({ comment: 'A', photo_data: BASE64, thumb_data: BASE64 })
      const before = await keysOf(blobs)
      const path = `/${version}/photos/${id}`
      expect((await handler.request(path, { method: 'PATCH', json: changes })).status).toBe(303)
      expect(new Map(Object.entries(Object((await handler.request(path)).json))).get(name)).toEqual(
        after,
      )
      // What stays the same is not kept a second time.
      expect(before).toEqual(expect.arrayContaining(await keysOf(blobs)))
    },
  )

  it.each(
    ['v1', 'v2'].flatMap(version => ['', '_url', '_data'].map(form => [version, form] as const)),
  )('%s: null in PATCH removes, whichever form it is said in: thumb%s', async (version, form) => {
    const { handler, create, blobs } = await start()
    for (const data of [BASE64, OTHER]) {
      const { id } = await create({ comment: 'A', photo_data: BASE64, thumb_data: data })
      const path = `/${version}/photos/${id}`
      const patch = (json: object) => handler.request(path, { method: 'PATCH', json })
      const kept = await keysOf(blobs)
      expect((await patch({ [`photo${form}`]: null })).json).toMatchObject({
        errors: [{ field: 'photo', type: 'required' }],
      })
      expect(await patch({ [`thumb${form}`]: null })).toMatchObject({ status: 303 })
      expect((await handler.request(path)).text).not.toContain('thumb')
      expect(await keysOf(blobs)).toHaveLength(kept.length - 1)
    }
  })

  it('null in update() and in a form with PATCH removes the content', async () => {
    const { handler, create } = await start()
    for (const version of ['v1', 'v2']) {
      const changes = [
        (path: string) => handler.request(`${path}/strip`, { method: 'POST' }),
        (path: string) => {
          const headers = { 'content-type': 'application/x-www-form-urlencoded' }
          const body = new TextEncoder().encode('_method=PATCH&thumb=')
          return handler.request(path, { method: 'POST', headers, body })
        },
      ]
      for (const change of changes) {
        const { id } = await create({ comment: 'A', photo_data: BASE64, thumb_data: BASE64 })
        const path = `/${version}/photos/${id}`
        expect((await change(path)).status).toBe(303)
        expect((await handler.request(path)).text).not.toContain('/thumb')
      }
    }
  })

  const EVIL = 'http://127.0.0.1:1/secret'
  it.each<[string, 'v1' | 'v2', object, (made: Shown) => object, number]>([
    ['two contents', 'v1', {}, () => ({ photo_data: BASE64, photo: { data: BASE64 } }), 400],
    [
      'a content and a foreign address',
      'v1',
      {},
      () => ({ photo_data: BASE64, photo_url: EVIL }),
      400,
    ],
    ['the same in one object', 'v2', {}, () => ({ photo: { data: BASE64, url: EVIL } }), 400],
    ['a content and no content', 'v1', {}, () => ({ thumb: null, thumb_data: BASE64 }), 303],
    ['a content and nonsense', 'v1', {}, () => ({ thumb: 5, thumb_data: BASE64 }), 400],
    [
      'a content, and null for one that is there',
      'v1',
      { thumb_data: BASE64 },
      () => ({ thumb_url: null, thumb_data: OTHER }),
      303,
    ],
    [
      'null, and the content that GET gave',
      'v1',
      { thumb_data: BASE64 },
      () => ({ thumb_url: null, thumb_data: BASE64 }),
      303,
    ],
    [
      'a content, and the null that GET gave',
      'v1',
      {},
      made => ({ ...made, thumb_data: BASE64 }),
      303,
    ],
    ['the same as an object', 'v2', {}, made => ({ ...made, thumb_data: BASE64 }), 303],
    ['a content and its own address', 'v1', {}, made => ({ ...made, photo_data: BASE64 }), 303],
    [
      'the same as an object',
      'v2',
      {},
      ({ photo }) => ({ photo: { ...photo, data: BASE64 } }),
      303,
    ],
    [
      'its own address twice',
      'v1',
      {},
      ({ photo_url: url }) => ({ photo_url: url, photo: { url } }),
      303,
    ],
    ['null twice', 'v1', { thumb_data: BASE64 }, () => ({ thumb: null, thumb_url: null }), 303],
  ])('%s of one property by PATCH of %s', async (_what, version, more, changes, status) => {
    const { handler, create, blobs } = await start()
    const { id } = await create({ comment: 'A', photo_data: BASE64, ...more })
    const path = `/${version}/photos/${id}`
    const before = await handler.request(path)
    const keys = await keysOf(blobs)
    const json = changes(before.json as Shown)
    const answer = await handler.request(path, { method: 'PATCH', json })
    expect(answer.status).toBe(status)
    if (status === 303) return
    expect(answer.json).toMatchObject({ errors: [{ type: 'conflicting_keys' }] })
    expect((await handler.request(path)).text).toBe(before.text)
    expect(await keysOf(blobs)).toEqual(keys)
  })

  it.each<[string, string, object, number]>([
    ['two contents', 'v1', { photo_data: BASE64, photo: { data: BASE64 } }, 400],
    ['a content and an address', 'v1', { photo_data: BASE64, photo_url: EVIL }, 400],
    ['a content and a null', 'v1', { photo_data: BASE64, photo_url: null }, 201],
    ['a content and a null in its place', 'v2', { photo_data: BASE64, photo: null }, 201],
    ['contents of two properties', 'v1', { photo_data: BASE64, thumb_data: BASE64 }, 201],
  ])('%s of a new item of %s', async (_what, version, values, status) => {
    const { handler, blobs } = await start()
    const json = { comment: 'A', ...values }
    const answer = await handler.request(`/${version}/photos`, { method: 'POST', json })
    expect(answer.status).toBe(status)
    if (status === 201) return
    const message = expect.stringMatching(/^photo is given in photo_data and photo[._]/)
    expect(answer.json).toMatchObject({
      errors: [{ field: 'photo', type: 'conflicting_keys', message }],
    })
    expect(await keysOf(blobs)).toEqual([])
  })

  it('a file is accepted beside its own address, refused beside Base64', async () => {
    const { handler, create, blobs } = await start()
    const { id, photo_url, thumb_url } = await create({
      comment: 'A',
      photo_data: BASE64,
      thumb_data: BASE64,
    })
    const send = async (path: string, method: string, fields: Record<string, string>) => {
      const form = new FormData()
      for (const [name, text] of Object.entries(fields)) form.append(name, text)
      form.append('photo', new Blob([PNG]), 'a.png')
      const { headers, body } = await encoded(form)
      return (await handler.request(path, { method, headers, body })).status
    }
    // What the form of a page sends, and what a program sends that changes what it has read.
    const own = { comment: 'B', photo_url, thumb_url: String(thumb_url) }
    expect(await send(`/v1/photos/${id}?_method=PATCH`, 'POST', own)).toBe(303)
    expect(await send(`/v1/photos/${id}`, 'PUT', { ...own, thumb_data: BASE64 })).toBe(303)
    expect(await send(`/v2/photos/${id}`, 'PATCH', {})).toBe(303)
    const before = await keysOf(blobs)
    expect(before).toHaveLength(2)
    expect(await send(`/v1/photos/${id}`, 'PATCH', { photo_data: BASE64 })).toBe(400)
    expect(await send('/v1/photos', 'POST', { comment: 'C', photo_data: BASE64 })).toBe(400)
    expect(await keysOf(blobs)).toEqual(before)
  })

  it('in process a new content replaces the record beside it', async () => {
    const { api, flat } = await start()
    const calls = api.versions.v1.collection(flat)
    const { id, comment, photo } = await calls.create({ comment: 'A', photo: { data: BASE64 } })
    const ambiguous = { comment, photo, photo_data: OTHER }
    const changed = await calls.replace(id, ambiguous)
    expect(changed.photo).toMatchObject({ size: 2 * PNG.length })
    const both = { ...ambiguous, thumb: { data: OTHER, url: EVIL } }
    await expect(calls.replace(id, both)).rejects.toMatchObject({ status: 400 })
  })

  it('a PUT of what GET returned changes nothing, in either form', async () => {
    const { handler, create } = await start()
    const { id } = await create()
    for (const path of [`/v1/photos/${id}`, `/v2/photos/${id}`]) {
      const before = (await handler.request(path)).json as Shown
      const { status } = await handler.request(path, { method: 'PUT', json: before })
      expect(status).toBe(303)
      const after = (await handler.request(path)).json as Shown
      expect({ ...after, updated_at: '' }).toEqual({ ...before, updated_at: '' })
    }
  })

  it('PATCH {} writes nothing', async () => {
    const { handler, create } = await start()
    const { id } = await create()
    const before = await handler.request(`/v2/photos/${id}`)
    await handler.request(`/v2/photos/${id}`, { method: 'PATCH', json: {} })
    const after = await handler.request(`/v2/photos/${id}`)
    expect([after.text, after.headers.get('etag')]).toEqual([
      before.text,
      before.headers.get('etag'),
    ])
  })

  it('replaced and deleted contents are removed', async () => {
    const { handler, create, blobs } = await start()
    const { id } = await create()
    const [first] = await keysOf(blobs)
    await handler.request(`/v1/photos/${id}`, { method: 'PATCH', json: { photo_data: BASE64 } })
    const [second, ...more] = await keysOf(blobs)
    expect(second).not.toBe(first)
    expect(more).toEqual([])
    await handler.request(`/v1/photos/${id}`, { method: 'DELETE' })
    expect(await keysOf(blobs)).toEqual([])
  })

  it('a failed write leaves no content', async () => {
    const { handler, create, blobs } = await start()
    const { id } = await create()
    const attempts = [
      handler.request('/v1/photos', { method: 'POST', json: { photo_data: BASE64 } }),
      handler.request('/v1/photos', {
        method: 'POST',
        json: { comment: 'A', photo_data: BASE64, colour: 'red' },
      }),
      handler.request(`/v1/photos/${id}`, {
        method: 'PATCH',
        json: { photo_data: BASE64 },
        headers: { 'if-match': '"old"' },
      }),
      handler.request('/v1/photos/nobody', { method: 'PATCH', json: { photo_data: BASE64 } }),
    ]
    expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([400, 400, 412, 404])
    expect(await keysOf(blobs)).toHaveLength(1)
  })

  it('a repeated upload under one Idempotency-Key is stored once', async () => {
    const { handler, blobs } = await start()
    const init = {
      method: 'POST',
      json: { comment: 'A', photo_data: BASE64 },
      headers: { 'idempotency-key': 'k1' },
    }
    const first = await handler.request('/v1/photos', init)
    const second = await handler.request('/v1/photos', init)
    expect(second.status).toBe(201)
    expect(second.text).toBe(first.text)
    expect(await keysOf(blobs)).toHaveLength(1)
  })

  it('a file of a form under an Idempotency-Key is stored once, and another file is refused', async () => {
    const { handler, blobs, pathOf } = await start()
    const send = async (bytes: Buffer<ArrayBuffer>) => {
      const form = new FormData()
      form.set('comment', 'A')
      form.set('photo', new File([bytes], 'a.png'))
      const { headers, body } = await encoded(form)
      const init = { method: 'POST', headers: { ...headers, 'idempotency-key': 'k1' }, body }
      return handler.request('/v1/photos', init)
    }
    const first = await send(PNG)
    expect(first.status).toBe(201)
    const again = await send(PNG)
    expect([again.status, again.text]).toEqual([201, first.text])
    expect((await send(Buffer.concat([PNG, PNG]))).status).toBe(422)
    expect(await keysOf(blobs)).toHaveLength(1)
    const made = first.json as Shown
    const content = await handler.request(pathOf(made.photo_url))
    expect(content.headers.get('content-length')).toBe(String(PNG.length))
    expect(content.headers.get('content-disposition')).toContain('filename="a.png"')
  })

  const size = PNG.length
  it.each([
    ['bytes=0-3', 206, `bytes 0-3/${size}`, PNG.subarray(0, 4)],
    ['bytes=60-', 206, `bytes 60-${size - 1}/${size}`, PNG.subarray(60)],
    ['bytes=-5', 206, `bytes ${size - 5}-${size - 1}/${size}`, PNG.subarray(-5)],
    ['bytes=0-9999', 206, `bytes 0-${size - 1}/${size}`, PNG],
    [`bytes=${size}-`, 416, `bytes */${size}`, undefined],
    ['bytes=5-1', 200, null, PNG],
    ['photos=0-3', 200, null, PNG],
    ['bytes=0-3,-4', 200, null, PNG],
  ])('Range: %s', async (range, status, contentRange, bytes) => {
    const { create, pathOf, api, handler } = await start()
    const made = await create()
    const answer = await handler.request(pathOf(made.photo_url), { headers: { range } })
    expect([answer.status, answer.headers.get('content-range')]).toEqual([status, contentRange])
    const direct = await api.fetch(
      new Request(`http://api.test${pathOf(made.photo_url)}`, { headers: { range } }),
    )
    if (bytes) expect(Buffer.from(await direct.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it('a suppressed range is the whole: a 200 of a part would be read as it', async () => {
    const { create, pathOf, api } = await start()
    const made = await create()
    const url = `http://api.test${pathOf(made.photo_url)}?suppress_error_codes`
    const answer = await api.fetch(new Request(url, { headers: { range: 'bytes=0-3' } }))
    expect([answer.status, answer.headers.get('content-range')]).toEqual([200, null])
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true)
  })

  it.each([
    ['If-None-Match', (tag: string) => ({ 'if-none-match': tag }), 304],
    ['another If-None-Match', () => ({ 'if-none-match': '"other"' }), 200],
    ['If-Match that fails', () => ({ 'if-match': '"other"' }), 412],
    ['If-Range that holds', (tag: string) => ({ 'if-range': tag, range: 'bytes=0-1' }), 206],
    ['If-Range that does not', () => ({ 'if-range': '"other"', range: 'bytes=0-1' }), 200],
  ])('a conditional download: %s', async (_what, headers, status) => {
    const { handler, create, pathOf } = await start()
    const made = await create()
    const path = pathOf(made.photo_url)
    const tag = (await handler.request(path)).headers.get('etag') ?? ''
    expect((await handler.request(path, { headers: headers(tag) })).status).toBe(status)
  })

  it('a 304 to a range says nothing of a part: caches add its headers to the whole that they keep', async () => {
    const { handler, create, pathOf } = await start()
    const path = pathOf((await create()).photo_url)
    const tag = (await handler.request(path)).headers.get('etag') ?? ''
    const headers = { 'if-none-match': tag, range: 'bytes=0-1' }
    const answer = await handler.request(path, { headers })
    expect([answer.status, answer.headers.get('content-range')]).toEqual([304, null])
  })

  it('OPTIONS describes the download, and no filter by contents', async () => {
    const { handler, create } = await start()
    const { id } = await create()
    const described = async (path: string) =>
      (await handler.request(path, { method: 'OPTIONS' })).json as {
        get: {
          summary: string
          parameters: readonly { name: string; in: string }[]
          responses: { 200: { content: Record<string, unknown> } }
        }
      }
    for (const [property, type] of [
      ['photo', 'image/*'],
      ['thumb', '*/*'],
    ]) {
      const { get } = await described(`/v1/photos/${id}/${property}`)
      expect(get.summary).toBe(`Download the ${property} of a photo`)
      expect(get.parameters.filter(({ in: where }) => where !== 'header')).toEqual([])
      expect(Object.keys(get.responses[200].content)).toEqual([type])
    }
    const names = (await described('/v1/photos')).get.parameters.map(({ name }) => name)
    expect(names).toContain('comment')
    expect(names).not.toContain('photo')
    expect((await handler.request('/v1/photos?photo=x')).status).toBe(400)
  })

  it('HEAD, the wrong method, nothing there', async () => {
    const { handler, create, pathOf } = await start()
    const made = await create()
    const head = await handler.request(pathOf(made.photo_url), { method: 'HEAD' })
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
      200,
      '',
      String(size),
    ])
    const wrong = await handler.request(pathOf(made.photo_url), { method: 'DELETE' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await handler.request(`/v1/photos/${made.id}/thumb`)).status).toBe(404)
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
      const answer = await handler.request(`/v1/photos/${made.id}/photo.json`, { method })
      expect(answer.status).toBe(404)
    }
  })

  it.each([
    ['image/png', PNG, 'inline'],
    ['text/plain', Buffer.from('<!doctype html><script>alert(1)</script>'), 'attachment'],
    [
      'text/plain',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
      'attachment',
    ],
    ['application/pdf', Buffer.from('%PDF-1.7 …'), 'attachment'],
    ['application/octet-stream', Buffer.from([0, 1, 2]), 'attachment'],
  ])('a content is served as what its bytes are, inert: %s', async (type, bytes, disposition) => {
    const { handler, create } = await start()
    const { id } = await create({
      comment: 'A',
      photo_data: BASE64,
      thumb_data: bytes.toString('base64'),
    })
    const { headers } = await handler.request(`/v1/photos/${id}/thumb`)
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      type,
      disposition,
    ])
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })
})

describe('refinements of a binary property', () => {
  const api = () =>
    defineCollection({
      name: 'photos',
      schema: z.object({
        photo: blob().refine(({ size }) => size < 100, 'is too large for a stamp'),
      }),
      store: memoryStore(),
      blobs: memoryBlobs(),
    })
  const send = async (photo_data: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ photo_data })
    return api().fetch(new Request('http://a/photos', { method: 'POST', headers, body }))
  }

  it('get the record of the content', async () => {
    expect((await send(BASE64)).status).toBe(201)
  })

  it('report their own message', async () => {
    const answer = await send(Buffer.alloc(100).toString('base64'))
    expect([answer.status, await answer.json()]).toEqual([
      400,
      {
        errors: [
          { message: 'is too large for a stamp', code: 400, field: 'photo', type: 'custom' },
        ],
      },
    ])
  })
})

describe('inline contents', () => {
  /** Items whose contents are of these sizes, on blobs that tell how many are open at once. */
  async function start(
    sizes: readonly number[],
    inline: number,
    binary: 'flat' | 'object' = 'flat',
  ) {
    const kept = memoryBlobs()
    const reading = { now: 0, most: 0 }
    const blobs: BlobStore = {
      ...kept,
      async get(key, range) {
        const content = await kept.get(key, range)
        if (!content) return undefined
        async function* reported(bytes: AsyncIterable<Uint8Array>) {
          reading.most = Math.max(reading.most, ++reading.now)
          await new Promise(resolve => setImmediate(resolve))
          yield* bytes
          reading.now--
        }
        return reported(content)
      },
    }
    const files = defineCollection({
      name: 'files',
      schema: z.object({ file: blob(), icon: blob({ inlineBelow: 1000 }).optional() }),
      store: memoryStore(),
      blobs,
      binary,
    })
    const api = defineApi({ collections: [files], limits: { inline } })
    const request = (path: string, init?: RequestInit) =>
      api.fetch(new Request(`http://api.test${path}`, init))
    for (const [at, size] of sizes.entries()) {
      const body = new FormData()
      body.set('file', new Blob([Buffer.alloc(size, 97 + at)]), 'a.bin')
      body.set('icon', new Blob([Buffer.alloc(900, 97)]), 'b.bin')
      expect((await request('/files', { method: 'POST', body })).status).toBe(201)
    }
    return { request, reading }
  }

  it('are refused unread where those of one response are too large together', async () => {
    const { request, reading } = await start([500, 500, 500], 1000)
    expect((await request('/files?fields=file_data&limit=2')).status).toBe(200)
    reading.most = 0
    const refused = await request('/files?fields=id,file_data&limit=3')
    expect([refused.status, Object(await refused.json()).errors]).toEqual([
      400,
      [
        {
          message:
            'The contents that fields asks for have 1500 bytes together; at most 1000 are given inline. Ask for fewer items, or for file_url.',
          code: 400,
          field: 'fields',
          type: 'inline_too_large',
        },
      ],
    ])
    expect(reading.most).toBe(0)
  })

  it('are named in the form of the collection', async () => {
    const { request } = await start([1001], 1000, 'object')
    const refused = await request('/files?fields=file.data')
    expect(await refused.text()).toContain('fewer items, or for file.url')
  })

  it('of one item are limited too; those below the declared size do not count', async () => {
    const { request } = await start([1001, 10], 1000)
    const [large] = (await (await request('/files?fields=id')).json()) as Shown[]
    expect((await request(`/files/${large?.id}?fields=file_data`)).status).toBe(400)
    for (const path of ['/files', '/files?fields=icon_url', `/files/${large?.id}`, '/files.csv']) {
      expect((await request(path)).status).toBe(200)
    }
  })

  it.each(['ndjson', 'csv'])('come one after another in a stream: %s', async format => {
    const sizes = [100_000, 100_000, 100_000, 10, 10, 100_000]
    const { request, reading } = await start(sizes, 200_000)
    reading.most = 0
    const text = await (await request(`/files.${format}?fields=file_data`)).text()
    for (const [at, size] of sizes.entries()) {
      expect(text).toContain(Buffer.alloc(size, 97 + at).toString('base64'))
    }
    expect(reading.most).toBe(1)
  })
})

it('a sweep removes only old contents that no item refers to', async () => {
  const { api, flat, blobs } = photosApi()
  async function* orphan() {
    yield PNG
  }
  await blobs.put(orphan())
  const made = await api.fetch(
    new Request('http://api.test/v1/photos', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ comment: 'A', photo_data: BASE64 }),
    }),
  )
  const { photo_url } = (await made.json()) as Shown
  expect(await sweepBlobs(blobs, [flat])).toBe(0)
  expect(await sweepBlobs(blobs, [flat], { olderThan: -1000 })).toBe(1)
  expect((await api.fetch(new Request(photo_url))).status).toBe(200)
})

it.each([
  [
    'a blob() without a blob store',
    () => defineCollection({ name: 'photos', schema: Photo, store: memoryStore() }),
  ],
  [
    'a blob() below the item itself',
    () =>
      defineCollection({
        name: 'photos',
        schema: z.object({ a: z.object({ b: blob() }) }),
        store: memoryStore(),
        blobs: memoryBlobs(),
      }),
  ],
])('is a TypeError at definition: %s', (_what, define) => {
  expect(define).toThrow(TypeError)
})

it('a version without a binary property shows nothing of it, and a PUT there keeps it', async () => {
  const store = memoryStore()
  const photos = { name: 'photos', id: 'integer', store } as const
  const before = defineCollection({
    ...photos,
    schema: z.object({ comment: z.string() }),
    // It could not create what the other version requires.
    operations: ['list', 'read', 'replace'],
  })
  const after = defineCollection({ ...photos, schema: Photo, blobs: memoryBlobs() })
  const versions = [
    { version: 1, collections: [before] },
    { version: 2, collections: [after] },
  ]
  const handler = await openHandler('fetch', defineApi({ versions }))
  open.push(handler)
  const json = { comment: 'A', photo_data: BASE64 }
  expect((await handler.request('/v2/photos', { method: 'POST', json })).status).toBe(201)
  const { json: shown } = await handler.request('/v1/photos/1')
  expect(Object.keys(Object(shown))).toEqual(['id', 'comment', 'created_at', 'updated_at'])
  await handler.request('/v1/photos/1', { method: 'PUT', json: { ...Object(shown), comment: 'B' } })
  const { json: kept } = await handler.request('/v2/photos/1')
  expect(kept).toMatchObject({ comment: 'B', photo_url: expect.stringContaining('/v2/photos/1') })
})

it('a content has one address, below a parent too', async () => {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ car_id: z.int(), photo: blob() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    id: 'integer',
    parents: { car_id: 'cars' },
  })
  const api = defineApi({ collections: [cars, photos], baseUrl: 'https://api.example' })
  for (const color of ['red', 'blue']) await api.collection(cars).create({ color })
  await api.collection('photos').create({ car_id: 1, photo_data: BASE64 })
  await api.collection('photos').create({ car_id: 1, photo_data: BASE64 })
  const ask = async (method: string, path: string, body: string | null = null) => {
    const headers = { 'content-type': 'application/json', prefer: 'return=minimal' }
    const answer = await api.fetch(
      new Request(`https://api.example${path}`, { method, headers, body }),
    )
    return { status: answer.status, text: await answer.text() }
  }
  const places = ['/photos/1', '/cars/1/photos/1']
  for (const read of places) {
    for (const written of places) {
      const { text } = await ask('GET', read)
      expect(text).toContain('"https://api.example/photos/1/photo"')
      expect(await ask('PUT', written, text)).toMatchObject({ status: 204 })
    }
  }
  for (const path of ['/photos/2', '/cars/1/photos/1', '/cars/1']) {
    const body = JSON.stringify({ photo_url: `https://api.example${path}/photo` })
    const { status, text } = await ask('PATCH', '/photos/1', body)
    expect([path, status, text]).toMatchObject([path, 400, expect.stringContaining('foreign')])
  }
})

describe('contents that cannot be read when a change is done', () => {
  const addressed = (id: number) => ({ id, icon_url: `http://api.test/files/${id}/icon` })

  it('the change succeeds, with their addresses', async () => {
    let runs = 0
    const kept = memoryBlobs()
    let broken = false
    const get: BlobStore['get'] = async (key, range) => {
      if (broken) throw new Error('The bucket is away')
      return kept.get(key, range)
    }
    const reported: string[] = []
    const files = defineCollection({
      name: 'files',
      schema: z.object({ icon: blob({ inlineBelow: 1000 }) }),
      store: memoryStore(),
      id: 'integer',
      blobs: { ...kept, get },
      hooks: { after: ({ operation }) => reported.push(operation) },
      actions: {
        touch: {
          on: 'item',
          run: ({ item }) => {
            runs++
            return item
          },
        },
      },
    })
    const api = defineApi({ collections: [files], onError: () => {} })
    const handler = await openHandler('fetch', api)
    const json = { icon_data: BASE64 }
    await handler.request('/files', { method: 'POST', json })
    broken = true
    const made = await handler.request('/files', { method: 'POST', json })
    expect([made.status, made.json]).toEqual([201, expect.objectContaining(addressed(2))])
    const headers = { 'idempotency-key': 'once', prefer: 'return=representation' }
    for (const _time of ['first', 'again']) {
      const touched = await handler.request('/files/1/touch', { method: 'POST', headers })
      expect([touched.status, touched.json]).toEqual([200, expect.objectContaining(addressed(1))])
    }
    expect(runs).toBe(1)
    const replaced = await handler.request('/files/1', { method: 'PUT', json, headers })
    expect([replaced.status, replaced.json]).toEqual([200, expect.objectContaining(addressed(1))])
    const deleted = await handler.request('/files/1', { method: 'DELETE' })
    expect([deleted.status, deleted.json]).toEqual([200, expect.objectContaining(addressed(1))])
    expect(reported).toEqual(['create', 'create', 'touch', 'replace', 'delete'])
    expect((await handler.request('/files/2')).status).toBe(500)
    broken = false
    expect((await handler.request('/files/2')).json).toMatchObject({ icon_data: BASE64 })
    expect(await keysOf(kept)).toHaveLength(1)
  })
})
