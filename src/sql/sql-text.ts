// The text of statements. A fragment is a piece of one, with the values that are bound in it; pieces
// are put together as texts, which costs a tenth of what Kysely's own tag does.
/** Stands in a text where a value is bound: no statement holds it otherwise. */
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

/** Fragments in a template are put in as they are, everything else is bound. */
export function sql(strings: TemplateStringsArray, ...given: readonly unknown[]): Fragment {
  let text = strings[0] ?? ''
  const values: unknown[] = []
  for (let at = 0; at < given.length; at++) {
    const each = given[at]
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

/** Text as it is: never what came with a request. */
sql.raw = (text: string): Fragment => new Fragment(unbound(text))

/** A name of the declaration's, quoted. */
sql.id = (name: string): Fragment => new Fragment(quoted(name))

/** A table's name, with its schema in front where it has a dot. */
sql.table = (name: string): Fragment => new Fragment(name.split('.').map(quoted).join('.'))

/** A literal: a text of the declaration's, or a number. */
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

/** The name of a property: a literal where the schema has it, so that an index on the expression serves it. */
export function literalOrBound(text: string, declared: boolean): Fragment {
  return declared ? sql.lit(text) : sql`${text}`
}

/** How a database marks bound values. */
export interface PlaceholderStyle {
  /** What stands for a bound value; positions count from 1. */
  placeholder(position: number): string
}

/** A fragment as a whole statement. */
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
