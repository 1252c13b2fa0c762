// The requests of a work, asked once and their answers checked, before anything is timed.
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { Answer, Contestant, Request, Work } from './works.ts'

/** Of more requests, so many are asked before the rounds. */
const MAX_CHECKED = 100

/** @throws Error for another status, AssertionError for another answer. */
export async function requestsOf(
  title: string,
  work: Work,
  contestant: Contestant,
  port: number,
): Promise<Request[]> {
  const ask = (request: Request) => asking(port, request)
  const bare = await work.requests(contestant.constant ? { name: '' } : contestant, ask)
  // As every client that is no test sends one.
  const requests = bare.map(request => ({
    ...request,
    headers: { Accept: 'application/json', ...request.headers },
  }))
  const step = Math.ceil(requests.length / MAX_CHECKED)
  for (const request of requests.filter((_request, at) => at % step === 0)) {
    const answer = await ask(request)
    if (answer.status !== work.status) {
      throw new Error(`${contestant.name}: ${title} ${request.path} gave ${answer.status}`)
    }
    if (!contestant.constant) work.check(contestant, request, answer)
  }
  return requests
}

/** Not by `fetch`: it adds a `Cache-Control` to conditional requests, and Express then answers 200. */
async function asking(port: number, { body: sent, ...options }: Request): Promise<Answer> {
  const request = httpRequest({ port, host: '127.0.0.1', ...options }).end(sent)
  const [response] = await once(request, 'response')
  const text = (await response.toArray()).join('')
  const body: unknown = text === '' ? undefined : JSON.parse(text)
  return { status: response.statusCode, headers: new Headers(response.headers), body }
}
