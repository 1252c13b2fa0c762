// Shows a list or an item as a program gets it: the curl command, the status, the headers and the JSON of the response.
import type { Json } from '../base/values.ts'
import { printCurl } from './docs/docs-samples.ts'
import { type Markup, markup } from './markup/markup.ts'
import { disclose } from './pages/form.ts'
import type { PageView } from './pages/page-view.ts'

/** How many characters of the JSON are shown. */
const MAX_SHOWN = 16_384
/** The headers of the page that the JSON response has too. */
const SHOWN = /^(?:Content-Range|X-Result-Count|Link|Last-Modified|ETag)$/i

/** The entity tag of the JSON response: a tag contains its format. */
const toJsonTag = (value: string) => value.replace(/^("[^"]*)\.html"$/, '$1.json"')

/** @param credentials the option of curl, if the client has sent some. */
export function printAsHttp(
  data: Json,
  { url, headers, parameters }: PageView,
  credentials: string | undefined,
): Markup {
  const query = parameters.map(({ raw: pair }) => pair).join('&')
  const target = query === '' ? url : `${url}?${query}`
  const curl = printCurl({ method: 'GET', url: target, credentials })
  const lines = headers.flatMap((name, at) =>
    at % 2 === 0 && SHOWN.test(name) ? [`${name}: ${toJsonTag(headers[at + 1] ?? '')}`] : [],
  )
  const head = ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...lines].join('\n')
  const json = JSON.stringify(data, undefined, 2)
  const shown = json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}\n…` : json
  return markup`<div class="http">${disclose(
    'As HTTP',
    markup`<div class="inside"><pre tabindex="0" class="code">${curl.replace(/^curl/, 'curl -i')}</pre><pre tabindex="0" class="code">${head}\n\n${shown}</pre></div>`,
  )}</div>`
}
