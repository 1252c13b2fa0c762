// The text of statements. A fragment is a piece of one, with the values that are bound in it; pieces
// are put together as texts, which takes less than a tree of them: docs/decisions/sql-as-text.md.
import { createHash } from 'node:crypto'

/** Marks a bound value in a text; no statement contains it otherwise. */
const BOUND = '\0'

/** A piece of a statement, and the values bound in it, in their order. */
export class Fragment {
  readonly text: string
  readonly values: readonly unknown[]

  constructor(text: string, values: readonly unknown[] = []) {
    this.text = text
    this.values = values
  }
}

/** Builds a fragment from a template: fragments are inserted as text, all other values are bound. */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Fragment {
  let text = strings[0] ?? ''
  const values: unknown[] = []
  for (let at = 0; at < parts.length; at++) {
    const each = parts[at]
    if (each instanceof Fragment) {
      text += each.text
      for (const value of each.values) values.push(value)
    } else {
      text += BOUND
      values.push(each)
    }
    text += strings[at + 1]
  }
  return new Fragment(text, values)
}

/** Marks the place of a value, which each run binds anew. */
export const PLACEHOLDER = sql`${''}`

/** Makes a fragment of a text, which must never come from a request. */
sql.raw = (text: string): Fragment => new Fragment(unbound(text))

/** Quotes a declared name. */
sql.id = (name: string): Fragment => new Fragment(quoted(name))

/** Quotes a table's name, and its schema before a dot. */
sql.table = (name: string): Fragment => new Fragment(name.split('.').map(quoted).join('.'))

/** Prints a literal: a number, or a text that comes from no request. */
sql.lit = (value: string | number): Fragment =>
  new Fragment(
    typeof value === 'number' ? String(value) : `'${unbound(value).replaceAll("'", "''")}'`,
  )

sql.join = (fragments: readonly Fragment[], separator = ', '): Fragment => {
  let text = ''
  const values: unknown[] = []
  for (const each of fragments) {
    text += text === '' ? each.text : separator + each.text
    for (const value of each.values) values.push(value)
  }
  return new Fragment(text, values)
}

/** How a database marks bound values. */
export interface PlaceholderStyle {
  /** Prints the placeholder of a bound value; positions count from 1. */
  placeholder(position: number): string
}

/** Prints a fragment as a whole statement. */
export function print(
  { text, values }: Fragment,
  { placeholder }: PlaceholderStyle,
): { readonly sql: string; readonly parameters: readonly unknown[] } {
  let printed = ''
  let from = 0
  for (let position = 1; position <= values.length; position++) {
    const to = text.indexOf(BOUND, from)
    printed += text.slice(from, to) + placeholder(position)
    from = to + 1
  }
  return { sql: printed + text.slice(from), parameters: values }
}

function quoted(name: string): string {
  return `"${unbound(name).replaceAll('"', '""')}"`
}

function unbound(text: string): string {
  if (text.includes(BOUND)) throw new TypeError('SQL has no text with U+0000')
  return text
}

/** Shortens a name that a database would cut: two cut names may be the same. */
export function shorten(name: string, longest: number): string {
  if (Buffer.byteLength(name) <= longest) return name
  const cut = Buffer.from(name)
    .subarray(0, longest - 9)
    .toString()
    .replace(/\uFFFD+$/, '')
  return `${cut}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
