import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drawCar } from '../../examples/picture.ts'
import { parseLink } from '../../src/rules/index.ts'
import { inDirectory, jsonOf, type Served, serve } from './running.ts'

/** How often the server is killed: `KILL_ROUNDS=6` before a release. */
const ROUNDS = Number(process.env.KILL_ROUNDS || 2)
const WRITERS = 8
/** Acknowledged writes before the kill. */
const WRITES = 240

interface Photo {
  readonly id: string
  readonly comment: string
  readonly photo: { readonly url: string }
}

const PICTURE = drawCar('red', 16)

/** What writers know: what was acknowledged, and what was asked for without an answer. */
class Ledger {
  /** The last acknowledged comment of each photo. */
  readonly kept = new Map<string, string>()
  /** Photos whose deletion was acknowledged. */
  readonly gone = new Set<string>()
  /** What may or may not have happened: another comment, or `null` for a deletion. */
  readonly pending = new Map<string, string | null>()
}

/** Creates, changes and deletes its own photos until the server is gone. */
async function write(photos: string, name: string, ledger: Ledger, onWrite: () => void) {
  const own: string[] = []
  for (let step = 0; ; step++) {
    const comment = `${name} ${step}`
    const id = own[step % Math.max(1, own.length)] ?? ''
    const kind = own.length < 3 ? 'create' : (['create', 'change', 'delete'] as const)[step % 3]
    const body = new URLSearchParams({ comment })
    if (kind === 'create') body.set('photo_data', PICTURE.toString('base64'))
    if (kind !== 'create') ledger.pending.set(id, kind === 'change' ? comment : null)
    const answer =
      kind === 'create'
        ? fetch(photos, { method: 'POST', body })
        : fetch(`${photos}/${id}`, {
            method: kind === 'change' ? 'PATCH' : 'DELETE',
            redirect: 'manual',
            ...(kind === 'change' && { body }),
          })
    const response = await answer.catch(() => undefined)
    if (!response) return
    const expected = { create: 201, change: 303, delete: 200 }[kind ?? 'create']
    expect([kind, response.status]).toEqual([kind, expected])
    ledger.pending.delete(id)
    if (kind === 'create') {
      const made = response.headers.get('location')?.split('/').at(-1) ?? ''
      own.push(made)
      ledger.kept.set(made, comment)
    } else if (kind === 'change') ledger.kept.set(id, comment)
    else {
      own.splice(own.indexOf(id), 1)
      ledger.kept.delete(id)
      ledger.gone.add(id)
    }
    onWrite()
    // The body of an answer may be cut off by the kill; its head was an acknowledgement all the same.
    await response.arrayBuffer().catch(() => undefined)
  }
}

async function killWhileWriting(server: Served, round: number, ledger: Ledger): Promise<void> {
  let writes = 0
  const onWrite = () => {
    writes++
    if (writes === WRITES + 17 * round) server.process.kill('SIGKILL')
  }
  const names = Array.from({ length: WRITERS }, (_, at) => `${round}.${at}`)
  await Promise.all(names.map(name => write(`${server.root}photos`, name, ledger, onWrite)))
  expect(await server.ended()).toBe('SIGKILL')
}

/** Every photo, page after page, as a client follows `Link`. */
async function everything(url: string): Promise<{ photos: Photo[]; total: number }> {
  const photos: Photo[] = []
  let total = -1
  for (let next: string | undefined = url; next !== undefined; ) {
    const response: Response = await fetch(next)
    photos.push(...(await jsonOf<Photo[]>(response)))
    total = Number(response.headers.get('x-result-count'))
    const links = parseLink(response.headers.get('link') ?? '') ?? []
    next = links.find(({ rel }) => rel === 'next')?.href
  }
  return { photos, total }
}

async function bytesOf(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer())
}

test(
  `kill -9 under ${WRITERS} writers, ${ROUNDS} times: what was acknowledged stays`,
  () =>
    inDirectory(async directory => {
      const database = join(directory, 'it.db')
      const ledger = new Ledger()
      let server = await serve(database)
      for (let round = 0; round < ROUNDS; round++) {
        await killWhileWriting(server, round, ledger)
        expect(ledger.gone.size).toBeGreaterThan(WRITERS)
        server = await serve(database)
        const { photos, total } = await everything(`${server.root}photos?limit=100`)
        expect(photos).toHaveLength(total)
        const found = new Map(photos.map(({ id, comment }) => [id, comment]))
        expect(found.size).toBe(total)
        const wrong = [...ledger.kept].filter(([id, comment]) => {
          const now = found.get(id) ?? null
          return now !== comment && now !== ledger.pending.get(id)
        })
        expect(wrong).toEqual([])
        expect([...ledger.gone].filter(id => found.has(id))).toEqual([])
        // Each item of the list is there when asked for by its id, the same; and so is its file.
        for (const photo of photos.slice(-WRITERS)) {
          expect(await jsonOf(await fetch(`${server.root}photos/${photo.id}`))).toEqual(photo)
        }
        const made = photos.filter(({ id }) => ledger.kept.has(id) || ledger.pending.has(id))
        const files = await Promise.all(made.map(({ photo }) => bytesOf(photo.url)))
        expect(files.filter(bytes => !bytes.equals(PICTURE))).toEqual([])
        // What was in doubt is known now.
        for (const id of ledger.pending.keys()) {
          const now = found.get(id)
          if (now === undefined) ledger.kept.delete(id)
          else ledger.kept.set(id, now)
        }
        ledger.pending.clear()
      }
      expect(await server.ended('SIGTERM')).toBe(0)
    }),
  60_000 * ROUNDS,
)
