// `npx tsx bench/upload-memory.ts [MiB]`: the memory of a server that takes one large file, as
// multipart/form-data over a real socket into a folder. 1024 MiB; the goal is 64 MiB above idle.
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { blob, defineApi, defineCollection, fileBlobs, memoryStore } from '../src/index.ts'
import { inDirectory, report, watched } from './memory.ts'
import { answerQuestions } from './questions.ts'
import { MIB, upload } from './uploads.ts'

const [, , argument = '1024', folder] = process.argv
const size = Number(argument) * MIB

if (process.send && folder !== undefined) await serveFolder(folder)
else await inDirectory(measure)

async function serveFolder(blobs: string): Promise<void> {
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ comment: z.string(), photo: blob() }),
    store: memoryStore(),
    blobs: fileBlobs(blobs),
  })
  const api = defineApi({ collections: [photos], limits: { upload: size } })
  await answerQuestions(createServer(api.handler).listen(0, '127.0.0.1'))
}

async function measure(directory: string): Promise<void> {
  const server = await watched(fileURLToPath(import.meta.url), [argument, directory])
  // What is loaded and compiled once is no memory of the upload.
  await upload(server.port, MIB)
  const started = performance.now()
  const { most, result } = await server.watch(() => upload(server.port, size))
  const seconds = (performance.now() - started) / 1000
  const download = await fetch(JSON.parse(result).photo_url, { method: 'HEAD' })
  const key = download.headers.get('etag')?.slice(1, -1) ?? ''
  const kept = await stat(join(directory, key.slice(0, 2), key)).catch(() => undefined)
  if (kept?.size !== size) throw new Error(`Kept ${kept?.size} bytes instead of ${size}`)
  report(`upload of ${argument} MiB`, most, seconds)
  server.process.kill()
}
