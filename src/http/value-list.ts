// The values of one parameter, `[in]=red,blue`: separated by commas; `\,` is a comma, `\\` a backslash.

/** Parses the values of a parameter. */
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
 * Prints the value of a filter that a program gives as parameters. Each element of an array is one value,
 * whatever it contains; a string is taken as a client would send it.
 */
export function toFilterTexts(name: string, value: unknown): string[] {
  if (!Array.isArray(value)) return [String(value)]
  const several = /\[n?in\]$/.test(name)
  return value.map(each => (several ? joinValues([String(each)]) : String(each)))
}
