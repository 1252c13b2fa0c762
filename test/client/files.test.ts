// Files over a real line: uploads with progress, downloads and exports, with a token that is renewed.
import { join } from 'node:path'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { download, exportList, type UploadProgress, withProgress } from '../../src/client/files.ts'
import { createClient, HttpError } from '../../src/client/index.ts'
import {
  blob,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  type Scheme,
} from '../../src/index.ts'
import { CHROMIUM, FLAGS, isMissing } from '../html/chromium.ts'
import { type Line, openLine, serve } from './line.ts'

const CONTENT = 'content '.repeat(100_000)

const photos = defineCollection({
  name: 'photos',
  schema: z.object({ comment: z.string(), photo: blob() }),
  store: memoryStore(),
  blobs: memoryBlobs(),
  id: 'integer',
})
const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    color: z.string(),
    price: z.int(),
    photo_id: z.int().nullable().default(null),
  }),
  store: memoryStore(),
  id: 'integer',
  references: { photo_id: 'photos' },
})
const AUTH = 'Bearer new'
const scheme: Scheme = {
  name: 'Bearer',
  challenge: () => 'Bearer',
  authenticate: async ({ headers }) => (headers.authorization === AUTH ? { id: 'ann' } : undefined),
}
const api = defineApi({
  collections: { photos, cars },
  schemes: [scheme],
})
let server: Awaited<ReturnType<typeof serve>>
let line: Line
beforeAll(async () => {
  server = await serve(api.handler)
  line = await openLine(server.url)
  await api
    .collection(cars)
    .create(Array.from({ length: 250 }, (_, at) => ({ color: at % 2 ? 'red' : 'blue', price: at })))
})
afterAll(async () => {
  await line.close()
  await server.close()
  await api.close()
})

/** A client whose first token has expired. */
const open = () => {
  let token = 'Bearer old'
  return createClient<typeof api>(line.url, {
    auth({ retry }) {
      if (retry) token = AUTH
      return token
    },
  })
}
const failed = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    error => error,
  )

describe('an upload', () => {
  test('tells its progress, is sent again with a new token, and after a lost response', async () => {
    const steps: UploadProgress[] = []
    const uploads = withProgress(open(), step => steps.push(step))
    line.next('pass', 'drop')
    const before = await api.collection(photos).count()
    const photo = await uploads.photos.create({ comment: 'Grüße', photo: new Blob([CONTENT]) })
    expect(await api.collection(photos).count()).toBe(before + 1)
    expect(await (await download(open(), photo.photo_url)).text()).toBe(CONTENT)
    const total = CONTENT.length + '"Grüße"'.length + 2
    expect(new Set(steps.map(step => step.total))).toEqual(new Set([total]))
    // Each attempt began again: of two of three the end was seen, since a server may answer 401 before the end.
    expect(steps.filter(({ loaded }) => loaded === total).length).toBeGreaterThanOrEqual(2)
    expect(steps.length).toBeGreaterThan(10)
    const changed = await uploads.photos.patch(photo, { photo: new Blob(['other']) })
    expect(steps.at(-1)).toEqual({ loaded: 5, total: 5 })
    expect(await (await download(open(), changed.photo_url)).text()).toBe('other')
    const count = steps.length
    await uploads.photos.patch(changed, { comment: 'No file' })
    expect(steps.length).toBe(count)
  })

  test('that is refused is an error with its field', async () => {
    const uploads = withProgress(open(), () => {})
    const error = await failed(
      uploads.photos.create({ comment: 'Big', photo: new Blob([new Uint8Array(11 * 2 ** 20)]) }),
    )
    expect(error).toBeInstanceOf(HttpError)
    expect(error).toMatchObject({ status: 413, errors: [{ field: 'photo' }] })
  })

  test('uses the fetch of its client, and ends with its signal', async () => {
    const steps: UploadProgress[] = []
    const controller = new AbortController()
    const client = createClient<typeof api>('http://shop.example', {
      auth: AUTH,
      fetch: (url, init) => api.fetch(new Request(url, init)),
    })
    const photo = new Blob([CONTENT])
    await withProgress(client, step => steps.push(step)).photos.create({ comment: 'x', photo })
    expect(steps.at(-1)?.loaded).toBe(steps.at(-1)?.total)
    const ended = withProgress(open(), () => controller.abort(new Error('Enough')))
    const { signal } = controller
    await expect(ended.photos.create({ comment: 'x', photo }, { signal })).rejects.toThrow('Enough')
  })

  test('takes a client first', () => {
    expect(() => withProgress({}, () => {})).toThrow('withProgress takes a client first')
  })
})

describe('a download', () => {
  const upload = () => open().photos.create({ comment: 'x', photo: new Blob(['0123456789']) })

  test('has the content, its type and its name, after a refusal and with a range', async () => {
    const { photo_url } = await upload()
    line.next([503])
    const response = await download(open(), photo_url)
    expect(response.headers.get('content-type')).toBe('text/plain')
    const content = await response.blob()
    expect([content.size, content.type]).toEqual([10, 'text/plain'])
    const part = await download(open(), photo_url, { headers: { Range: 'bytes=2-4' } })
    expect([part.status, await part.text()]).toEqual([206, '234'])
    const tag = response.headers.get('etag') ?? ''
    const same = await download(open(), photo_url, { headers: { 'If-None-Match': tag } })
    expect([same.status, await same.text()]).toEqual([304, ''])
  })

  test('that fails is an error as of any read; onResponse sees the head', async () => {
    const { id, photo_url } = await upload()
    const seen: number[] = []
    const client = createClient<typeof api>(line.url, {
      auth: AUTH,
      onResponse: ({ response }) =>
        seen.push(response.status, Number(response.headers.get('content-length'))),
    })
    await (await download(client, photo_url)).text()
    expect(seen).toEqual([200, 10])
    await client.photos.delete(id)
    expect(await failed(download(client, photo_url))).toMatchObject({
      status: 404,
      errors: [{ code: 404 }],
    })
  })

  test('two at once have each their content', async () => {
    const { photo_url } = await upload()
    const client = open()
    const both = await Promise.all([download(client, photo_url), download(client, photo_url)])
    expect(await Promise.all(both.map(each => each.text()))).toEqual(['0123456789', '0123456789'])
  })

  test('sends its token to no other server', async () => {
    for (const url of ['https://evil.example/photos/1/photo', `${line.url}.evil.example/1`])
      expect(await failed(download(open(), url))).toEqual(
        new TypeError(`download: the URL must begin with ${line.url}/, not ${url}`),
      )
  })

  test('ends with its signal while the content is read', async () => {
    const controller = new AbortController()
    const slow = await serve((_, response) => void response.writeHead(200).write('begin'))
    const response = await download(createClient(slow.url), `${slow.url}/photos/1/photo`, {
      signal: controller.signal,
    })
    const reader = response.body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? '').toString()).toBe('begin')
    controller.abort(new Error('Enough'))
    await expect(reader?.read()).rejects.toThrow('Enough')
    await slow.close()
  })
})

describe('an export', () => {
  test('has the whole list as CSV, or NDJSON', async () => {
    const client = open()
    const csv = await exportList(client, 'cars', {
      color: 'red',
      fields: ['price'],
      sort: '-price',
    })
    expect(csv.headers.get('content-disposition')).toContain('cars.csv')
    const [head, first, ...rest] = (await csv.text()).trim().split('\r\n')
    expect([head, first, rest.length]).toEqual(['price', '249', 124])
    const lines = await (await exportList(client, 'cars', {}, { format: 'ndjson' })).text()
    expect(lines.trim().split('\n').length).toBe(250)
    const all = await (await exportList(client, 'cars')).text()
    expect(all.trim().split('\r\n').length).toBe(251)
    const included = await exportList(client, 'cars', { include: ['photo'], limit: 1 })
    expect(await included.text()).toContain('photo')
  })

  test('with a wrong filter is an error', async () => {
    // @ts-expect-error no car has such a property
    const error = await failed(exportList(open(), 'cars', { prise: 1 }))
    expect(error).toMatchObject({ status: 400 })
    // @ts-expect-error there is no such collection
    expect(await failed(exportList(open(), 'vans'))).toMatchObject({ status: 404 })
  })
})

describe.skipIf(isMissing)('in Chromium, on a page of another origin', () => {
  test('an upload tells its progress, is sent again, fails and ends as any', async () => {
    const entries = ['index', 'files'].map(
      name =>
        `export * from ${JSON.stringify(join(import.meta.dirname, `../../src/client/${name}.ts`))}`,
    )
    const { outputFiles } = await build({
      stdin: { contents: entries.join('\n'), resolveDir: import.meta.dirname },
      bundle: true,
      format: 'iife',
      globalName: 'ours',
      write: false,
    })
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    try {
      const page = await browser.newPage()
      await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
      line.next('pass', 'drop')
      const uploaded: unknown = await page.evaluate(`(async () => {
        const client = ours.createClient('${line.url}', {
          auth: ({ retry }) => retry ? '${AUTH}' : 'Bearer old',
        })
        const steps = []
        const uploads = ours.withProgress(client, step => steps.push(step))
        const content = '${CONTENT}'
        const photo = await uploads.photos.create({ comment: 'From a browser', photo: new Blob([content]) })
        const text = await (await ours.download(client, photo.photo_url)).text()
        const last = steps.at(-1)
        const big = new Blob([new Uint8Array(11 * 2 ** 20)])
        const refused = await uploads.photos.create({ comment: 'Big', photo: big }).catch(each => each)
        const controller = new AbortController()
        const ended = ours.withProgress(client, () => controller.abort(new Error('Enough')))
        const { signal } = controller
        const error = await ended.photos.create({ comment: 'x', photo: big }, { signal }).catch(each => each)
        const unchanged = await uploads.photos.patch(photo, { photo: new Blob(['new']) })
        const gone = await uploads.photos.patch(photo, { photo: new Blob(['newer']) }).catch(each => each)
        return [text === content, last.loaded === last.total && last.total > content.length, steps.length > 3,
          refused.status, refused.errors[0].field, error.message, photo.comment, unchanged.id === photo.id, gone.name]
      })()`)
      expect(uploaded).toEqual([
        true,
        true,
        true,
        413,
        'photo',
        'Enough',
        'From a browser',
        true,
        'ConflictError',
      ])
      const made = await api.collection(photos).count({ comment: 'From a browser' })
      expect(made).toBe(1)
      const redirect = [307, { location: '/cars', 'access-control-allow-origin': '*' }] as const
      line.next(redirect)
      const led: unknown = await page.evaluate(`ours.withProgress(
        ours.createClient('${line.url}', { auth: '${AUTH}', retries: 0 }), () => {},
      ).photos.create({ comment: 'Led away', photo: new Blob(['x']) }).catch(each => each.message)`)
      expect(led).toMatch(/^Status 0, .*: .* is not JSON of this API/)
    } finally {
      await browser.close()
    }
  })
})
