// The answer to a request that was tried: its status, headers and body, and the line of curl that sends it.
import { STATUS_CODES } from 'node:http'
import { METHOD_PARAMETER } from '../../http/method-override.ts'
import type { TriedAnswer } from '../../operations/calls/context.ts'
import { type Markup, markup } from '../markup/markup.ts'
import { blankWriteOnly } from '../pages/build-page-view.ts'
import { quote } from './docs-samples.ts'
import type { DocsView } from './docs-view.ts'

export function printAnswerContent(answer: TriedAnswer, view: DocsView): Markup {
  const { tried, status, headers, text, isCut } = answer
  const { method } = tried
  const isGood = status < 400
  const rows = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name, printHeader(name, headers[at + 1] ?? '')] as const] : [],
  )
  return markup`<h1><b class="${`method ${method.toLowerCase()}`}">${method}</b> <code>${toPath(tried)}</code></h1>
<div class="notice ${isGood ? 'good' : 'bad'}" role="${isGood ? 'status' : 'alert'}"><h2>${status} ${STATUS_CODES[status]}</h2></div>
<h2>Body</h2>${
    text === undefined || text === ''
      ? markup`<p class="hint">${text === '' || !headers.includes('Content-Type') ? 'None' : 'Not a text'}</p>`
      : markup`<pre class="copy"><code>${isCut ? text : indent(text)}</code></pre>`
  }${isCut && markup`<p class="hint">The first 64 KiB: the rest is not shown.</p>`}
<h2>Headers</h2><div class="card"><dl>${rows.map(([name, value]) => markup`<div><dt><code>${name}</code></dt><dd><code>${value}</code></dd></div>`)}</dl></div>
<h2>Copy</h2><pre class="copy"><code>${printTriedCurl(answer, view)}</code></pre>`
}

/** The path and query of a request below the root of its api. */
function toPath({ api, request }: TriedAnswer['tried']): string {
  return request.target.slice(api.prefix.length)
}

/** A cookie is for the browser: a page may keep it from scripts, and shows it to nobody. */
function printHeader(name: string, value: string): string {
  return name.toLowerCase() === 'set-cookie' ? value.replace(/=[^;]*/, '=…') : value
}

/** Breaks JSON into lines, unless it would be much longer. */
function indent(text: string): string {
  try {
    const lines = JSON.stringify(JSON.parse(text), undefined, 2)
    return lines.length > 8 * text.length ? text : lines
  } catch {
    return text
  }
}

/** Prints the line for the request as the form sent it. */
function printTriedCurl({ tried, status }: TriedAnswer, view: DocsView): string {
  const { method, request, principal } = tried
  const isSigned = principal !== undefined || status === 401
  const data = (blankWriteOnly(tried) ?? []).filter(([name]) => name !== METHOD_PARAMETER)
  const isMultipart = request.headers['content-type']?.startsWith('multipart/')
  return [
    'curl',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quote(view.url + toPath(tried)),
    ...(isSigned && view.credentials !== undefined ? [view.credentials] : []),
    ...data.map(([name, part]) =>
      isMultipart
        ? typeof part === 'string'
          ? `--form-string ${quote(`${name}=${part}`)}`
          : `-F ${quote(`${name}=@file`)}`
        : `--data-urlencode ${quote(`${name}=${part}`)}`,
    ),
  ].join(' ')
}
