// What tables that open at the same time have to tell: one warning for all of them, as at the start of a program.
import { emitWarning } from 'node:process'

/** What is to be told of a table; the same of several tables is told once, with the statements of all. */
export interface Advice {
  readonly table: string
  readonly text: string
  /** A statement to run. */
  readonly line?: string
}

export class StartAdvice {
  #opening = 0
  readonly #gathered: (Advice | string)[] = []

  /** Opens a table, and tells what is to be told once no other table opens. */
  async gather<T extends { readonly advice: readonly (Advice | string)[] }>(
    open: () => Promise<T>,
  ): Promise<T> {
    this.#opening++
    try {
      const opened = await open()
      this.#gathered.push(...opened.advice)
      return opened
    } finally {
      this.#opening--
      if (this.#opening === 0) this.#tell()
    }
  }

  #tell(): void {
    const texts: string[] = []
    const named = new Map<string, Advice[]>()
    for (const each of this.#gathered.splice(0)) {
      if (typeof each === 'string') texts.push(each)
      else named.set(each.text, [...(named.get(each.text) ?? []), each])
    }
    for (const [text, of] of named) {
      const lines = of.flatMap(({ line }) => (line === undefined ? [] : [`\n${line};`]))
      texts.push(`${of.map(({ table }) => table).join(', ')}: ${text}${lines.join('')}`)
    }
    if (texts.length > 0) emitWarning(texts.join('\n'), { code: 'REST_CONVENTIONS_TABLE' })
  }
}
