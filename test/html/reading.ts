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
  if (!found) throw new Error(`No form with the button ${button} in ${textOf(html).slice(0, 4000)}`)
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
  const controls = /(<input[^>]*>)|(<(?:select|textarea)[^>]*>)(.*?)<\/(?:select|textarea)>/gs
  return [...html.matchAll(controls)].flatMap(([, input, area = '', inner = '']) => {
    const name = attribute(input ?? area, 'name')
    const value = input === undefined ? chosenOf(area, inner) : typedIn(input)
    return name === undefined || value === undefined ? [] : [[name, value]]
  })
}

function typedIn(tag: string): string | undefined {
  const type = attribute(tag, 'type')
  if (type === 'file' || (type === 'checkbox' && !/ checked/.test(tag))) return undefined
  const value = attribute(tag, 'value') ?? ''
  return type === 'hidden' ? crlf(value) : value.replace(/[\r\n]/g, '')
}

function chosenOf(tag: string, inner: string): string {
  if (tag.startsWith('<textarea')) {
    return crlf(unescapeHtml(inner).replace(/\r\n?/g, '\n').replace(/^\n/, ''))
  }
  return unescapeHtml(/<option value="([^"]*)" selected>/.exec(inner)?.[1] ?? '')
}

function crlf(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n')
}
