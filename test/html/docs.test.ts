// The documentation at `/docs`: what it holds, and how it works in Chromium.
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import { html } from '../../src/html/html.ts'
import {
  type Api,
  DEFAULT_FORMATS,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  openApiDocument,
  type Policies,
  type Scheme,
} from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { DECLARED, thingsOf } from '../declared.ts'
import { openHandler } from '../handlers.ts'
import { CHROMIUM, FLAGS, isMissing } from './chromium.ts'
import { LOW_CONTRASTS, UNFOLD } from './contrast.ts'
import { serve } from './fixture.ts'
import { textOf } from './reading.ts'

const cars = (policies: Policies = {}) => carsApi(() => memoryStore(), memoryBlobs(), policies).api

const ask = async (api: Pick<Api, 'fetch' | 'handler'>, path: string, init = {}) =>
  (await openHandler('fetch', api)).request(path, init)

describe('the pages', () => {
  it('have every operation of the document', async () => {
    const api = cars({ title: 'Cars' })
    const first = await ask(api, '/docs')
    const { paths, tags } = openApiDocument(api) as unknown as {
      paths: Record<string, Record<string, { operationId?: string; tags?: string[] }>>
      tags: { name: string }[]
    }
    const pages = new Map([[undefined as string | undefined, first.text]])
    for (const { name } of tags) {
      expect(first.text).toContain(`href="/docs?collection=${name}"`)
      pages.set(name, (await ask(api, `/docs?collection=${name}`)).text)
    }
    const operations = Object.values(paths).flatMap(item => Object.entries(item))
    const missing = operations.flatMap(([method, { operationId, tags }]) =>
      operationId === undefined || method === 'head'
        ? []
        : pages.get(tags?.[0])?.includes(`id="${operationId}"`)
          ? []
          : [operationId],
    )
    expect(missing).toEqual([])
    expect(operations.length).toBeGreaterThan(100)
  })

  it('allow no script and nothing foreign', async () => {
    const { status, headers, text } = await ask(cars(), '/docs?collection=cars')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toContain(
      "default-src 'none'; style-src 'self'; form-action 'self'",
    )
    expect(text).not.toMatch(/<script|<style|\sstyle=|\son\w+=/)
    const style = await ask(cars(), '/docs/style.css')
    expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8')
  })

  it('have the lines to copy', async () => {
    const { text } = await ask(cars(), '/v1/docs?collection=cars&id=7')
    const lines = [...text.matchAll(/<pre class="copy"><code>(.*?)<\/code>/gs)].map(
      ([, line = '']) =>
        line.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
    )
    expect(lines).toEqual(
      expect.arrayContaining([
        "curl 'http://api.test/v1/cars?color=black'",
        "for await (const item of client.cars.list({ color: 'black' })) console.log(item)",
        "await client.cars.count({ color: 'black' })",
        'await client.cars.read(7)',
        `curl -X POST 'http://api.test/v1/cars/7/buy' -H 'If-Match: "ETAG"' -H 'Content-Type: application/json' -d '{"buyer":"text"}'`,
        "await client.cars.buy(7, { buyer: 'text' })",
        'await client.cars.delete(7)',
      ]),
    )
    const photos = (await ask(cars(), '/v1/docs?collection=photos')).text
    expect(photos).toContain('-F &#39;photo=@file&#39;')
    expect(photos).toContain('client.photos.create({ comment: &#39;text&#39;, photo: file })')
  })

  it.each(Object.entries(DECLARED))('show %s', async (_, declared) => {
    const things = thingsOf(declared)
    const api = defineApi({ collections: [things], formats: [...DEFAULT_FORMATS, html] })
    const { status, text } = await ask(api, '/docs?collection=things&id=1')
    expect(status).toBe(200)
    expect(text).not.toMatch(/undefined|\[object|NaN/)
    for (const name of ['ThingInput', 'ThingPatch', 'Thing'])
      expect(text).toContain(`id="schema-${name}"`)
  })

  it('are found by the Links of the root and by the catalog', async () => {
    const api = cars()
    for (const [path, href] of [
      ['/', '/docs'],
      ['/v1', '/v1/docs'],
    ] as const) {
      const links = parseLink((await ask(api, path)).headers.get('link') ?? '')
      expect(links).toContainEqual({ rel: 'service-doc', href: `http://api.test${href}` })
      expect((await ask(api, href)).status).toBe(200)
    }
    const { text } = await ask(api, '/.well-known/api-catalog')
    expect(text).toContain('"service-doc":[{"href":"http://api.test/v1/docs","type":"text/html"}]')
  })

  it('name the pattern of a text', async () => {
    const schema = z.object({ plate: z.string().regex(/^[A-Z]{2}<$/), mail: z.email() })
    const things = defineCollection({ name: 'things', schema, store: memoryStore() })
    const api = defineApi({ collections: [things], formats: [...DEFAULT_FORMATS, html] })
    const { text } = await ask(api, '/docs?collection=things')
    expect(textOf(text)).toContain('Matches ^[A-Z]{2}<$')
    expect(
      textOf(text)
        .split('Matches')
        .every((each, at) => at === 0 || each.startsWith(' ^[A-Z]{2}<$')),
    ).toBe(true)
  })

  it('are there only with the html format', async () => {
    const api = cars({ formats: DEFAULT_FORMATS })
    expect((await ask(api, '/docs')).status).toBe(404)
    expect((await ask(api, '/docs/style.css')).status).toBe(404)
    expect((await ask(api, '/')).headers.get('link')).not.toContain('service-doc')
  })

  it('escape what a declaration says, and name their paths below a prefix', async () => {
    const evil = `"><script>alert('x')</script>`
    const things = defineCollection({
      name: 'things',
      description: evil,
      schema: z.object({ name: z.string().meta({ description: evil, examples: [evil] }) }),
      store: memoryStore(),
      actions: {
        go: { on: 'item', description: evil, run: () => undefined },
      },
    })
    const formats = [...DEFAULT_FORMATS, html]
    const api = defineApi({ collections: [things], formats, title: evil, prefix: '/api' })
    for (const path of ['/api/docs', '/api/docs?collection=things&id=%22%3E%3Ci%3E']) {
      const { status, text } = await ask(api, path)
      expect(status).toBe(200)
      expect(/<script|<i>/.test(text)).toBe(false)
      expect(text).toContain('href="/api/docs/style.css"')
    }
  })

  it('of hidden collections are for those that may use them', async () => {
    const byName: Scheme = {
      name: 'Name',
      challenge: () => 'Name',
      authenticate: async ({ headers: { authorization } }) =>
        authorization === undefined ? undefined : { id: authorization, scopes: ['secrets:read'] },
    }
    const [secrets, things] = ['secrets', 'things'].map(name =>
      defineCollection({
        name,
        schema: z.object({ name: z.string() }),
        store: memoryStore(),
        ...(name === 'secrets' && {
          access: { default: ['secrets:read'] },
          hideExistence: true,
        }),
      }),
    )
    const api = defineApi({
      collections: [secrets, things].flatMap(each => each ?? []),
      formats: [...DEFAULT_FORMATS, html],
      schemes: [byName],
    })
    expect((await ask(api, '/docs')).text).not.toContain('secrets')
    expect((await ask(api, '/docs?collection=secrets')).status).toBe(404)
    expect((await ask(api, '/docs?collection=things')).status).toBe(200)
    const init = { headers: { authorization: 'ann' } }
    expect((await ask(api, '/docs?collection=secrets', init)).text).toContain('secrets:read')
  })
})

describe.skipIf(isMissing)('in Chromium', { timeout: 120_000 }, () => {
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>

  beforeAll(async () => {
    server = await serve(cars({ title: 'Cars' }))
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  it.each([
    [1200, 'light'],
    [390, 'dark'],
  ] as const)('at %i px, %s: reads, creates and changes', async (width, colorScheme) => {
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme })
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const complaints: string[] = []
    page.on('console', message => complaints.push(message.text()))
    page.on('requestfailed', request => complaints.push(`${request.url()} failed`))
    page.on('request', request => {
      if (!request.url().startsWith(server.url)) complaints.push(`foreign: ${request.url()}`)
    })
    const look = async () => {
      await page.evaluate(UNFOLD)
      expect(await page.evaluate(LOW_CONTRASTS)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
    const open = async (id: string) => {
      const operation = page.locator('details.operation', { has: page.locator(`[id="${id}"]`) })
      if ((await operation.getAttribute('open')) === null)
        await operation.locator('summary').first().click()
      return operation
    }
    const follow = (act: () => Promise<void>) => Promise.all([page.waitForEvent('load'), act()])

    await page.goto(`${server.url}/docs`)
    await look()
    await page.goto(`${server.url}/docs`)
    await follow(() => page.getByRole('link', { name: /^models/ }).click())
    await look()
    await page.goto(`${server.url}/docs?collection=models`)
    const create = await open('v2.create.models')
    const name = `Model ${width} ${colorScheme}`
    await create.getByLabel('name').fill(name)
    await create.getByLabel('brand').fill('Renault')
    await follow(() => create.getByRole('button', { name: 'POST' }).click())
    expect(await page.locator('h1').innerText()).toMatch(/^model \d+$/)
    const id = (await page.locator('h1').innerText()).slice('model '.length)

    await page.goto(`${server.url}/docs?collection=models`)
    const patch = await open('v2.patch.models')
    await patch.getByLabel('The id of the model').fill(id)
    await follow(() => patch.getByRole('button', { name: 'Use' }).click())
    expect(await patch.getByText(`/v2/models/${id}`).count()).toBeGreaterThan(0)
    await patch.getByLabel('brand').fill('Dacia')
    await follow(() => patch.getByRole('button', { name: 'PATCH brand' }).click())
    expect(new URL(page.url()).pathname).toBe(`/v2/models/${id}`)
    const changed = await (
      await fetch(page.url(), { headers: { accept: 'application/json' } })
    ).json()
    expect(changed).toMatchObject({ name, brand: 'Dacia' })

    await page.goto(`${server.url}/docs?collection=models`)
    const list = await open('v2.list.models')
    await list.getByLabel('name').fill(name)
    await follow(() => list.getByRole('button', { name: 'GET' }).click())
    expect(await page.locator('tbody tr').count()).toBe(1)
    expect(complaints).toEqual([])
    await context.close()
  })
})
