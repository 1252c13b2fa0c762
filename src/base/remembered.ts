// A cache of results by text. Clients choose the texts, so it keeps a limited number of short ones.

export class Remembered<T> {
  readonly #results = new Map<string, T>()
  readonly #most: number
  readonly #longest: number

  /** @param longest in characters: the result of a longer text is made each time. */
  constructor(most: number, longest: number) {
    this.#most = most
    this.#longest = longest
  }

  /** Returns the result of a text, computed where it is not kept. */
  get(text: string, make: (text: string) => T): T {
    const known = this.#results.get(text)
    if (known !== undefined || this.#results.has(text)) return known as T // it has the text
    const made = make(text)
    if (text.length > this.#longest) return made
    if (this.#results.size >= this.#most) this.#results.clear()
    this.#results.set(text, made)
    return made
  }
}
