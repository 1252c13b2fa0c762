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
