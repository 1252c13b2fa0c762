// Blobs as files in a folder: written aside, synced, then renamed into place.
import { createReadStream } from 'node:fs'
import { mkdir, open, opendir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkOptions, FILLED_TEXT, needed } from '../options.ts'
import { DiskFullError, UnavailableError } from '../store/errors.ts'
import { createBlobKey, isBlobKey } from './blob-key.ts'
import type { BlobStore } from './blob-store.ts'

/** How many characters of a key name its folder. */
const FOLDER_NAME = 2

/**
 * Stores each content in a file under `folder`, which is created where it is missing. Names are random;
 * files lie in 4096 folders by the first characters of their name. An acknowledged content has reached
 * the disk (fsync of the file, of its folder, and of `folder` where that one is new). An unfinished one
 * is a file ending in `.part`; {@link BlobStore.keys} lists it too, so that a sweep removes it. Other files
 * in the folder are neither listed nor removed.
 * @throws TypeError for anything but the path of a folder.
 * @example
 * import { fileBlobs } from 'rest-conventions'
 * const blobs = fileBlobs('data/photos')
 */
export function fileBlobs(folder: string): BlobStore {
  checkOptions('fileBlobs', { folder }, { folder: needed(FILLED_TEXT) })
  const toFolder = (key: string) => join(folder, key.slice(0, FOLDER_NAME))
  const toPath = (key: string) => join(toFolder(key), key)

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
      const key = createBlobKey()
      const part = `${toPath(key)}.part`
      try {
        const created = await mkdir(toFolder(key), { recursive: true })
        if (created !== undefined) await syncFolder(folder)
        const size = await write(part, content, signal)
        await rename(part, toPath(key))
        await syncFolder(toFolder(key))
        return { key, size }
      } catch (error) {
        for (const path of [part, toPath(key)])
          await rm(path, { force: true }).catch(() => undefined)
        throw toStoreError(error)
      }
    },
    async get(key, range, { signal } = {}) {
      if (!isBlobKey(key)) return undefined
      const found = await stat(toPath(key)).catch(ignoreMissing)
      return found?.isFile() ? readFile(toPath(key), range, signal) : undefined
    },
    async delete(key) {
      if (isOwnName(key)) await rm(toPath(key), { force: true })
    },
    async *keys() {
      await mkdir(folder, { recursive: true })
      for await (const { name: start } of await opendir(folder)) {
        if (start.length !== FOLDER_NAME) continue
        for (const name of await readdir(join(folder, start)).catch(() => [])) {
          if (!isOwnName(name) || !hasStart(name, start)) continue
          // It may have been renamed or removed since it was listed.
          const found = await stat(toPath(name)).catch(() => undefined)
          if (found?.isFile()) yield { key: name, createdAt: found.mtimeMs }
        }
      }
    },
  }
}

/** Whether a file may have been made by `put`, whole or not. */
function isOwnName(name: string): boolean {
  return isBlobKey(name.replace(/\.part$/, ''))
}

/** Whether a file stands in its folder: some systems take `aB` and `ab` for the same. */
function hasStart(name: string, start: string): boolean {
  return name.toLowerCase().startsWith(start.toLowerCase())
}

const FULL = new Set(['ENOSPC', 'EDQUOT'])
/** A broken, read-only, closed or lost disk, no free descriptors, or a content that was removed meanwhile. */
const UNAVAILABLE = new Set([
  ...['ENOENT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EACCES', 'EPERM'],
  ...['ENOTDIR', 'ELOOP', 'ESTALE', 'ENODEV', 'ENXIO', 'ENOTCONN', 'EHOSTDOWN'],
])

/** @throws UnavailableError where the file may be there, and cannot be looked at. */
function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw toStoreError(error)
}

function toStoreError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (FULL.has(code)) return new DiskFullError({ cause: error })
  if (!UNAVAILABLE.has(code)) return error
  return new UnavailableError('The folder of the blobs cannot be used', { cause: error })
}

/** Reads a content. The file is opened when the first bytes are read. */
async function* readFile(
  path: string,
  range: { first: number; last: number } | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    const part = range && { start: range.first, end: range.last }
    // With a signal that is aborted already, Node opens the file and never closes it.
    signal?.throwIfAborted()
    yield* createReadStream(path, { ...part, ...(signal && { signal }) })
  } catch (error) {
    throw toStoreError(error)
  }
}

/** Syncs a folder, so that a new name in it is durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
