// HTML by a tagged template that escapes: what is not `Markup` already is text. Values may stand in
// text and in double-quoted attributes; those of `href`, `src` and `action` must be addresses.

/** HTML that is safe as it stands: only `markup` makes it. */
export class Markup {
  readonly #html: string

  /** For `markup` and `raw` of this file; elsewhere it would go round the escaping. */
  constructor(html: string) {
    this.#html = html
  }

  toString(): string {
    return this.#html
  }
}

/** What a template takes; `undefined`, `null` and `false` print nothing, a list prints its parts. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[]

export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const places = placesOf(strings)
  let [html = '', ...texts] = strings
  for (const [at, text] of texts.entries()) {
    html += (places[at] === 'address' ? printAddress(parts[at]) : print(parts[at])) + text
  }
  return new Markup(html)
}

/** A static text of our own, such as a style sheet, unescaped. Never give it anything of a client or a store. */
export function raw(html: string): Markup {
  return new Markup(html)
}

type Place = 'text' | 'address'

const known = new WeakMap<TemplateStringsArray, readonly Place[]>()

/** @throws TypeError for a template with a value in an attribute without double quotes. */
function placesOf(strings: TemplateStringsArray): readonly Place[] {
  const found = known.get(strings)
  if (found) return found
  let context: Context = 'text'
  const places = strings.slice(0, -1).map((before, at): Place => {
    context = contextAfter(before, context)
    const bare = context === 'tag' ? /=\s*(?:'[^']*)?$/ : /^\s*[\w-]+=\s*'?$/
    if (context !== 'quoted' && bare.test(before)) {
      throw new TypeError(`A value in a template needs double quotes: ${before.slice(-32)}`)
    }
    const whole = /(?:^|\s)(?:href|src|action|formaction)="$/.test(before)
    return whole && strings[at + 1]?.startsWith('"') ? 'address' : 'text'
  })
  known.set(strings, places)
  return places
}

type Context = 'text' | 'tag' | 'quoted'

/** Where in HTML a piece of a template ends; what begins with attributes counts as text. */
function contextAfter(piece: string, context: Context): Context {
  for (const char of piece) {
    if (context === 'text') context = char === '<' ? 'tag' : 'text'
    else if (char === '"') context = context === 'tag' ? 'quoted' : 'tag'
    else if (char === '>' && context === 'tag') context = 'text'
  }
  return context
}

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

/** A text for HTML, in an element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => String(ESCAPES[char]))
}

/**
 * An address that a link may have: `http:` or `https:`, or a path, query or fragment of this server.
 * Anything else, `javascript:` and `//other.example` among it, becomes `#`.
 */
export function safeAddress(text: string): string {
  // Browsers drop tabs and line breaks from addresses: `/\t/evil.example` would be `//evil.example`.
  if (/[\x00-\x20\x7f\\]/.test(text)) return '#'
  return /^(?:https?:\/\/[^/]|\/(?!\/)|[?#])/i.test(text) ? text : '#'
}
