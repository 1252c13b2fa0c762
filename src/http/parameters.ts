// Parameters of a query and of an urlencoded form: `a=1&b=2`.

/** One `name=value` of a query or of an urlencoded form; `raw` is the pair as sent. */
export interface Parameter {
  readonly name: string
  readonly value: string
  readonly raw: string
}

/**
 * Parses `a=1&b=2`, as in a query or in `application/x-www-form-urlencoded`: `+` is a space; every other
 * character that RFC 3986 allows may be unescaped. Empty pairs are skipped.
 * @returns `undefined` for malformed encoding or UTF-8.
 */
export function parseParameters(text: string): Parameter[] | undefined {
  if (text === '') return []
  const parameters: Parameter[] = []
  for (const raw of text.split('&')) {
    if (raw === '') continue
    const equals = raw.indexOf('=')
    const name = unescapeParameter(equals === -1 ? raw : raw.slice(0, equals))
    const value = equals === -1 ? '' : unescapeParameter(raw.slice(equals + 1))
    if (name === undefined || value === undefined) return undefined
    parameters.push({ name, value, raw })
  }
  return parameters
}

function unescapeParameter(text: string): string | undefined {
  return percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Decodes a percent-encoded text; `undefined` for malformed encoding or UTF-8. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Prints parameters so that {@link parseParameters} gives them back. */
export function printParameters(parameters: Iterable<readonly [string, string]>): string {
  return Array.from(
    parameters,
    ([name, value]) => `${escapeParameter(name)}=${escapeParameter(value)}`,
  ).join('&')
}

function escapeParameter(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+').replaceAll('%2C', ',')
}
