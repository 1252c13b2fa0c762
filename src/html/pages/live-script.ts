// The script of a live list's page, the only one that pages have: it shows the page anew when the list has changed.
import { createHash } from 'node:crypto'
import { printParameters } from '../../http/parameters.ts'
import { listParameters } from '../../query/list-parameters.ts'
import { type Markup, markup, raw } from '../markup/markup.ts'
import type { PageView } from './page-view.ts'

/**
 * It follows the ids of the list, and gets this page again: its sort, its page and its rights stay those of the server. A tab
 * that is hidden follows nothing, because a browser opens six connections over HTTP/1.1. An EventSource does not say why it was
 * refused, but the page does: if the right is lost, the page that says so takes the place of this one.
 */
const SCRIPT = `(() => {
const { live } = document.currentScript.dataset
let source, again, isReady, isStale, isRunning, isLost
function show(page) {
  for (const part of ['[data-list]', '.http']) {
    const [old, now] = [document, page].map(each => each.querySelector(part))
    if (!old || !now || old.isEqualNode(now)) continue
    for (const { name, value } of old.querySelectorAll('[type=checkbox]:checked'))
      for (const box of now.querySelectorAll('[type=checkbox]')) if (box.name === name && box.value === value) box.checked = true
    const details = now.querySelectorAll('details')
    old.querySelectorAll('details').forEach(({ open }, at) => details[at]?.toggleAttribute('open', open))
    for (const { id, value } of old.querySelectorAll('[id]')) {
      const control = now.querySelector('#' + CSS.escape(id))
      if (control?.value === '') control.value = value
    }
    const { activeElement: { id } } = document
    old.replaceWith(now)
    if (id) document.getElementById(id)?.focus()
  }
}
async function refresh() {
  isStale = true
  if (isRunning) return
  for (isRunning = true; isStale && !isLost;) {
    isStale = false
    try {
      const response = await fetch(location.href, { headers: { accept: 'text/html' } })
      const page = new DOMParser().parseFromString(await response.text(), 'text/html')
      isLost = response.status === 403 || response.status === 404
      if (response.ok) show(page)
      else if (response.status === 401) clearTimeout(again)
      else if (isLost) {
        source.close()
        document.documentElement.replaceWith(page.documentElement)
      }
    } catch {}
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  isRunning = false
}
function follow() {
  source?.close()
  clearTimeout(again)
  if (document.hidden || isLost) return
  source = new EventSource(live)
  source.addEventListener('reset', () => { isReady = false })
  source.addEventListener('ready', () => { isReady = true; refresh() })
  for (const name of ['items', 'removed']) source.addEventListener(name, () => { if (isReady) refresh() })
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return
    again = setTimeout(follow, 10000)
    refresh()
  }
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
