// An answer as two builds must give it: what is meant to differ (messages, dates of the head, entity tags,
// cursors, UUIDs) is left out or put into the same words.
import { isDeepStrictEqual } from 'node:util'

export interface Answer {
  readonly status: number
  /** Names as they came, in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** What is compared. */
export interface Comparable {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Error types of the build before, and what they are called in the build after. */
const RENAMED_TYPES: Readonly<Record<string, string>> = {
  out_of_sight: 'forbidden_row',
}

/** Of the connection, of the clock, or meant to differ. */
const IGNORED = new Set([
  'access-control-expose-headers',
  'connection',
  'date',
  'keep-alive',
  'server-timing',
  'transfer-encoding',
  'x-request-id',
])

/** @param placeOf the number of a UUID among those that its build made. */
export function toComparable(
  method: string,
  { status, headers, body }: Answer,
  placeOf: (uuid: string) => string,
): Comparable {
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  const text = maskUuids(body.toString('latin1'), placeOf)
  const read = readBody(method, type, status, text)
  const found: Record<string, string> = {}
  for (const [name, value] of headers) {
    if (IGNORED.has(name)) continue
    if (name === 'content-length' && read.inexact) continue
    const masked = maskHeader(name, maskUuids(value, placeOf))
    found[name] = name in found ? `${found[name]} & ${masked}` : masked
  }
  return { status, headers: found, body: read.body }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g

function maskUuids(text: string, placeOf: (uuid: string) => string): string {
  return text.replace(UUID, uuid => placeOf(uuid))
}

function maskHeader(name: string, value: string): string {
  if (name === 'etag') return value.startsWith('W/') ? 'weak' : 'strong'
  if (name === 'last-modified') return 'date'
  if (name === 'www-authenticate') return value.replace(/error_description="[^"]*"/, '…')
  if (name === 'vary') return value.split(', ').sort().join(', ')
  return value.replace(/cursor=[^&>]*/g, 'cursor=…')
}

/** `inexact` where texts that differ make the length differ. */
function readBody(
  method: string,
  type: string,
  status: number,
  text: string,
): { body: unknown; inexact: boolean } {
  // Of HEAD the length is that of a body that is not seen.
  if (method === 'HEAD') return { body: '', inexact: status >= 400 || status === 200 }
  if (method === 'OPTIONS' && status === 200) {
    return { body: /json/.test(type) ? outlineOf(JSON.parse(text)) : '', inexact: true }
  }
  if (/[/+]json\b/.test(type)) {
    const body: unknown = JSON.parse(text)
    const { errors } = Object(body)
    if (!Array.isArray(errors)) return { body, inexact: false }
    return { body: { ...Object(body), ...withoutTexts(errors) }, inexact: true }
  }
  if (/xml\b/.test(type) && /^(?:<\?xml[^>]*>\s*)?<errors/.test(text)) {
    const body = text.replace(/<message>[\s\S]*?<\/message>/g, '')
    return { body: body.replace(/(?<=<type>)\w+/g, renamed), inexact: true }
  }
  const failed = status >= 400 || /^(?:message,code,|\{"message":)/.test(text)
  return { body: failed ? '' : text, inexact: failed }
}

function withoutTexts(errors: readonly unknown[]) {
  return {
    detail: '',
    type: '',
    errors: errors.map(error => {
      const { code, field, type } = Object(error)
      return { code, field, type: renamed(String(type)) }
    }),
  }
}

function renamed(type: string): string {
  return RENAMED_TYPES[type] ?? type
}

/** Of a description: the methods, with the names of their parameters and the statuses they answer. */
function outlineOf(description: unknown): unknown {
  return Object.fromEntries(
    Object.entries(Object(description)).map(([name, value]) => {
      const { parameters, responses, requestBody } = Object(value)
      const names = Array.isArray(parameters) ? parameters.map(each => Object(each).name) : []
      const types = Object.keys(Object(Object(requestBody).content))
      return [name, { names: names.sort(), types, statuses: Object.keys(Object(responses)) }]
    }),
  )
}

/** What differs, in one line each: the same difference of two questions has the same first word. */
export function differencesOf(before: Comparable, after: Comparable): string[] {
  const found: string[] = []
  if (before.status !== after.status) found.push(`status: ${before.status} → ${after.status}`)
  const names = new Set([...Object.keys(before.headers), ...Object.keys(after.headers)])
  for (const name of names) {
    const [one, other] = [before.headers[name], after.headers[name]]
    if (one !== other) found.push(`header ${name}: ${one ?? '(none)'} → ${other ?? '(none)'}`)
  }
  if (!isDeepStrictEqual(before.body, after.body)) {
    found.push(`body: ${excerpts(before.body, after.body).join(' → ')}`)
  }
  return found
}

/** Both from a little before where they begin to differ. */
function excerpts(...values: readonly unknown[]): string[] {
  const texts = values.map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
  const [one = '', other = ''] = texts
  const at = [...one].findIndex((letter, at) => letter !== other[at])
  const from = Math.max(0, (at < 0 ? one.length : at) - 80)
  return texts.map(text => `${from > 0 ? '…' : ''}${text.slice(from, from + 200)}`)
}
