// The client of the benches of uploads.
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export const MIB = 1024 * 1024

/**
 * Sends a photo of a comment and one file, as multipart/form-data over a real socket.
 * @returns the body of the answer.
 */
export async function upload(port: number, bytes: number): Promise<string> {
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
  return text
}
