// Pages that show a document, in Chromium: they load, their consoles stay empty, and nothing comes from elsewhere.
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import type { Api } from '../../../src/index.ts'
import { CHROMIUM, FLAGS } from '../../../test/html/chromium.ts'
import { listen, MODULES, report } from './common.ts'

/** Of each page the files of its package, and what shows a document with them. */
const PAGES: Readonly<Record<string, readonly [files: string, html: string]>> = {
  Scalar: [
    '@scalar/api-reference/dist/browser',
    `<div id="ui"></div><script src="standalone.js"></script><script>Scalar.createApiReference('#ui', {
      url: '/openapi.json', withDefaultFonts: false, telemetry: false, agent: { disabled: true } })</script>`,
  ],
  'Swagger UI': [
    'swagger-ui-dist',
    `<link rel="stylesheet" href="swagger-ui.css"><div id="ui"></div><script src="swagger-ui-bundle.js"></script>
    <script>SwaggerUIBundle({ url: '/openapi.json', dom_id: '#ui' })</script>`,
  ],
  Redoc: [
    'redoc/bundles',
    `<redoc spec-url="/openapi.json" disable-google-font></redoc><script src="redoc.standalone.js"></script>`,
  ],
  RapiDoc: [
    'rapidoc/dist',
    `<script type="module" src="rapidoc-min.js"></script>
    <rapi-doc spec-url="/openapi.json" load-fonts="false"></rapi-doc>`,
  ],
}

/** What Redoc loads from elsewhere. */
const LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg'

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  js: 'text/javascript',
  html: 'text/html',
}

export async function showPages(
  apis: Readonly<Record<string, Pick<Api, 'handler'>>>,
  screenshots: string | undefined,
): Promise<void> {
  if (screenshots !== undefined) await mkdir(screenshots, { recursive: true })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  for (const [name, api] of Object.entries(apis))
    for (const title of Object.keys(PAGES)) {
      const picture = screenshots && join(screenshots, `${title.replace(' ', '-')}-${name}.png`)
      report(`${title}, ${name}`, await showPage(browser, title, api, picture))
    }
  await browser.close()
}

async function showPage(
  browser: Browser,
  title: string,
  api: Pick<Api, 'handler'>,
  picture: string | undefined,
): Promise<string[]> {
  const [files = '', html = ''] = PAGES[title] ?? []
  const { url, stop } = await listen(async (request, response) => {
    const [, file] = /^\/ui\/([\w.-]*)$/.exec(request.url ?? '') ?? []
    if (request.url === '/favicon.ico') return void response.end()
    if (file === undefined) return void api.handler(request, response)
    const path = join(MODULES, files, file)
    const type = TYPES[file.split('.').at(-1) || 'html'] ?? 'application/octet-stream'
    response.setHeader('Content-Type', type)
    const isThere = file !== '' && existsSync(path)
    if (!isThere && file !== '') response.statusCode = 404
    response.end(
      isThere
        ? await readFile(path)
        : `<!doctype html><html lang="en"><meta charset="utf-8"><title>A</title>${html}`,
    )
  })
  const page = await browser.newPage({ viewport: { width: 1300, height: 1600 } })
  const complaints: string[] = []
  page.on('request', request => {
    const { protocol, origin } = new URL(request.url())
    const isOwn = origin === url || ['data:', 'blob:'].includes(protocol)
    if (!isOwn && request.url() !== LOGO) complaints.push(request.url())
  })
  await page.route(LOGO, route => route.fulfill({ contentType: 'image/svg+xml', body: '<svg/>' }))
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  await page.goto(`${url}/ui/`)
  await page
    .getByText(/cars for sale|List cars|things0/i)
    .first()
    .waitFor({ timeout: 60_000, state: 'attached' })
  // An operation has more to show than the list of them. Some pages open its tag first.
  const operation = page.getByText(/List (cars|things0)/).first()
  if (!(await operation.isVisible()))
    await page
      .getByText(/^(cars|things0)$/)
      .first()
      .click()
  // RapiDoc's text lets no click through to what is around it.
  await operation.click({ force: true })
  await page.waitForTimeout(3000)
  if (picture) await page.screenshot({ path: picture })
  await page.close()
  stop()
  return complaints
}
