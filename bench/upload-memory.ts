// `npx tsx bench/upload-memory.ts [MiB]`: the memory of a server that takes one large file, as
// multipart/form-data over a real socket into a folder. 1024 MiB; the goal is 64 MiB above idle.
import { stat } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { blob, defineApi, defineCollection, fileBlobs, memoryStore } from '../src/index.ts'
import { answerQuestions, inDirectory, report, watched } from './memory.ts'

const MIB = 1024 * 1024
const [, , argument = '1024', folder] = process.argv
const size = Number(argument) * MIB

if (process.send && folder !== undefined) serve(folder)
else await inDirectory(measure)

function serve(blobs: string): void {
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ comment: z.string(), photo: blob() }),
    store: memoryStore(),
    blobs: fileBlobs(blobs),
  })
  const api = defineApi({ collections: [photos], limits: { upload: size } })
  const server = createServer(api.handler).listen(0, '127.0.0.1', () => {
    // A server that listens on a port has an address with a port.
    process.send?.({ port: (server.address() as AddressInfo).port })
  })
  answerQuestions()
}

async function measure(directory: string): Promise<void> {
  const server = await watched(fileURLToPath(import.meta.url), [argument, directory])
  // What is loaded and compiled once is no memory of the upload.
  await upload(server.port, MIB)
  const started = performance.now()
  const { most, result } = await server.watch(() => upload(server.port, size))
  const seconds = (performance.now() - started) / 1000
  const kept = await stat(join(directory, result.slice(0, 2), result)).catch(() => undefined)
  if (kept?.size !== size) throw new Error(`Kept ${kept?.size} bytes instead of ${size}`)
  report(`upload of ${argument} MiB`, most, seconds)
  server.process.kill()
}

/** @returns the key of the content, from the tag of its download. */
async function upload(port: number, bytes: number): Promise<string> {
  const head =
    '--xxx\r\nContent-Disposition: form-data; name="comment"\r\n\r\nlarge\r\n' +
    '--xxx\r\nContent-Disposition: form-data; name="photo"; filename="large.bin"\r\n' +
    'Content-Type: application/octet-stream\r\n\r\n'
  const end = '\r\n--xxx--\r\n'
  const post = request({
    port,
    method: 'POST',
    path: '/photos',
    headers: {
      'content-type': 'multipart/form-data; boundary=xxx',
      'content-length': head.length + bytes + end.length,
    },
  })
  const answer = new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    post.once('error', reject).once('response', async response => {
      const chunks = await response.toArray()
      resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() })
    })
  })
  function* body() {
    yield Buffer.from(head)
    const chunk = Buffer.alloc(Math.min(bytes, 256 * 1024), 1)
    for (let left = bytes; left > 0; left -= chunk.length) yield chunk.subarray(0, left)
    yield Buffer.from(end)
  }
  await pipeline(Readable.from(body()), post)
  const { status, text } = await answer
  if (status !== 201) throw new Error(`${status}: ${text}`)
  const download = await fetch(JSON.parse(text).photo_url, { method: 'HEAD' })
  return download.headers.get('etag')?.slice(1, -1) ?? ''
}
