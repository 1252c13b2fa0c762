// The first items of a database, whatever happens while they are made.
import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blobsOf, inDirectory, jsonOf, type Running, serve, startServer } from './running.ts'

const COLLECTIONS = ['cars', 'options', 'models', 'cars_models', 'accounts', 'photos']

/** Everything but what no two databases have in common: instants, random ids, addresses. */
async function contentsOf(root: string): Promise<Record<string, unknown[]>> {
  const lists = COLLECTIONS.map(async name => {
    const text = await (await fetch(`${root}${name}.ndjson`)).text()
    const items = text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    const own = ({ created_at, updated_at, id, photo, thumb, ...item }: Record<string, unknown>) =>
      typeof id === 'number' ? { id, ...item } : item
    return [name, items.map(own)] as const
  })
  return Object.fromEntries(await Promise.all(lists))
}

/** Moments of a start, each an event. */
const MOMENTS: readonly ((server: Running, blobs: string) => Promise<unknown>)[] = [
  server => server.until(/^Filling/),
  async (_server, blobs) => {
    await mkdir(blobs)
    const watcher = watch(blobs)
    await once(watcher, 'change')
    watcher.close()
  },
]

const whole = await serve()
const expected = await contentsOf(whole.root)
await whole.ended('SIGTERM')

test('a new database has items in every collection', () => {
  const sizes = COLLECTIONS.map(name => expected[name]?.length ?? 0)
  expect(Math.min(...sizes)).toBeGreaterThan(20)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(
    Number(/with (\d+) new items/.exec(whole.output())?.[1]),
  )
})

const ENDS = { SIGKILL: 'SIGKILL', SIGTERM: 0 } as const

test.each([
  ['SIGKILL', 'SIGTERM'],
  ['SIGTERM', 'SIGKILL'],
] as const)(
  'a %s at the beginning, a %s at the first photo: the third start makes the rest',
  (...signals) =>
    inDirectory(async directory => {
      const database = join(directory, 'it.db')
      for (const [at, reached] of MOMENTS.entries()) {
        const signal = signals[at] ?? 'SIGKILL'
        const server = startServer(database)
        await reached(server, blobsOf(database))
        expect(await server.ended(signal)).toBe(ENDS[signal])
        expect(server.errors()).toBe('')
        expect(server.output()).not.toContain('Serving')
      }

      const whole = await serve(database)
      expect(await contentsOf(whole.root)).toEqual(expected)
      const photos = await jsonOf<{ photo: { url: string }; thumb: { url: string } }[]>(
        await fetch(`${whole.root}photos?limit=100`),
      )
      for (const { photo, thumb } of photos) {
        const sizes = await Promise.all([photo, thumb].map(({ url }) => sizeOf(url)))
        expect(sizes[0]).toBeGreaterThan(sizes[1] ?? Number.NaN)
      }
      expect(await whole.ended('SIGTERM')).toBe(0)

      const last = await serve(database)
      expect(last.output()).not.toMatch(/Filling|new items/)
      await last.ended('SIGTERM')
    }),
  120_000,
)

async function sizeOf(url: string): Promise<number> {
  const response = await fetch(url)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  return (await response.arrayBuffer()).byteLength
}
