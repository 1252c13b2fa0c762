// A page read as a browser reads it: its text, its forms, what they send.

/** A form of a page: where it goes and what it sends untouched. */
export interface ReadForm {
  readonly method: string
  readonly action: string
  readonly enctype: string | undefined
  readonly pairs: readonly [name: string, value: string][]
  readonly html: string
}

export function unescapeHtml(text: string): string {
  const known: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => known[name] ?? '')
}

/** The text between the tags. */
export function textOf(html: string): string {
  return unescapeHtml(
    html
      .replace(/<(?:style|select|textarea)[^>]*>.*?<\/(?:style|select|textarea)>/gs, ' ')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' '),
  ).trim()
}

export function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

export function formsOf(html: string): ReadForm[] {
  return [...html.matchAll(/(<form[^>]*>)(.*?)<\/form>/gs)].map(([, tag = '', inner = '']) => ({
    method: attribute(tag, 'method') ?? '',
    action: attribute(tag, 'action') ?? '',
    enctype: attribute(tag, 'enctype'),
    pairs: controlsOf(inner),
    html: inner,
  }))
}

/** The form whose button says so. */
export function formOf(html: string, button: string): ReadForm {
  const found = formsOf(html).find(form => textOf(form.html).endsWith(button))
  if (!found) throw new Error(`No form with the button ${button} in ${html.slice(0, 4000)}`)
  return found
}

/** A link by its text. */
export function linkOf(html: string, text: string): string {
  for (const [, tag = '', inner = ''] of html.matchAll(/(<a [^>]*>)(.*?)<\/a>/gs)) {
    if (textOf(inner) === text) return attribute(tag, 'href') ?? ''
  }
  throw new Error(`No link ${text}`)
}

/** What a browser sends of the controls (HTML, "Constructing the entry list"): line breaks as CR LF. */
function controlsOf(html: string): [string, string][] {
  const pairs: [string, string][] = []
  for (const [, tag = ''] of html.matchAll(/(<input[^>]*>)/g)) {
    const name = attribute(tag, 'name')
    const type = attribute(tag, 'type')
    if (name === undefined || type === 'file') continue
    if (type === 'checkbox' && !/ checked/.test(tag)) continue
    const value = attribute(tag, 'value') ?? ''
    pairs.push([name, type === 'hidden' ? crlf(value) : value.replace(/[\r\n]/g, '')])
  }
  for (const [, tag = '', inner = ''] of html.matchAll(
    /(<(?:select|textarea)[^>]*>)(.*?)<\/(?:select|textarea)>/gs,
  )) {
    const name = attribute(tag, 'name') ?? ''
    if (tag.startsWith('<textarea')) {
      pairs.push([name, crlf(unescapeHtml(inner).replace(/\r\n?/g, '\n').replace(/^\n/, ''))])
    } else {
      const chosen = /<option value="([^"]*)" selected>/.exec(inner)?.[1] ?? ''
      pairs.push([name, unescapeHtml(chosen)])
    }
  }
  return pairs
}

function crlf(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n')
}
