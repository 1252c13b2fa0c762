// How long a transaction in memory holds others, over a socket: `npx tsx bench/held.ts [--items=20000]`.
// While a batch of a hundred searches and changes by filter run without an end, readers of one item ask every 20 ms,
// and writers of the same store every 100 ms. Prints the longest wait of each. BUILD names another build to measure.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '15' },
  },
})
const BUILD = process.env.BUILD ?? new URL('../src/index.ts', import.meta.url).pathname

async function serve(): Promise<void> {
  const { defineApi, defineCollection, memoryStore }: typeof import('../src/index.ts') =
    await import(pathToFileURL(BUILD).href)
  const notes = defineCollection({
    name: 'notes',
    id: 'integer',
    schema: z.object({ text: z.string(), at: z.int().optional() }),
    store: memoryStore(),
    search: ['text'],
    operations: ['list', 'read', 'create', 'patch', 'patchMany'],
  })
  const api = defineApi({ collections: [notes], batch: true })
  const text = 'the quick brown fox jumps over the lazy dog '.repeat(8)
  const { collection } = api.asSystem()
  for (let at = 0; at < Number(values.items); at++) await collection(notes).create({ text, at })
  const server = createServer(api.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.((server.address() as AddressInfo).port) // a TCP server has one
}

async function measure(): Promise<void> {
  const server = fork(new URL(import.meta.url), process.argv.slice(2))
  const [port] = await once(server, 'message')
  const until = performance.now() + Number(values.seconds) * 1000
  const waits: Record<string, { longest: number; statuses: Record<number, number> }> = {}

  async function ask(name: string, method: string, path: string, pause: number, body?: unknown) {
    const seen = { longest: 0, statuses: {} as Record<number, number> }
    waits[name] = seen
    while (performance.now() < until) {
      const began = performance.now()
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      })
      await response.arrayBuffer()
      seen.longest = Math.max(seen.longest, Math.round(performance.now() - began))
      seen.statuses[response.status] = (seen.statuses[response.status] ?? 0) + 1
      await sleep(pause)
    }
  }
  const searches = Array.from({ length: 100 }, (_, at) => ({
    method: 'GET',
    path: `/notes/search?q=missing${at}`,
  }))
  await Promise.all([
    ask('batches', 'POST', '/batch', 100, searches),
    ask('changes by filter', 'PATCH', '/notes?text[like]=*missing*', 100, { at: 1 }),
    ask('readers', 'GET', '/notes/1', 20),
    ask('writers', 'PATCH', '/notes/1', 100, { at: 2 }),
  ])
  for (const [name, { longest, statuses }] of Object.entries(waits))
    console.log(`${name.padEnd(18)} longest ${String(longest).padStart(6)} ms `, statuses)
  server.kill()
}

await (process.send ? serve() : measure())
