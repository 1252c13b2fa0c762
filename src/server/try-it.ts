// `/docs/try`: sends what a form of the documentation holds to a path of this api, in this process, and shows the answer
// on a page. What is sent passes the same checks as any request of the browser: its credentials, its origin, its limits.

import type { Awaitable } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import { endBody, getHeader, type HttpResponse, isLive, isStream } from '../http/message.ts'
import { isSafe } from '../http/methods.ts'
import type { ApiDefinition } from '../model/types/definition.ts'
import { AS_JSON } from '../negotiate.ts'
import { TRY_PARAMETER } from '../openapi/document.ts'
import { noSuchPath } from '../operations/calls/authorize.ts'
import { type DocsPrinter, RequestContext, type Step } from '../operations/calls/context.ts'
import { InnerRequest } from '../operations/calls/derive-call.ts'
import { answerOptionsByHeaders, type Endpoints, methodNotAllowed } from './endpoint.ts'
import { respond } from './respond.ts'

/** Answers the request of a new context. */
export type AnswerRequest = (context: RequestContext) => Awaitable<HttpResponse | undefined>

const METHODS = 'GET, POST, OPTIONS'
const ALLOW = ['Allow', METHODS, 'Access-Control-Allow-Methods', METHODS]

/** @param root the path of the described version below the api. */
export function compileTry(
  api: ApiDefinition,
  root: string,
  printer: DocsPrinter,
  answer: AnswerRequest,
): Endpoints {
  const show: Step = async context => {
    const tried = createTried(context)
    // The inner request is counted.
    context.counted = true
    const response = await answer(tried)
    if (!response) throw noSuchPath(context)
    const { status } = response
    const type = 'text/html; charset=utf-8'
    context.negotiated = { ...AS_JSON, type, contentType: type }
    const start = await readStart(response)
    const text = printer.printAnswer?.({ tried, ...start }, root, context)
    context.result = {
      // A browser asks for credentials after a 401. It would follow a redirect, and show no page of a 204.
      status: status < 400 ? 200 : status,
      headers: [...printer.headers, ...select(response.headers, PASSED_ON)],
      representation: { kind: 'document', name: 'answer', data: null, text },
      isPrivate: true,
    }
  }
  const refuse: Step = context => {
    throw methodNotAllowed(context.method, METHODS)
  }
  const steps = [show, respond]
  const byMethod = new Map<string, readonly Step[]>([
    ['GET', steps],
    ['POST', steps],
    ['OPTIONS', answerOptionsByHeaders(api, ALLOW)],
  ])
  return { byMethod, otherwise: [refuse] }
}

/** Headers of the answer that the browser acts on. */
const PASSED_ON: ReadonlySet<string> = new Set(['set-cookie', 'www-authenticate', 'retry-after'])

function select(headers: readonly string[], names: ReadonlySet<string>): string[] {
  return headers.filter((_, at) => names.has(String(headers[at - (at % 2)]).toLowerCase()))
}

/** The headers of the browser for the page itself. */
const OWN_HEADERS = {
  accept: 'application/json, */*;q=0.5',
  range: undefined,
  'if-range': undefined,
  'if-none-match': undefined,
  'if-modified-since': undefined,
}

/** Creates the context of the request to try. @throws HttpError 400, 404 */
function createTried(context: RequestContext): RequestContext {
  const { api, runtime, request, parameters } = context
  // It would try itself without an end.
  if (request instanceof InnerRequest) throw noSuchPath(context)
  const path = parameters.find(({ name }) => name === TRY_PARAMETER)?.value ?? ''
  // As a path stands in a request: what is decoded here could hold a line break, or another query.
  if (!/^\/[!-~]*$/.test(path) || /[?#\\]/.test(path)) {
    const message = `${TRY_PARAMETER} must be a path of this api, such as /cars/5`
    throw new HttpError(400, [{ message, field: TRY_PARAMETER, type: 'invalid_query' }])
  }
  // A form sends all of its controls.
  const isKept = ({ name, value }: { name: string; value: string }) =>
    name !== TRY_PARAMETER && !(value === '' && isSafe(request.method))
  const query = parameters.filter(isKept).map(({ raw }) => raw)
  const { method, prefix, body } = request
  const target = [api.prefix + path, ...(query.length > 0 ? [query.join('&')] : [])].join('?')
  const headers = { ...request.headers, ...OWN_HEADERS }
  const inner = new InnerRequest(request, { method, target, prefix, headers, body })
  return new RequestContext(runtime, inner, '', false)
}

/** How much is shown of a body, in bytes. */
const MAX_SHOWN = 64 * 1024

const TEXT = /^(?:text\/|application\/(?:x-ndjson|(?:[\w.-]+\+)?(?:json|xml))(?:;|$))/i

/** Reads the start of a body of text. What is not read is never made. */
async function readStart({ status, headers, body }: HttpResponse) {
  const answer = { status, headers, text: undefined, isCut: false }
  if (body === undefined) return answer
  if (isLive(body) || !TEXT.test(getHeader(headers, 'Content-Type') ?? '')) {
    await endBody(body)
    return answer
  }
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of isStream(body) ? body : [body].flat()) {
    pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece)
    size += pieces.at(-1)?.length ?? 0
    if (size > MAX_SHOWN) break
  }
  const isCut = size > MAX_SHOWN
  // A character that is cut is left out.
  const shown = Buffer.concat(pieces).subarray(0, MAX_SHOWN)
  return { ...answer, text: new TextDecoder().decode(shown, { stream: isCut }), isCut }
}
