// HTML by a tagged template that escapes every value except `Markup`. Values may stand in text and in
// double-quoted attributes; those of `href`, `src` and `action` must be addresses.
import { memoize } from '../../base/memoize.ts'

/** Safe HTML. */
export class Markup {
  readonly #html: string

  /** Only for `markup` and `raw`: elsewhere it would bypass the escaping. */
  constructor(html: string) {
    this.#html = html
  }

  toString(): string {
    return this.#html
  }
}

/** A value of a template; `undefined`, `null` and `false` print nothing, a list prints its parts. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[]

export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const isAddress = findAddresses(strings)
  let [html = '', ...texts] = strings
  for (const [at, text] of texts.entries()) {
    html += (isAddress[at] ? printAddress(parts[at]) : print(parts[at])) + text
  }
  return new Markup(html)
}

/** Marks a static text as safe HTML. Never pass it a value of a client or a store. */
export function raw(html: string): Markup {
  return new Markup(html)
}

/** Finds the slots that are addresses. A test holds the form of all templates: whole values, in double quotes. */
const findAddresses = memoize((strings: TemplateStringsArray): readonly boolean[] =>
  strings.map(before => /(?:^|\s)(?:href|src|action)="$/.test(before)),
)

function print(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part)
  if (typeof part === 'number') return String(part)
  if (part instanceof Markup) return part.toString()
  if (part === undefined || part === null || part === false) return ''
  return part.map(print).join('')
}

function printAddress(part: Part): string {
  return escapeHtml(safeAddress(part instanceof Markup || !part ? '' : String(part)))
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => String(ESCAPES[char]))
}

/**
 * Allows `http:`, `https:`, and a path, query or fragment of this server. Any other address, such as
 * `javascript:` and `//other.example`, becomes `#`.
 */
export function safeAddress(text: string): string {
  // Browsers drop tabs and line breaks: `/\t/evil.example` would be `//evil.example`.
  if (/[\x00-\x20\x7f\\]/.test(text)) return '#'
  return /^(?:https?:\/\/[^/]|\/(?!\/)|[?#])/i.test(text) ? text : '#'
}

/** Cuts an address of this api to its path: a page stays on the host it came from. */
export function toLocalPath(href: string): string {
  return href.replace(/^https?:\/\/[^/?#]*/i, '') || '/'
}
