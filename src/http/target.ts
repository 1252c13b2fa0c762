// The request target (RFC 9112 §3.2) and hosts (RFC 9110 §7.2).

/** A request target in two parts; `query` has no `?` and may be `''`. */
export interface RequestTarget {
  readonly path: string
  readonly query: string
}

/**
 * Splits a request target (RFC 9112 §3.2): origin form, or absolute form, whose authority is
 * dropped. A path of `//evil.example/x` stays a path. Nothing is decoded and nothing throws.
 */
export function splitTarget(target: string): RequestTarget {
  const start = target.startsWith('/') ? 0 : absolutePathStart(target)
  const fragment = target.indexOf('#', start)
  const end = fragment === -1 ? target.length : fragment
  const question = target.indexOf('?', start)
  if (question === -1 || question > end) return { path: target.slice(start, end) || '/', query: '' }
  return { path: target.slice(start, question) || '/', query: target.slice(question + 1, end) }
}

function absolutePathStart(target: string): number {
  return ABSOLUTE.exec(target)?.[0].length ?? 0
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Parses the authority of a target in absolute form, not validated: it is used in place of `Host`. */
export function parseAuthority(target: string): string | undefined {
  return ABSOLUTE.exec(target)?.[1]
}

const HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::(\d{0,5}))?$/i

/** Whether a text can be a `Host` (RFC 9110 §7.2): a name or address, maybe with a port, which may be empty. */
export function isHost(text: string): boolean {
  const parts = HOST.exec(text)
  return parts !== null && Number(parts[1] ?? 0) <= 65_535
}

/** Removes the api's prefix from a path; `undefined` where the path does not begin with it. `OPTIONS *` means the root. */
export function belowPrefix(path: string, prefix: string, method: string): string | undefined {
  if (path === '*' && method === 'OPTIONS') return '/'
  if (prefix === '') return path
  if (path === prefix) return '/'
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
}
