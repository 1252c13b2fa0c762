// Tabs of Chromium over HTTP/1.1 that follow a list by one stream.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { watchOverTabs } from '../../src/client/live-tabs.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { CHROMIUM, FLAGS, isMissing } from '../html/chromium.ts'

/** Runs in a page: follows the red cars for a user, and keeps what it has. */
const FOLLOW = `
  import { createClient } from './index.ts'
  import { watchOverTabs } from './live-tabs.ts'
  const client = createClient(location.origin)
  globalThis.begin = async (user, wait) => {
    globalThis.list = new Map()
    globalThis.end = new AbortController()
    const options = { user, signal: end.signal }
    try {
      for await (const change of watchOverTabs(client, 'cars', { color: 'red' }, options)) {
        if (change.reset) list.clear()
        for (const car of change.items) list.set(car.id, car)
        for (const id of change.removed) list.delete(id)
        globalThis.isReady = change.ready || (globalThis.isReady && !change.reset)
        if (wait) await new Promise(resolve => setTimeout(resolve, wait))
      }
    } catch (error) { globalThis.failure = String(error) }
  }`

function serve() {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({ color: z.string() }),
    store: memoryStore(),
    live: true,
  })
  const api = defineApi({ collections: { cars }, onError() {} })
  return { api, cars: api.asSystem().collection(cars) }
}

describe.skipIf(isMissing)('tabs', { timeout: 120_000 }, () => {
  const { api, cars } = serve()
  let streams = 0
  let asked = 0
  /** The status that streams are refused with. */
  let refusal = 0
  const server = createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('Content-Type', 'text/html').end('<!doctype html>')
      return
    }
    if (request.headers.accept === 'text/event-stream') {
      if (refusal) {
        response.writeHead(refusal).end()
        return
      }
      streams++
      asked++
      response.on('close', () => streams--)
    }
    api.handler(request, response)
  })
  let browser: Browser
  let context: BrowserContext
  let script = ''
  const tabs: Page[] = []

  async function open(user: string, wait = 0): Promise<Page> {
    const page = await context.newPage()
    const { port } = server.address() as AddressInfo // it listens
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.addScriptTag({ content: script, type: 'module' })
    // A module runs later than its element is there.
    await page.waitForFunction('globalThis.begin')
    await page.evaluate(`void begin(${JSON.stringify(user)}, ${wait})`)
    tabs.push(page)
    return page
  }

  const isList = async (page: Page) => {
    const expected = (await cars.list({ color: 'red' }).toArray()).map(({ id }) => id)
    const has = () => page.evaluate('isReady && [...list.keys()].sort((a, b) => a - b)')
    await expect.poll(has).toEqual(expected.toSorted((a, b) => a - b))
  }
  const areLists = async () => {
    for (const page of tabs) await isList(page)
  }

  beforeAll(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { outputFiles } = await build({
      stdin: { contents: FOLLOW, resolveDir: join(import.meta.dirname, '../../src/client') },
      bundle: true,
      write: false,
      format: 'esm',
    })
    script = outputFiles[0]?.text ?? ''
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    context = await browser.newContext()
  })
  afterAll(async () => {
    await browser?.close()
    server.closeAllConnections()
    server.close()
    await api.close()
  })

  test('eight tabs have one stream, and each has the list', async () => {
    await cars.create([{ color: 'red' }, { color: 'blue' }, { color: 'red' }])
    for (let at = 0; at < 8; at++) await open('ann')
    await areLists()
    await cars.create({ color: 'red' })
    await cars.patch(1, { color: 'blue' })
    await cars.delete(3)
    await areLists()
    expect([streams, asked]).toEqual([1, 1])
  })

  test('another one takes over where the tab with the stream is closed', async () => {
    await tabs.shift()?.close()
    await cars.create({ color: 'red' })
    await areLists()
    expect([streams, asked]).toEqual([1, 2])
    // It ends by a signal as by its end.
    const [first] = tabs.splice(0, 1)
    await first?.evaluate(`end.abort(new Error('enough'))`)
    await expect.poll(() => first?.evaluate('globalThis.failure')).toBe('Error: enough')
    await cars.create({ color: 'red' })
    await areLists()
    expect([streams, asked]).toEqual([1, 3])
  })

  test('who is signed in as another has a stream of its own', async () => {
    const other = await open('bob')
    await isList(other)
    expect(streams).toBe(2)
    tabs.splice(tabs.indexOf(other), 1)
    await other.close()
  })

  test.each([
    [401, 'keeps'],
    [403, 'forgets'],
  ])('after a %d the tab that takes over %s the list', async (status, does) => {
    const others = tabs.splice(0)
    const [first, second] = [await open('dan'), await open('dan')]
    await areLists()
    tabs.splice(0, 2, ...others)
    const size = await second.evaluate('list.size')
    refusal = status
    await first.close()
    await expect.poll(() => second.evaluate('globalThis.failure')).toMatch(`${status}`)
    refusal = 0
    expect(await second.evaluate('list.size')).toBe(does === 'keeps' ? size : 0)
    await second.close()
  })

  test('a tab that reads slowly has the list in the end', async () => {
    await open('ann', 50)
    await areLists()
    for (let at = 0; at < 300; at++) await cars.create({ color: at % 2 === 0 ? 'red' : 'blue' })
    await areLists()
  })
})

test('without the locks of a browser each has its own stream', async () => {
  const { api, cars } = serve()
  await cars.create({ color: 'red' })
  const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init))
  const client = createClient<typeof api>('https://api.example', { fetch })
  const ids: number[] = []
  for await (const change of watchOverTabs(client, 'cars', {}, { user: '' })) {
    ids.push(...change.items.map(({ id }) => id))
    if (change.ready) break
  }
  expect(ids).toEqual([1])
})
