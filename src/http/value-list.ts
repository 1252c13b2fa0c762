// Several values in one parameter, `[in]=red,blue`: separated by commas; `\,` is a comma, `\\` a backslash.

/** Reads the values of one text. */
export function splitValues(text: string): string[] {
  const values: string[] = []
  let value = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    const next = text[at + 1]
    if (char === '\\' && (next === ',' || next === '\\')) {
      value += next
      at++
    } else if (char === ',') {
      values.push(value)
      value = ''
    } else value += char
  }
  return [...values, value]
}

/** Prints values so that {@link splitValues} gives them back. */
export function joinValues(values: readonly string[]): string {
  return values.map(value => value.replace(/[\\,]/g, '\\$&')).join(',')
}

/**
 * The texts of a filter as a program gives it. Each of a list is one value, whatever is in it; a text
 * alone is as a client would send it.
 */
export function textsOf(name: string, given: unknown): string[] {
  if (!Array.isArray(given)) return [String(given)]
  const several = /\[n?in\]$/.test(name)
  return given.map(value => (several ? joinValues([String(value)]) : String(value)))
}
