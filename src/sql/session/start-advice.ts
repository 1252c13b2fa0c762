// Collects the advice for tables that open at the same time, as at the start of a program, into one warning.
import { emitWarning } from 'node:process'

/** Advice for a table. Equal advice for several tables is printed once, with the statements of all. */
export interface Advice {
  readonly table: string
  readonly text: string
  /** A statement to run. */
  readonly line?: string
}

export class StartAdvice {
  #opening = 0
  readonly #gathered: (Advice | string)[] = []

  /** Opens a table. Emits the warning once no other table is opening. */
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
      if (this.#opening === 0) this.#emit()
    }
  }

  #emit(): void {
    const messages: string[] = []
    const named = new Map<string, Advice[]>()
    for (const each of this.#gathered.splice(0)) {
      if (typeof each === 'string') messages.push(each)
      else named.set(each.text, [...(named.get(each.text) ?? []), each])
    }
    for (const [text, of] of named) {
      const lines = of.flatMap(({ line }) => (line === undefined ? [] : [`\n${line};`]))
      messages.push(`${of.map(({ table }) => table).join(', ')}: ${text}${lines.join('')}`)
    }
    if (messages.length > 0) emitWarning(messages.join('\n'), { code: 'REST_CONVENTIONS_TABLE' })
  }
}
