// The frame of every page: head, breadcrumbs, content, links to other formats.
import type { PageView } from '../formats/page-view.ts'
import { type Markup, markup, type Part, raw } from './markup.ts'
import { STYLE } from './style.ts'

const STYLE_ELEMENT = raw(`<style>${STYLE}</style>`)

/** @param title of the window, followed by the breadcrumbs. */
export function printPage(title: string, view: PageView, content: Part): string {
  const { breadcrumbs, formats, parameters, kind } = view
  const above = kind === 'root' ? [] : breadcrumbs.map(({ name }) => name).reverse()
  const names = [title, ...above]
  const query = parameters.map(({ raw: pair }) => pair).join('&')
  const others =
    kind === 'none' || view.status >= 400 ? [] : formats.filter(({ name }) => name !== 'html')
  return `<!doctype html>\n${markup`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><meta name="color-scheme" content="light dark"><title>${[...new Set(names)].join(' · ')}</title>
${STYLE_ELEMENT}</head><body><a class="skip" href="#main">Skip to content</a>
${printBreadcrumbs(view)}
<main id="main" tabindex="-1">
${content}
</main>
<footer>${others.length > 0 && markup`<nav aria-label="Other formats"><ul class="formats">${others.map(({ name, href }) => markup`<li><a href="${query ? `${href}?${query}` : href}">${name.toUpperCase()}</a></li>`)}</ul></nav>`}</footer>
</body></html>`}\n`
}

/** The last breadcrumb reloads the page, except after an action, which may not accept GET. */
function printBreadcrumbs({ breadcrumbs, kind }: PageView): Markup {
  const last = breadcrumbs.length - 1
  return markup`<header><nav class="breadcrumbs" aria-label="Breadcrumb"><ol>${breadcrumbs.map(
    ({ name, href }, at) =>
      at === last && kind === 'action'
        ? markup`<li><span aria-current="page">${name}</span></li>`
        : markup`<li><a href="${href}"${at === last && raw(' aria-current="page"')}>${name}</a></li>`,
  )}</ol></nav></header>`
}
