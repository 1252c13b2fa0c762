// Blobs as files of one folder: written aside, synced, then renamed into their place.
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkOptions, FILLED_TEXT, needed } from '../options.ts'
import { UnavailableError } from '../store/store.ts'
import type { BlobStore } from './blob-store.ts'

const KEY = /^[A-Za-z0-9_-]{24}$/

/**
 * Keeps each content in a file under `folder`, which is made where it is missing. Names are random;
 * files lie in 4096 folders by the beginning of their name. An acknowledged content has reached the
 * disk (fsync of the file, of its folder, and of `folder` where that one is new); an unfinished one
 * is a file ending in `.part`, which {@link BlobStore.keys} gives too, so that a sweep removes it.
 * @throws TypeError for a folder that is no text.
 */
export function fileBlobs(folder: string): BlobStore {
  checkOptions('fileBlobs', { folder }, { folder: needed(FILLED_TEXT) })
  const folderOf = (key: string) => join(folder, key.slice(0, 2))
  const pathOf = (key: string) => join(folderOf(key), key)

  async function write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<number> {
    const file = await open(path, 'wx')
    let size = 0
    try {
      for await (const chunk of content) {
        signal?.throwIfAborted()
        await file.writeFile(chunk)
        size += chunk.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    return size
  }

  return {
    async put(content, { signal } = {}) {
      const key = randomBytes(18).toString('base64url')
      const part = `${pathOf(key)}.part`
      try {
        const made = await mkdir(folderOf(key), { recursive: true })
        if (made !== undefined) await syncFolder(folder)
        const size = await write(part, content, signal)
        await rename(part, pathOf(key))
        await syncFolder(folderOf(key))
        return { key, size }
      } catch (error) {
        for (const path of [part, pathOf(key)])
          await rm(path, { force: true }).catch(() => undefined)
        throw meaningOf(error)
      }
    },
    async get(key, range) {
      if (!KEY.test(key) || !(await exists(pathOf(key)))) return undefined
      return contentOf(pathOf(key), range)
    },
    async delete(key) {
      if (KEY.test(key.replace(/\.part$/, ''))) await rm(pathOf(key), { force: true })
    },
    async *keys() {
      await mkdir(folder, { recursive: true })
      for await (const entry of await opendir(folder, { recursive: true })) {
        if (!entry.isFile()) continue
        // One that was renamed or removed since it was listed is none any more.
        const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined)
        if (found) yield { key: entry.name, createdAt: found.mtimeMs }
      }
    },
  }
}

/** A disk that is full, broken or not to be written, no descriptor left; a content that was replaced meanwhile. */
const UNAVAILABLE = new Set(['ENOENT', 'ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE'])

function meaningOf(error: unknown): unknown {
  const known = error instanceof Error && 'code' in error && UNAVAILABLE.has(String(error.code))
  if (!known) return error
  return new UnavailableError('The folder of contents cannot be used', { cause: error })
}

/** Opened when it is read: what nobody reads holds nothing open. */
async function* contentOf(
  path: string,
  range?: { first: number; last: number },
): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, range ? { start: range.first, end: range.last } : {})
  } catch (error) {
    throw meaningOf(error)
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isFile(),
    () => false,
  )
}

/** Makes a new name as durable as the bytes it stands for. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
