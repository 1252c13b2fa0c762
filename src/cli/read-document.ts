// The OpenAPI document of an API: from its address, a file or the standard input.
import { createReadStream } from 'node:fs'
import { parseLink } from '../http/link.ts'
import { getBelow, isObject, type JsonObject } from './json.ts'
import { CommandError } from './output/command-error.ts'

/** In bytes. */
const MAX_SIZE = 10 * 2 ** 20
const TIMEOUT = 30_000
const MAX_REDIRECTS = 5

/** The variable of the environment that holds the token. */
export const TOKEN = 'REST_CONVENTIONS_TOKEN'

/**
 * Reads a document.
 * @param source the address of an API or of a document, the path of a file, or `-` for the standard input.
 * @param token is sent to the origin of the address alone.
 * @param timeout in milliseconds, for all requests together.
 * @throws CommandError where no document is found
 */
export async function readDocument(
  source: string,
  token?: string,
  timeout = TIMEOUT,
): Promise<JsonObject> {
  if (/^https?:\/\//i.test(source)) return fetchDocument(source, timeout, token)
  const name = source === '-' ? 'The standard input' : source
  const bytes = source === '-' ? process.stdin : createReadStream(source)
  const text = await readText(bytes, name).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof CommandError) throw error
    const reason = error.code === 'ENOENT' ? 'There is no such file' : error.message
    throw new CommandError(`Cannot read ${name}. ${reason}`)
  })
  return toDocument(parse(text, name), name)
}

async function fetchDocument(source: string, timeout: number, token?: string): Promise<JsonObject> {
  if (!URL.canParse(source)) throw new CommandError(`${source} is not a URL`)
  const url = new URL(source)
  if (url.username || url.password)
    throw new CommandError(`Set ${TOKEN} instead of a name and a password in the URL`)
  const request = createRequest(timeout, token)
  const isLikely = url.pathname.endsWith('/openapi.json')
  const { value, response } = await request(isLikely ? toLight(url) : url)
  if (isDocument(value)) return value
  const links = parseLink(response.headers.get('link') ?? '')
  const href = links.find(({ rel }) => rel === 'service-desc')?.href
  const below = new URL(`${url.pathname.replace(/\/$/, '')}/openapi.json`, url)
  const linked =
    href !== undefined && URL.canParse(href, response.url) ? new URL(href, response.url) : below
  // The API may not know the origin that it is reached at.
  const found = toLight(linked.origin === url.origin ? linked : below)
  return toDocument((await request(found)).value, found.href)
}

/** Asks for the light document, with JSON alone. */
function toLight(url: URL): URL {
  const light = new URL(url)
  if (light.search === '') light.search = '?formats=json'
  return light
}

/** Creates what requests JSON, and follows redirects: with a token only within an origin. */
function createRequest(timeout: number, token?: string) {
  if (token !== undefined && !/^[\x20-\x7e]+$/.test(token))
    throw new CommandError(`${TOKEN} has characters that no header can have`)
  // A scheme may stand before it.
  const authorization = token && (token.includes(' ') ? token : `Bearer ${token}`)
  const headers = { accept: 'application/json', ...(authorization && { authorization }) }
  const signal = AbortSignal.timeout(timeout)

  return async (first: URL) => {
    let url = first
    try {
      for (let count = 0; ; count++) {
        const response = await fetch(url, { headers, signal, redirect: 'manual' })
        const location =
          /^30[12378]$/.test(`${response.status}`) && response.headers.get('location')
        if (!location) return { response, value: await readResponse(response, url, token) }
        await response.body?.cancel()
        url = follow(url, location, count, token)
      }
    } catch (error) {
      throw toCommandError(error, url, timeout)
    }
  }
}

function follow(url: URL, location: string, count: number, token?: string): URL {
  const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
  if (!next || !/^https?:$/.test(next.protocol))
    throw new CommandError(`${url.href} redirects to an invalid URL`)
  if (token !== undefined && next.origin !== url.origin)
    throw new CommandError(
      `${url.href} redirects to ${next.origin}, and the token is not sent there. Give that URL if you trust it`,
    )
  if (count >= MAX_REDIRECTS)
    throw new CommandError(`${url.href} redirects more than ${MAX_REDIRECTS} times`)
  return next
}

async function readResponse(response: Response, url: URL, token?: string): Promise<unknown> {
  const { status, ok, body } = response
  if (ok) return parse(await readText(body ?? [], url.href), url.href)
  await body?.cancel()
  const hint =
    token === undefined ? `Set ${TOKEN}, if it needs credentials` : `Check ${TOKEN}, and its scopes`
  throw new CommandError(
    `${url.href} returned ${status}. ${status === 401 || status === 403 ? hint : 'Check the URL'}`,
  )
}

function toCommandError(error: unknown, { href, origin }: URL, timeout: number): CommandError {
  if (error instanceof CommandError) return error
  const { name, message, cause } = Object(error)
  if (name === 'TimeoutError')
    return new CommandError(`${href} did not respond within ${timeout / 1000} seconds`)
  const { message: reason, code } = Object(cause)
  return new CommandError(`Cannot reach ${origin}: ${reason || code || message}`)
}

async function readText(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_SIZE) throw new CommandError(`${name} has more than ${MAX_SIZE / 2 ** 20} MiB`)
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandError(`${name} is not JSON`)
  }
}

function isDocument(value: unknown): value is JsonObject {
  return isObject(value) && String(getBelow(value, 'openapi')).startsWith('3.')
}

function toDocument(value: unknown, name: string): JsonObject {
  if (isDocument(value)) return value
  throw new CommandError(
    `${name} is not an OpenAPI document. Give the URL of an API, or a file with its /openapi.json`,
  )
}
