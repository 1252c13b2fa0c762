// `Link` headers (RFC 8288). Those of pages are printed in pagination.ts.

/** One entry of a `Link` header (RFC 8288). */
export interface Link {
  readonly rel: string
  readonly href: string
}

/**
 * The characters that a target needs escaped; a percent sign too where it begins no escape. The IPv6 address of a
 * host comes as one match: its brackets stay (RFC 3986 §3.2.2).
 */
const NOT_IN_LINK =
  /(?<=^https?:\/\/)\[[\d.:A-Fa-f]+\]|[^A-Za-z0-9\-._~:/?#@!$&'()*+=%]|%(?![0-9A-Fa-f]{2})/gu

/**
 * Prints a `Link` header (RFC 8288 §3): `rel` first and quoted, one entry for each relation, and no
 * comma, semicolon, bracket or quote in a target, since stock parsers split at them.
 */
export function printLink(links: readonly Link[]): string {
  return links.map(printOne).join(', ')
}

function printOne({ rel, href }: Link): string {
  return `<${escapeTarget(href)}>; rel="${rel}"`
}

/** Escapes what may not stand in the target of a link. */
export function escapeTarget(href: string): string {
  return href.toWellFormed().replace(NOT_IN_LINK, found =>
    // One character has one or two code units, an address more.
    found.length > 2 ? found : encodeURIComponent(found),
  )
}

const LINK_PARAMETER = /;\s*([^\s=;,]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/y

/** Parses a `Link` header: targets and relations; other parameters are skipped, `rel="a b"` gives two links. */
export function parseLink(text: string): Link[] {
  const links: Link[] = []
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const end = text.indexOf('>', at)
    if (end === -1) break
    const href = text.slice(at + 1, end)
    let rel: string | undefined
    for (at = end + 1; ; at = LINK_PARAMETER.lastIndex) {
      LINK_PARAMETER.lastIndex = skipSpace(text, at)
      const parameter = LINK_PARAMETER.exec(text)
      if (!parameter) break
      // Of several `rel` the first applies (RFC 8288 §3.3).
      if (parameter[1]?.toLowerCase() === 'rel') rel ??= parameter[2] ?? parameter[3] ?? ''
    }
    const names = (rel ?? '').split(/\s+/).filter(name => name !== '')
    links.push(...names.map(name => ({ rel: name, href })))
  }
  return links
}

function skipSpace(text: string, at: number): number {
  while (/\s/.test(text.charAt(at))) at++
  return at
}
