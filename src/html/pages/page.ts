// The frame of every page: head, breadcrumbs, content, links to other formats.

import { type Markup, markup, type Part, raw } from '../markup/markup.ts'
import { STYLE } from '../markup/style.ts'
import type { PageView } from './page-view.ts'

interface Frame {
  readonly title: string
  /** The elements of the head for the icon and the style sheet. */
  readonly style: Markup
  /** The links from the root down to this page; the last one may have no address. */
  readonly breadcrumbs: readonly { readonly name: string; readonly href?: string }[]
  readonly content: Part
  readonly footer?: Part
}

export function printFrame({ title, style, breadcrumbs, content, footer }: Frame): string {
  const crumbs = breadcrumbs.map(({ name, href }, at) => {
    const current = at === breadcrumbs.length - 1 && raw(' aria-current="page"')
    return href === undefined
      ? markup`<li><span${current}>${name}</span></li>`
      : markup`<li><a href="${href}"${current}>${name}</a></li>`
  })
  return `<!doctype html>\n${markup`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title}</title>${style}</head><body><a class="skip" href="#main">Skip to content</a>
<header><nav class="breadcrumbs" aria-label="Breadcrumb"><ol>${crumbs}</ol></nav></header>
<main id="main" tabindex="-1">
${content}
</main>
${footer}</body></html>`}\n`
}

const STYLE_ELEMENT = raw(`<link rel="icon" href="data:,"><style>${STYLE}</style>`)

/** @param title of the window, followed by the breadcrumbs. */
export function printPage(view: PageView, content: Part, title = view.title): string {
  const { breadcrumbs, formats, parameters, kind } = view
  const above = kind === 'root' ? [] : breadcrumbs.map(({ name }) => name).reverse()
  const query = parameters.map(({ raw: pair }) => pair).join('&')
  const others = formats.filter(({ name }) => name !== 'html')
  return printFrame({
    title: [...new Set([title, ...above])].join(' · '),
    style: STYLE_ELEMENT,
    // An action may not accept the GET of a link.
    breadcrumbs: breadcrumbs.map(({ name, href }, at) =>
      kind === 'action' && at === breadcrumbs.length - 1 ? { name } : { name, href },
    ),
    content,
    footer: markup`<footer>${others.length > 0 && markup`<nav aria-label="Other formats"><ul class="formats">${others.map(({ name, href }) => markup`<li><a href="${query ? `${href}?${query}` : href}">${name.toUpperCase()}</a></li>`)}</ul></nav>`}</footer>
`,
  })
}
