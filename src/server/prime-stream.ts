// Streamed bodies. The first piece is read before the head of the answer is sent, so that a failure until
// then is an error response. A later failure breaks the answer off and is reported too. Each piece is read
// in a turn: writes that the socket takes at once would never reach the event loop.

import { iterate } from '../base/iterate.ts'
import type { BodyChunk, StreamBody } from '../http/message.ts'
import type { RequestContext } from '../operations/calls/context.ts'
import { toReportedError } from './report-error.ts'

/**
 * Reads the first chunk of a body, within the time for work.
 * @param length the bytes that `Content-Length` says, where it does: a body of fewer or more fails, as
 * the connection could not be kept in step behind it (RFC 9112 §6.3).
 * @throws what the body throws, a store's own error as an HttpError; HttpError 503 where the time is over.
 */
export async function primeStream(
  context: RequestContext,
  body: StreamBody,
  length: number | undefined,
): Promise<StreamBody> {
  const { request, runtime } = context
  const chunks = body[Symbol.asyncIterator]()
  let sent = 0

  function count({ done, value }: IteratorResult<BodyChunk>): void {
    if (length === undefined) return
    if (!done) sent += value.length
    if (done ? sent === length : sent <= length) return
    throw new Error(`A content of ${length} bytes came with ${sent}${done ? '' : ' or more'}`)
  }

  async function read(): Promise<IteratorResult<BodyChunk>> {
    try {
      const result = await chunks.next()
      count(result)
      // Too late: it must not stay open for nobody.
      if (request.aborted) request.signal.throwIfAborted()
      return result
    } catch (error) {
      await chunks.return?.()
      throw error
    }
  }

  // To wait for others is no work of its own, so the time for work begins behind it.
  await request.takeTurn?.()
  const first = await runtime.workload.run(read, request)
  // A small content is whole by now: nothing of it stays open for a reader that may never come.
  if (length !== undefined && sent === length) await chunks.return?.()
  let ahead = first.done ? undefined : first.value
  let turns = 0
  return iterate(async () => {
    const value = ahead
    ahead = undefined
    if (value !== undefined) return value
    // A stream that ends with its first piece needs one turn.
    if (turns++ > 0) await request.takeTurn?.()
    try {
      const result = await read()
      return result.done ? undefined : result.value
    } catch (error) {
      toReportedError(context, error)
      throw error
    }
  }, chunks)
}
