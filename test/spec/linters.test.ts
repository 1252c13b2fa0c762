// The OpenAPI document in tools of others: linters find no error in it, and pages show it.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import {
  basic,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  openApiDocument,
} from '../../src/index.ts'
import { DECLARED } from '../declared.ts'
import { CHROMIUM, FLAGS, isMissing } from '../html/chromium.ts'
import { defineUntyped } from '../untyped.ts'

const MODULES = join(import.meta.dirname, 'linters/node_modules')
const missing = !existsSync(MODULES)
if (missing) console.warn('Skipped: there are no linters. Run npm ci --prefix test/spec/linters')

const { api: cars } = carsApi(() => memoryStore(), memoryBlobs())

/** Those of Spectral for OpenAPI. One of them does not know `prefixItems`: a tuple that ends has no `items`. */
const RULES = `{
  "extends": ["spectral:oas"],
  "rules": { "array-items": {
    "severity": "error",
    "given": "$..[?(@ && @.type == 'array' && !@.prefixItems)]",
    "then": { "field": "items", "function": "truthy" }
  } }
}`

/** Every declaration of the tests in one api, with credentials. */
function everything() {
  const collections = Object.values(DECLARED).map((declared, at) =>
    defineUntyped({ name: `things${at}`, store: memoryStore(), ...declared }),
  )
  const verify = (name: string) => ({ id: name, scopes: [] })
  return defineApi({
    collections: [
      ...collections,
      defineCollection({
        name: 'notes',
        schema: z.object({ about: z.string() }),
        store: memoryStore(),
        parents: { about: 'things0' },
      }),
    ],
    schemes: [basic({ realm: 'things', verify })],
    rateLimit: { policies: [{ limit: 5, window: 60 }] },
  })
}

describe.skipIf(missing)('linters', { timeout: 600_000 }, () => {
  let folder: string
  const files: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rest-conventions-lint-'))
    const documents = {
      'cars-3.1': openApiDocument(cars),
      'cars-3.2': openApiDocument(cars, { openapi: '3.2' }),
      everything: openApiDocument(everything()),
      'cars-light': openApiDocument(cars, { formats: ['json'] }),
      'everything-light': openApiDocument(everything(), { formats: ['json'] }),
    }
    for (const [name, document] of Object.entries(documents)) {
      const file = join(folder, `${name}.json`)
      await writeFile(file, JSON.stringify(document))
      files.push(file)
    }
    await writeFile(join(folder, 'spectral.json'), RULES)
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** Runs a program of theirs. @throws with what it prints where it finds an error. */
  const run = async (program: string, ...words: readonly string[]) =>
    (await promisify(execFile)(join(MODULES, '.bin', program), words, { cwd: folder })).stdout

  it.concurrent('redocly finds no error', async () => {
    await run('redocly', 'lint', ...files)
  })

  it.concurrent('spectral, by its rules for OpenAPI, finds no error', async () => {
    // It does not know OpenAPI 3.2.
    const known = files.filter(file => !file.includes('3.2'))
    const ruleset = join(folder, 'spectral.json')
    await run('spectral', 'lint', ...known, '-r', ruleset, '-F', 'error', '-D')
  })
})

describe.skipIf(missing || isMissing)(
  'the recipes of docs/openapi.md',
  { timeout: 600_000 },
  () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    })
    afterAll(() => browser?.close())

    it.each([
      ['Swagger UI', 'swagger-ui-dist'],
      ['Scalar', '@scalar/api-reference/dist/browser'],
    ])('%s shows the operations, and loads nothing foreign', async (title, files) => {
      const docs = await readFile(join(import.meta.dirname, '../../docs/openapi.md'), 'utf8')
      const page = docs.split(`### ${title}`)[1]?.match(/```html\n(.*?)```/s)?.[1] ?? ''
      expect(page).toContain('/openapi.json')
      expect(page.split('\n').length).toBeLessThanOrEqual(12)
      const server = createServer((request, response) => {
        const file = /^\/ui\/([\w-]+\.(css|js))$/.exec(request.url ?? '')
        if (request.url === '/ui/') response.setHeader('Content-Type', 'text/html').end(page)
        else if (file)
          readFile(join(MODULES, files, file[1] ?? '')).then(content =>
            response
              .setHeader('Content-Type', file[2] === 'css' ? 'text/css' : 'text/javascript')
              .end(content),
          )
        else cars.handler(request, response)
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      // A listening TCP server has an address with a port.
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const tab = await browser.newPage()
      const foreign: string[] = []
      tab.on('request', request => {
        const url = request.url()
        if (!url.startsWith(base) && !/^(?:data|blob):/.test(url)) foreign.push(url)
      })
      const failures: string[] = []
      tab.on('pageerror', error => failures.push(String(error)))
      await tab.goto(`${base}/ui/`)
      await tab.getByText('The cars for sale').first().waitFor({ timeout: 240_000 })
      expect(foreign).toEqual([])
      expect(failures).toEqual([])
      await tab.close()
      server.closeAllConnections()
      server.close()
    })
  },
)
