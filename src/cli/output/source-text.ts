// A stranger's text in source: it stays a name, a value or a comment, whatever it says.

/** What no source should hold as it is: controls, line separators, and what turns the direction of text. */
const HIDDEN = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu
const NAME = /^[A-Za-z_$][\w$]*$/
const MAX_COMMENT = 300
const MAX_NAME = 100

/** Prints a string literal. */
export function printText(text: string): string {
  return JSON.stringify(text).replace(HIDDEN, hidden =>
    hidden.replace(/./gs, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Prints a string literal as the sources of people have it: in single quotes, if it has none itself. */
export function printQuoted(text: string): string {
  const printed = printText(text)
  return /['\\]/.test(printed) ? printed : `'${printed.slice(1, -1)}'`
}

/** Prints the type of a value; `unknown` for lists and objects. */
export function printLiteral(value: unknown): string {
  if (typeof value === 'string') return printText(value)
  // JSON may have numbers that are none here: 1e999.
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'number'
  return typeof value === 'boolean' || value === null ? `${value}` : 'unknown'
}

/** Prints the name of a property: as it is, or quoted. */
export function printName(name: string): string {
  return NAME.test(name) ? name : printText(name)
}

/** Prints a comment of one line above a declaration; nothing for anything but a text. */
export function printComment(text: unknown, indent = ''): string {
  if (typeof text !== 'string' || text.trim() === '') return ''
  const line = text.slice(0, MAX_COMMENT).replace(HIDDEN, ' ').replace(/ +/g, ' ').trim()
  // Neither the end of the comment nor a tag is the stranger's to write.
  const plain = line.replace(/\*(?=\/)/g, '*\\').replace(/(?<![^ ])@/g, '\\@')
  return `${indent}/** ${plain}${text.length > MAX_COMMENT ? ' …' : ''} */\n`
}

/** Gives names of types, each once. */
export class TypeNames {
  /** How often each name was wanted. */
  private readonly wanted = new Map<string, number>()

  constructor(taken: readonly string[]) {
    for (const name of taken) this.wanted.set(name, 1)
  }

  /** Makes the name of a type of any text: `car-model` → `CarModel`; `CarModel2` where there is one. */
  give(text: string): string {
    const words = text
      .slice(0, MAX_NAME)
      .split(/[^A-Za-z0-9]+/)
      .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    const name = words.join('').replace(/^(?=\d|$)/, 'Type')
    let given = name
    while (this.wanted.has(given)) {
      const count = (this.wanted.get(name) ?? 0) + 1
      this.wanted.set(name, count)
      given = `${name}${count}`
    }
    this.wanted.set(given, 1)
    return given
  }
}

/** Prints a comment of one line, behind two slashes. */
export function printNote(text: string, indent = ''): string {
  return printComment(text, indent)
    .replace('/**', '//')
    .replace(/ \*\/\n$/, '\n')
}
