// The documentation at `/docs`: what it holds, and how it works in Chromium.
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { carsApi } from '../../examples/cars-api.ts'
import { html } from '../../src/html/index.ts'
import {
  type Api,
  defineApi,
  defineCollection,
  memoryBlobs,
  memoryStore,
  openApiDocument,
  type Policies,
  type Scheme,
} from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { DECLARED, type Declared, thingsOf } from '../declared.ts'
import { openHandler } from '../handlers.ts'
import { CHROMIUM, FLAGS, isMissing } from './chromium.ts'
import { LOW_CONTRASTS, UNFOLD } from './contrast.ts'
import { serve } from './fixture.ts'
import { textOf, unescapeHtml } from './reading.ts'

const cars = (policies: Policies = {}) => carsApi(() => memoryStore(), memoryBlobs(), policies).api

const ask = async (api: Pick<Api, 'fetch' | 'handler'>, path: string, init = {}) =>
  (await openHandler('fetch', api)).request(path, init)

/** The rows of the schema that creates an item: the text of each property, and which are required. */
async function rowsOf(schema: z.ZodType) {
  const things = thingsOf({ schema: schema as Declared['schema'] }) // each is one of objects
  const api = defineApi({ collections: [things], pages: html })
  const { text } = await ask(api, '/docs?collection=things')
  const section = text.split('id="schema-ThingInput"')[1]?.split('</details>')[0] ?? ''
  const rows = [
    ...section.matchAll(/<dt><code>(.*?)<\/code>(.*?)<\/dt><dd>(.*?)<span[^>]*>(.*?)<\/span>/gs),
  ]
  const texts = rows.map(([, name = '', , type = '', hint = '']): [string, string] => [
    textOf(name),
    [type, hint].map(textOf).filter(Boolean).join('\n'),
  ])
  const required = new Set(rows.flatMap(([, name = '', mark]) => (mark ? [name] : [])))
  return Object.assign(new Map(texts), { required })
}

function quote(text: string): string {
  return text.replace(/[.[\]()*+]/g, '\\$&')
}

describe('the search', () => {
  /** The links of the operations that are found, by their path. */
  const search = async (q: string, root = '/docs') => {
    const { status, headers, text } = await ask(cars(), `${root}?q=${encodeURIComponent(q)}`)
    const links = text.matchAll(/<li><a href="([^"]*)"><b>.*?<\/b><span><code>(.*?)<\/code>/g)
    const found = new Map([...links].map(([, href = '', path = '']) => [path, unescapeHtml(href)]))
    return { status, headers, text, found }
  }

  it.each([
    ['post buy', ['POST /v2/cars/{id}/buy']],
    ['  Post   BÜY ', ['POST /v2/cars/{id}/buy']],
    ['/v2/cars/{id}/buy', ['POST /v2/cars/{id}/buy']],
    ['buy delete', []],
    ['constructor', []],
  ])('%j finds %j', async (q, paths) => {
    const { status, found, text } = await search(q)
    expect(status).toBe(200)
    expect([...found.keys()]).toEqual(paths)
    expect(textOf(text)).toContain(paths.length === 1 ? '1 operation with' : '0 operations with')
  })

  it('finds what parameters and descriptions say, and leads to the opened operation', async () => {
    const { found } = await search('delete cars', '/v1/docs')
    expect([...found.keys()].every(path => path.startsWith('DELETE '))).toBe(true)
    const href = found.get('DELETE /v1/cars/{id}') ?? ''
    expect(href).toMatch(/^\/v1\/docs\?collection=cars&operation=(\w+)#\1$/)
    const { text } = await ask(cars(), href.split('#')[0] ?? '')
    expect(text).toMatch(/<details class="operation" open><summary>[^\n]*DELETE/)
    expect([...(await search('get color')).found.keys()]).toContain('GET /v2/cars')
  })

  it('shows a text of the reader as a text, and a blank one is the first page', async () => {
    const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`
    const { text, headers } = await search(hostile)
    expect(text).not.toMatch(/<script|<img/)
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect((await search(' ')).text).toBe((await ask(cars(), '/docs?q=')).text)
    expect((await search(' ')).text).toContain('id="errors"')
  })
})

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
      const href = `/docs?collection=${encodeURIComponent(name)}`
      expect(first.text).toContain(`href="${href}"`)
      pages.set(name, (await ask(api, href)).text)
    }
    const operations = Object.values(paths).flatMap(item => Object.entries(item))
    const missing = operations.flatMap(([, { operationId, tags }]) =>
      operationId === undefined
        ? []
        : pages.get(tags?.[0])?.includes(`id="${operationId}"`)
          ? []
          : [operationId],
    )
    expect(missing).toEqual([])
    expect(operations.length).toBeGreaterThan(60)
  })

  it('count the operations of each part', async () => {
    const things = thingsOf({ schema: z.object({ name: z.string() }) })
    const { text } = await ask(defineApi({ collections: [things], pages: html }), '/docs')
    expect([...text.matchAll(/\d+ operations?(?=<)/g)].flat()).toEqual([
      '1 operation',
      '7 operations',
    ])
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
    const api = defineApi({ collections: [things], pages: html })
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
    const api = defineApi({ collections: [things], pages: html })
    const { text } = await ask(api, '/docs?collection=things')
    expect(textOf(text)).toContain('Matches ^[A-Z]{2}<$')
    expect(
      textOf(text)
        .split('Matches')
        .every((each, at) => at === 0 || each.startsWith(' ^[A-Z]{2}<$')),
    ).toBe(true)
  })

  it.each<[string, z.ZodType, string]>([
    ['a union of scalars', z.union([z.string(), z.int()]).nullable(), 'string or integer or null'],
    ['a plain union', z.union([z.string(), z.number(), z.null()]), 'string or number or null'],
    ['a tuple', z.tuple([z.number(), z.string()]), '[number, string]'],
    ['an open tuple', z.tuple([z.string()], z.number()), '[string, ...number]'],
    ['a record', z.record(z.string(), z.number().min(0)), 'object of number from 0'],
    ['known keys', z.record(z.enum(['s', 'm']), z.boolean()), 'object of boolean with keys s, m'],
    ['lists in a record', z.record(z.string(), z.array(z.int())), 'object of list of integer'],
    ['above', z.number().gt(0), 'number above 0'],
    ['below', z.number().lt(5), 'number below 5'],
    ['between', z.number().gt(1).lt(5), 'number above 1 below 5'],
    ['half open', z.number().min(1).lt(5), 'number from 1 below 5'],
    ['up to', z.number().max(5), 'number up to 5'],
    ['from and to', z.int().min(1).max(5), 'integer from 1 to 5'],
    ['a step', z.int().min(0).multipleOf(5), 'integer from 0 in steps of 5'],
    ['a length', z.string().min(1).max(9), 'string from 1 to 9 characters'],
    ['a number of items', z.array(z.string()).min(1).max(3), 'list of string, from 1 to 3 items'],
    ['an enumeration', z.enum(['a', 'b']).nullable(), 'one of a, b or null'],
    ['a UUID', z.uuid(), 'string (uuid)'],
    ['anything', z.unknown(), 'any'],
  ])('say what a property is: %s', async (_, property, expected) => {
    const rows = await rowsOf(z.object({ property }))
    expect(rows.get('property')).toEqual(
      expect.stringMatching(new RegExp(`^${quote(expected)}(?:$|\\n)`)),
    )
  })

  it('show the properties of discriminated unions, of lists and of records', async () => {
    const shape = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), radius: z.number().gt(0), name: z.string() }),
      z.object({ kind: z.literal('square'), side: z.int().optional(), name: z.int() }),
    ])
    const expected = {
      kind: ['"circle" or "square"', true],
      radius: ['number above 0\nOnly where kind is "circle"', true],
      side: ['integer\nOnly where kind is "square"', false],
      name: ['string or integer', true],
    } as const
    for (const [prefix, schema] of [
      ['', shape],
      ['shape.', z.object({ shape })],
      ['shape.', z.object({ shape: shape.nullable() })],
      ['shapes[].', z.object({ shapes: z.array(shape) })],
      ['shapes[key].', z.object({ shapes: z.record(z.string(), shape) })],
    ] as const) {
      const rows = await rowsOf(schema)
      for (const [name, [text, required]] of Object.entries(expected)) {
        expect([prefix + name, rows.get(prefix + name)]).toEqual([prefix + name, text])
        expect([name, rows.required.has(prefix + name)]).toEqual([name, required])
      }
    }
  })

  it('name recursive schemas by their properties, and show them', async () => {
    const things = thingsOf(DECLARED['recursive members'] as Declared)
    const api = defineApi({ collections: [things], pages: html })
    const { text } = await ask(api, '/docs?collection=things')
    expect(text).not.toContain('__schema')
    expect(text).toContain('<a href="#schema-TreeOfThingInput">TreeOfThingInput</a>')
    const tree = text.split('id="schema-TreeOfThingInput"')[1]?.split('</details>')[0] ?? ''
    expect(textOf(tree)).toContain('list of TreeOfThingInput')
  })

  it('say that a filter for a moment takes a day too', async () => {
    const { text } = await ask(cars(), '/docs?collection=cars')
    expect(textOf(text)).toContain('string (date-time or date)')
  })

  it('have calls of the client to copy that compile: with objects, and numbers', async () => {
    const things = defineCollection({
      name: 'things',
      schema: z.object({ sort: z.enum(['a']), model: z.object({ kind: z.enum(['car', 'bus']) }) }),
      store: memoryStore(),
      actions: {
        near: {
          on: 'collection',
          method: 'GET',
          input: z.object({
            place: z.object({ lat: z.number(), lng: z.number() }),
            open: z.boolean(),
          }),
          run: () => [],
        },
      },
    })
    const api = defineApi({ collections: [things], pages: html })
    const text = textOf((await ask(api, '/docs?collection=things')).text)
    expect(text).toContain("client.things.list({ model: { kind: 'car' } })")
    expect(text).toContain("curl 'http://api.test/things?model.kind=car'")
    expect(text).toContain('client.things.near({ place: { lat: 1, lng: 1 }, open: true })')
    expect(text).toContain("curl 'http://api.test/things/near?place.lat=1&place.lng=1&open=true'")
  })

  it('show words of code as such', async () => {
    const { text } = await ask(cars(), '/v1/docs')
    expect(text).toContain('Send <code>_method</code> or the header, not both.')
    expect(text).not.toContain('`')
  })

  it('have bodies to copy that the api takes', async () => {
    const schema = z.object({
      point: z.tuple([z.number().gt(4), z.string()]),
      rates: z.record(z.enum(['s', 'm']), z.number().lt(0)),
      either: z.union([z.int(), z.string()]),
      step: z.int().multipleOf(7),
      share: z.number().gt(0).lt(1),
    })
    const things = defineCollection({ name: 'things', schema, store: memoryStore() })
    const api = defineApi({ collections: [things], pages: html })
    const { text } = await ask(api, '/docs?collection=things')
    const [, body = ''] = /-X POST .*?-d &#39;(.*?)&#39;/.exec(text) ?? []
    const json = JSON.parse(body.replaceAll('&quot;', '"'))
    const made = await ask(api, '/things', { method: 'POST', json })
    expect(made.status, `${body} ${made.text}`).toBe(201)
  })

  it('say the title of the api', async () => {
    const { text } = await ask(cars({ title: 'Used cars' }), '/docs?collection=cars')
    expect(text).toContain('<li><a href="/">Used cars</a></li>')
    expect(text).not.toContain('>API<')
  })

  it('are there only with pages', async () => {
    const api = defineApi({ collections: [thingsOf(DECLARED['recursive members'] as Declared)] })
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
    const api = defineApi({ collections: [things], pages: html, title: evil, prefix: '/api' })
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
      pages: html,
      schemes: [byName],
    })
    expect((await ask(api, '/docs')).text).not.toContain('secrets')
    expect((await ask(api, '/docs?collection=secrets')).status).toBe(404)
    expect((await ask(api, '/docs?collection=things')).status).toBe(200)
    const init = { headers: { authorization: 'ann' } }
    expect((await ask(api, '/docs?collection=secrets', init)).text).toContain('secrets:read')
  })
})

describe.skipIf(isMissing)('in Chromium', { timeout: 600_000 }, () => {
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>

  beforeAll(async () => {
    server = await serve(cars({ title: 'Cars' }))
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  })

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
    page.setDefaultTimeout(240_000)
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

    const name = 'id_of_the_person_who_was_responsible_for_the_thing_in_the_year_before'
    const long = defineApi({
      title: 'T'.repeat(100),
      collections: [
        thingsOf({ schema: z.object({ [name]: z.string().regex(/^[A-HJ-NP-TV-Z]{2}-\d{3}$/) }) }),
      ],
      pages: html,
    })
    const other = await serve(long)
    for (const path of ['/docs', '/docs?collection=things&id=1']) {
      await page.goto(other.url + path)
      await look()
    }
    complaints.length = 0
    await other.close()

    for (const { name } of openApiDocument(cars()).tags as unknown as { name: string }[]) {
      await page.goto(`${server.url}/docs?collection=${encodeURIComponent(name)}&id=1&parent=1`)
      await look()
    }
    await page.goto(`${server.url}/docs`)
    await look()
    await page.goto(`${server.url}/docs`)
    await follow(() => page.getByRole('link', { name: /^models/ }).click())
    await look()
    await page.goto(`${server.url}/docs?collection=models`)
    const create = await open('createModel')
    const model = `Model ${width} ${colorScheme}`
    await create.getByLabel('name').fill(model)
    await create.getByLabel('brand').fill('Renault')
    await follow(() => create.getByRole('button', { name: 'POST' }).click())
    expect(new URL(page.url()).pathname).toBe('/docs/try')
    expect(await page.getByRole('status').innerText()).toBe('201 Created')
    await look()
    const made = JSON.parse(await page.locator('pre').first().innerText())
    expect(made).toMatchObject({ name: model, brand: 'Renault' })
    const id = String(made.id)

    await page.goto(`${server.url}/docs?collection=models`)
    const patch = await open('patchModel')
    await patch.getByLabel('The id of the model').fill(id)
    await follow(() => patch.getByRole('button', { name: 'Use' }).click())
    expect(await patch.getByText(`/v2/models/${id}`).count()).toBeGreaterThan(0)
    await patch.getByLabel('brand').fill('Dacia')
    await follow(() => patch.getByRole('button', { name: 'PATCH brand' }).click())
    const changed = await (
      await fetch(`${server.url}/v2/models/${id}`, { headers: { accept: 'application/json' } })
    ).json()
    expect(changed).toMatchObject({ name: model, brand: 'Dacia' })

    await page.goto(`${server.url}/docs?collection=models`)
    const list = await open('listModels')
    await list.getByLabel('name').fill(model)
    await follow(() => list.getByRole('button', { name: 'GET' }).click())
    expect(JSON.parse(await page.locator('pre').first().innerText())).toHaveLength(1)
    await look()
    expect(complaints).toEqual([])
    await context.close()
  })
})
