// docs/deploying.md: its server behind each proxy that is configured as the document says.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'
import { bundle } from './bundle.ts'
import { freePort } from './free-port.ts'
import { Board } from './live/events.ts'
import { blocksOf } from './markdown.ts'
import { PROXIES } from './proxy-blocks.ts'

const root = join(import.meta.dirname, '..')
const blocks = blocksOf(await readFile(join(root, 'docs', 'deploying.md'), 'utf8'))

const started: ChildProcess[] = []
let folder: string
let port: number

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proxies-'))
  port = await freePort()
  const server = blocks.find(({ text }) => text.includes('trustProxy: 1'))?.text ?? ''
  const file = join(folder, 'server.ts')
  await writeFile(file, server.replace('3000', String(port)))
  start(process.execPath, [bundle(file)])
  await answers(`http://127.0.0.1:${port}/api/health`)
})

afterAll(async () => {
  for (const child of started) {
    const ended = once(child, 'exit')
    if (child.exitCode === null && child.kill()) await ended
  }
  await rm(folder, { recursive: true })
})

function start(command: string, words: readonly string[]): void {
  started.push(spawn(command, words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }))
}

/** Resolves when something answers at an address. */
async function answers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await fetch(url).catch(() => undefined)) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  throw new Error(`Nothing answers at ${url}`)
}

function isInstalled(command: string): boolean {
  try {
    execFileSync('which', [command])
    return true
  } catch {
    return false
  }
}

/** Starts a proxy as the document configures it, in front of a port. */
async function startProxy(name: string, target: number): Promise<string> {
  const proxy = PROXIES[name]
  if (!proxy) throw new Error(`There is no proxy ${name}`)
  const own = await freePort()
  const block = blocks.find(({ language }) => language === proxy.language)
  const text = proxy
    .config(block?.text ?? '', folder)
    .replaceAll(':3000', `:${target}`)
    .replace(/(?<=listen |\*:)80\b/, String(own))
    .replaceAll(`${name}.pid`, `${name}-${own}.pid`)
  const file = join(folder, `${name}-${own}.conf`)
  await writeFile(file, `${text}\n`)
  execFileSync(name, proxy.check(file, folder), { stdio: 'pipe' })
  start(name, proxy.run(file, folder))
  const cars = `http://127.0.0.1:${own}/api/cars`
  await answers(cars)
  return cars
}

describe.each(['nginx', 'haproxy', 'apache2'])('%s', name => {
  test.skipIf(!isInstalled(name))(
    'lets no client name its own address, host or scheme',
    async () => {
      let seen: IncomingHttpHeaders = {}
      const server = createServer((request, response) => {
        if (request.url === '/api/cars') seen = request.headers
        response.end()
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      try {
        const cars = await startProxy(name, (server.address() as AddressInfo).port)
        await fetch(cars, {
          headers: {
            'x-forwarded-for': '192.0.2.1',
            'x-forwarded-host': 'other.example',
            'x-forwarded-proto': 'https',
          },
        })
        expect(seen).toMatchObject({
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-host': new URL(cars).host,
          'x-forwarded-proto': 'http',
        })
      } finally {
        server.close()
        server.closeAllConnections()
      }
    },
  )

  test.skipIf(!isInstalled(name))('serves as the document configures it', async () => {
    const cars = await startProxy(name, port)

    const headers = { 'content-type': 'application/json' }
    const created = await fetch(cars, { method: 'POST', headers, body: '{"color":"red"}' })
    const { id } = (await created.json()) as { id: string }
    expect([created.status, created.headers.get('location')]).toEqual([
      201,
      `https://www.example/api/cars/${id}`,
    ])
    const read = await fetch(`${cars}/${id}`)
    const changed = await fetch(`${cars}/${id}`, {
      method: 'PATCH',
      headers: { ...headers, 'if-match': read.headers.get('etag') ?? '' },
      body: '{"color":"blue"}',
    })
    expect([changed.status, await changed.json()]).toMatchObject([200, { color: 'blue' }])
    // The path comes as it was sent: a normalized one would name the item `a` as JSON.
    const missing = await fetch(`${cars}/a%2Ejson`)
    expect([missing.status, await missing.text()]).toEqual([
      404,
      expect.stringContaining('the id \\"a.json\\"'),
    ])
  })

  test.skipIf(!isInstalled(name))('passes on a live list, event by event', async () => {
    const cars = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ color: z.string() }),
      store: memoryStore(),
      live: true,
    })
    const api = defineApi({ collections: { cars }, prefix: '/api', health: true })
    const server = createServer(api.handler).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = await startProxy(name, (server.address() as AddressInfo).port)
    const board = new Board()
    const open = (headers: Record<string, string>, signal: AbortSignal) =>
      fetch(url, { headers, signal })
    await board.connect(open)
    await board.until(() => board.isReady)
    await api.asSystem().collection(cars).create({ color: 'red' })
    await board.until(() => board.items.size === 1)
    await board.disconnect()
    await api.asSystem().collection(cars).create({ color: 'blue' })
    const seen = board.events.length
    await board.connect(open)
    await board.until(() => board.isReady)
    expect(board.events.slice(seen).map(({ event }) => event)).toEqual(['items', 'ready'])
    await api.close()
    await board.ended
    server.close()
    server.closeAllConnections()
  })
})

test.skipIf(!isInstalled('haproxy'))(
  'haproxy repeats a request that got no response if it is a read, or has a key',
  async () => {
    const came = new Map<string, number>()
    const server = createServer((request, response) => {
      const [, name] = (request.url ?? '').split('?lose=')
      if (name === undefined) return void response.end()
      const times = (came.get(name) ?? 0) + 1
      came.set(name, times)
      if (times > 1) return void response.end()
      // The first one is read, and its connection ends: as if the process had died.
      request.resume().once('end', () => request.socket.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const cars = await startProxy('haproxy', (server.address() as AddressInfo).port)
      const send = (name: string, init: RequestInit) =>
        fetch(`${cars}?lose=${name}`, init).then(
          ({ ok }) => ok,
          () => false,
        )
      const post = { method: 'POST', body: '{"color":"red"}' }
      const keyed = { ...post, headers: { 'idempotency-key': 'one' } }
      expect([await send('read', {}), await send('keyed', keyed)]).toEqual([true, true])
      // A 502, or no response if HAProxy had used the connection before.
      expect([await send('post', post), await send('patch', { ...post, method: 'PATCH' })]).toEqual(
        [false, false],
      )
      expect(Object.fromEntries(came)).toEqual({ read: 2, keyed: 2, post: 1, patch: 1 })
    } finally {
      server.close()
      server.closeAllConnections()
    }
  },
)

test('several values of X-Forwarded-Host without baseUrl are warned of, once', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  try {
    const serve = (options: { baseUrl?: string; trustProxy?: number }) =>
      defineApi({
        collections: [
          defineCollection({ name: 'cars', schema: z.object({}), store: memoryStore() }),
        ],
        ...options,
      })
    const ask = (api: ReturnType<typeof serve>, host: string) =>
      api.fetch(new Request('http://a.example/cars', { headers: { 'x-forwarded-host': host } }))
    await ask(serve({ trustProxy: 1 }), 'b.example')
    await ask(serve({ trustProxy: 1, baseUrl: 'https://c.example' }), 'a.example, b.example')
    await ask(serve({}), 'a.example, b.example')
    expect(warn).not.toHaveBeenCalled()
    const api = serve({ trustProxy: 2 })
    for (let time = 0; time < 3; time++) await ask(api, 'a.example, b.example')
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/several values.*Set baseUrl/), expect.anything()],
    ])
  } finally {
    warn.mockRestore()
  }
})
