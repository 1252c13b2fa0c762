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

/** Moments of the first start, each an event. */
const MOMENTS: Readonly<Record<string, (server: Running, blobs: string) => Promise<unknown>>> = {
  'at its beginning': server => server.until(/^Filling/),
  'at the first photo': async (_server, blobs) => {
    await mkdir(blobs)
    const watcher = watch(blobs)
    await once(watcher, 'change')
    watcher.close()
  },
}

const whole = await serve()
const expected = await contentsOf(whole.root)
await whole.ended('SIGTERM')

test('a new database has some of everything', () => {
  const sizes = COLLECTIONS.map(name => expected[name]?.length ?? 0)
  expect(Math.min(...sizes)).toBeGreaterThan(20)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(
    Number(/with (\d+) new items/.exec(whole.output())?.[1]),
  )
})

test.each(
  Object.keys(MOMENTS).flatMap(moment => [
    { moment, signal: 'SIGKILL' as const, end: 'SIGKILL' },
    { moment, signal: 'SIGTERM' as const, end: 0 },
  ]),
)('$signal $moment: the next start makes the rest', ({ moment, signal, end }) =>
  inDirectory(async directory => {
    const database = join(directory, 'it.db')
    const first = startServer(database)
    await MOMENTS[moment]?.(first, blobsOf(database))
    expect(await first.ended(signal)).toBe(end)
    expect([first.errors(), first.output()]).toEqual(['', expect.not.stringContaining('Serving')])

    const next = await serve(database)
    expect(await contentsOf(next.root)).toEqual(expected)
    const photos = await jsonOf<{ photo: { url: string }; thumb: { url: string } }[]>(
      await fetch(`${next.root}photos?limit=100`),
    )
    for (const { photo, thumb } of photos) {
      const sizes = await Promise.all([photo, thumb].map(({ url }) => sizeOf(url)))
      expect(sizes[0]).toBeGreaterThan(sizes[1] ?? Number.NaN)
    }
    expect(await next.ended('SIGTERM')).toBe(0)

    const last = await serve(database)
    expect(last.output()).not.toMatch(/Filling|new items/)
    await last.ended('SIGTERM')
  }),
)

async function sizeOf(url: string): Promise<number> {
  const response = await fetch(url)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  return (await response.arrayBuffer()).byteLength
}
