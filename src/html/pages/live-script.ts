// The script of a live list's page, the only one that pages have: it shows the page anew when the list has changed.
import { createHash } from 'node:crypto'
import { printParameters } from '../../http/parameters.ts'
import { listParameters } from '../../query/list-parameters.ts'
import { type Markup, markup, raw } from '../markup/markup.ts'
import type { PageView } from './page-view.ts'

/**
 * It follows the ids of the list, and gets this page again: its sort, its page and its rights stay those of the server. A tab
 * that is hidden follows nothing, because a browser opens six connections over HTTP/1.1.
 */
const SCRIPT = `(() => {
const { live } = document.currentScript.dataset
let source, isReady, isStale, isRunning
function show(page) {
  for (const part of ['[data-list]', '.pages']) {
    const [old, now] = [document, page].map(each => each.querySelector(part))
    if (!old || !now || old.isEqualNode(now)) continue
    for (const { value } of old.querySelectorAll(':checked'))
      for (const box of now.querySelectorAll('[type=checkbox]')) if (box.value === value) box.checked = true
    old.replaceWith(now)
  }
}
async function refresh() {
  isStale = true
  if (isRunning) return
  for (isRunning = true; isStale;) {
    isStale = false
    const response = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => {})
    if (response?.ok) show(new DOMParser().parseFromString(await response.text(), 'text/html'))
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  isRunning = false
}
function follow() {
  source?.close()
  if (document.hidden) return
  source = new EventSource(live)
  source.addEventListener('reset', () => { isReady = false })
  source.addEventListener('ready', () => { isReady = true; refresh() })
  for (const name of ['items', 'removed']) source.addEventListener(name, () => { if (isReady) refresh() })
}
document.addEventListener('visibilitychange', follow)
follow()
})()`

/** What allows the script, and no other, in a Content-Security-Policy. */
export const SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`

/** Parameters that choose a part of a list: what is live is the whole of it. */
const PARTS = listParameters('shows', 'orders', 'places', 'sizes')

/** Prints the script of a list that may be followed. */
export function printLiveScript({
  isLive,
  href,
  parameters,
  id = '',
}: PageView): Markup | undefined {
  if (!isLive) return undefined
  const kept = parameters.filter(({ name }) => !PARTS.has(name)).map(({ raw: pair }) => pair)
  const query = [...kept, printParameters([['fields', id]])].join('&')
  return markup`<script data-live="${`${href}?${query}`}">${raw(SCRIPT)}</script>`
}
