// What stands in a document to be run: its blocks of code, its curls with the answers below them.

export interface Block {
  readonly language: string
  readonly text: string
  /** The heading above it. */
  readonly heading: string
}

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let heading = ''
  for (const part of markdown.matchAll(/^(#+ .*)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    const [, title, language, text] = part
    if (title !== undefined) heading = title
    else blocks.push({ language: language ?? '', text: text ?? '', heading })
  }
  return blocks
}

export interface Curl {
  readonly command: string
  readonly answer: string
}

export function curlsOf(text: string): Curl[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const end = part.indexOf('\n')
      return { command: part.slice(0, end), answer: part.slice(end + 1).trimEnd() }
    })
}

/** What differs from run to run, made the same. */
export function masked(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/"[\w-]{8,16}\.json"/g, '"<tag>"')
    .replace(/"eyJ[\w.-]+"/g, '"eyJ…"')
    .replace(/localhost:\d+/g, 'localhost:<port>')
    .replaceAll('\r', '')
}

/** An answer with its head's lines apart: a document shows those that matter, in any order. */
export function partsOf(answer: string): { head: string[]; body: string } {
  if (!answer.startsWith('HTTP/')) return { head: [], body: answer }
  const [head = '', ...body] = answer.split('\n\n')
  return { head: head.split('\n'), body: body.join('\n\n') }
}

/** The names of a document's headings, as GitHub links to them. */
export function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)
  return new Set(
    [...headings].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Each heading of a document, with the first sentence below it. */
export function sectionsOf(markdown: string): { heading: string; first: string }[] {
  const prose = markdown.replace(/^```[\s\S]*?^```$/gm, '')
  return prose
    .split(/^#+ /m)
    .slice(1)
    .map(section => {
      const [heading = '', ...lines] = section.split('\n')
      const text = lines.join('\n').trim().replaceAll(/\s+/g, ' ')
      return { heading, first: /^.*?[.:!?](?= |$)/.exec(text)?.[0] ?? text }
    })
}
