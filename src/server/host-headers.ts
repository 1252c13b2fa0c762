// The headers of an answer together with those that a host server, or its middleware, has set before.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { HeaderList } from '../http/message.ts'

/**
 * Headers that go with what a host server has said already: who may read its answers is its word, and
 * what they vary by is not lost.
 */
export function mergeHostHeaders(
  response: ServerResponse,
  headers: HeaderList,
): HeaderList | OutgoingHttpHeaders {
  const replaced = Object.hasOwn(response, 'writeHead')
  if (!replaced && response.getHeaderNames().length === 0) return headers
  const vary = response.getHeader('vary')
  const own = headers.indexOf('Vary')
  if (vary !== undefined && own !== -1) headers[own + 1] = `${vary}, ${headers[own + 1]}`
  if (!response.hasHeader('access-control-allow-origin')) return groupFields(headers)
  return groupFields(
    headers.filter((_, at) => !headers[at - (at % 2)]?.startsWith('Access-Control-')),
  )
}

/**
 * Each field once, with all its values, in an object: of a list Node 20 sends the last of repeated fields
 * alone where a host has said others, and middleware that replaces `writeHead` (on-headers 1.0, which
 * compression, express-session and morgan used) takes it for pairs.
 */
function groupFields(headers: HeaderList): OutgoingHttpHeaders {
  const fields = new Map<string, [name: string, value: string | string[]]>()
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2)
    const known = fields.get(name.toLowerCase())
    if (known) known[1] = [known[1], value].flat()
    else fields.set(name.toLowerCase(), [name, value])
  }
  return Object.fromEntries(fields.values())
}
