// The names of collections and properties, made of those of tables and columns.

/** Words whose plural is no rule's. */
const PLURALS: Readonly<Record<string, string>> = { person: 'people', child: 'children' }
const ALIKE =
  /(?:^|_)(?:data|metadata|media|news|info|information|staff|people|children|series|equipment)$/
/** Words that end in s, and are one. */
const ONE = /(?:ss|us|is|[^aeiou]as)$/
/** What a module cannot call a variable, or what its own are called. */
const TAKEN =
  /^(?:api|data(?:base)?|db|docs|news|openapi|pg|pool|table|z|process|this|class|switch|yes|v\d+)$/

export interface CollectionName {
  /** The name of the collection, and of its variable. */
  readonly name: string
  /** The name of an item, if the library would not find it. */
  readonly itemName: string | undefined
}

/** Gives names of one place, each once. */
export class Names {
  private readonly given = new Set<string>()

  /** Gives a name, or the same with a number behind it. */
  give(name: string): string {
    let unique = name
    for (let count = 2; this.given.has(unique); count++) unique = `${name}_${count}`
    this.given.add(unique)
    return unique
  }
}

/** Names the collection of a table: `MediaType` → `media_types`; `actor` → `actors`. */
export function nameCollection(table: string, names: Names): CollectionName {
  const words = table
    .slice(0, 100)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/_$/, '')
    .toLowerCase()
  const plural = toPlural(words || 'items')
  const name = names.give(TAKEN.test(plural) ? `${plural}_items` : plural)
  const isPlain =
    name === words || name === `${words}s` || /[^aeiou]ies$|(?:ss|sh|ch|x|z)es$/.test(name)
  return { name, itemName: isPlain && !ALIKE.test(words) ? undefined : words || 'item' }
}

/** Makes the plural of a word: `category` → `categories`. */
export function toPlural(words: string): string {
  const last = words.slice(words.lastIndexOf('_') + 1)
  const known = Object.hasOwn(PLURALS, last) ? PLURALS[last] : undefined
  if (known) return words.slice(0, -last.length) + known
  if (ALIKE.test(words) || (last.endsWith('s') && !ONE.test(last))) return words
  if (/[^aeiou]y$/.test(words)) return `${words.slice(0, -1)}ies`
  if (/[^aeiou]is$/.test(words)) return `${words.slice(0, -2)}es`
  return /(?:s|sh|ch|x|z)$/.test(words) ? `${words}es` : `${words}s`
}

/** Names the property of a column: as it is, but for what no path and no object has. */
export function nameProperty(column: string, names: Names): string {
  const plain = column
    .slice(0, 200)
    .replace(/[^\p{L}\p{M}\p{N}_$-]+/gu, '_')
    .replace(/^-+/, '_')
  return names.give(plain === '' || plain in {} ? `${plain}_` : plain)
}

/** What only its owner should know, such as `password_hash` and `resetToken`. */
const SECRET =
  /(?:^|_)(?:password|passwd|passphrase|pwd|secret|token|hash|digest|salt|api_?key|private_?key)(?:_|s?$)/

/** Whether a column holds a secret, by its name. */
export function isSecret(column: string): boolean {
  const words = column.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
  return SECRET.test(words) && !/_id$/.test(words)
}
