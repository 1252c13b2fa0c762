// Specification, "Data formats": what is sent and taken in each, and which of them counts.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { defineApi, defineCollection, type Item, type Json, memoryStore } from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import {
  eachHandler,
  HANDLER_NAMES,
  type Init,
  type OpenHandler,
  openHandler,
} from '../handlers.ts'
import { runs } from '../random.ts'

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const XML = 'application/xml'
const MULTIPART = 'multipart/form-data; boundary=b'

const schema = z.object({
  name: z.string(),
  color: z.enum(['red', 'blue']).optional(),
  seats: z.int().optional(),
  price: z.number().nullable().optional(),
  sold: z.boolean().optional(),
  day: z.iso.date().optional(),
  at: z.iso.datetime({ offset: true }).optional(),
  model: z.object({ name: z.string(), year: z.int().optional() }).optional(),
  tags: z.array(z.string()).optional(),
  sizes: z.array(z.int()).optional(),
  parts: z.array(z.object({ name: z.string(), count: z.int() })).optional(),
  rates: z.record(z.string(), z.number()).optional(),
  extra: z.json().optional(),
})

function things() {
  const collection = defineCollection({
    name: 'things',
    schema,
    store: memoryStore(),
    indexes: ['name'],
  })
  return defineApi({
    collections: [collection],
    pages: html,
    limits: { body: 1024 * 1024 },
  })
}

const post = (body: string | Uint8Array, type: string): Init => ({
  method: 'POST',
  body,
  headers: { 'content-type': type },
})

const part = (headers: string, body: string) =>
  `--b\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${body}\r\n`

const WHOLE = {
  name: 'Clio & <Co>',
  color: 'red',
  seats: 5,
  price: 10.5,
  sold: true,
  day: '2024-02-29',
  at: '2024-02-29T10:00:00+01:00',
  model: { name: 'II', year: 1990 },
  tags: ['a', 'b'],
  sizes: [1, 2],
  parts: [{ name: 'x', count: 1 }],
  rates: { daily: 1.5 },
}

describe('Data formats', () => {
  const sent: readonly [type: string, body: string, value: Item][] = [
    [JSON_TYPE, JSON.stringify(WHOLE), WHOLE],
    ['application/json; charset=utf-8', JSON.stringify(WHOLE), WHOLE],
    ['application/vnd.acme.thing+json', JSON.stringify(WHOLE), WHOLE],
    ['APPLICATION/JSON;CHARSET="UTF-8"', JSON.stringify(WHOLE), WHOLE],
    [
      FORM,
      'name=Clio+%26+%3CCo%3E&color=red&seats=5&price=10.5&sold=on&day=2024-02-29&at=2024-02-29T10:00:00%2B01:00&model.name=II&model[year]=1990&tags=a&tags=b&sizes[]=1&sizes[]=2&parts[0][name]=x&parts[0][count]=1&rates[daily]=1.5',
      WHOLE,
    ],
    [
      XML,
      '<thing><name>Clio &amp; &lt;Co&gt;</name><color>red</color><seats>5</seats><price>10.5</price><sold>true</sold><day>2024-02-29</day><at>2024-02-29T10:00:00+01:00</at><model><name>II</name><year>1990</year></model></thing>',
      (({ tags: _tags, sizes: _sizes, parts: _parts, rates: _rates, ...rest }) => rest)(WHOLE),
    ],
    [
      MULTIPART,
      `${part('name="name"', 'Clio & <Co>')}${part('name="seats"', '5')}${part('name="tags"', 'a')}${part('name="tags"', 'b')}${part('name="model"; filename="blob"\r\nContent-Type: application/json', '{"name":"II","year":1990}')}--b--\r\n`,
      { name: 'Clio & <Co>', seats: 5, tags: ['a', 'b'], model: { name: 'II', year: 1990 } },
    ],
  ]
  eachHandler(
    things,
    handler => {
      for (const [type, body, value] of sent) {
        it(`${type.slice(0, 48)}: what is sent is typed by the schema`, async () => {
          const made = await handler.request('/things', post(body, type))
          expect(made).toMatchObject({ status: 201 })
          expect((await handler.request(made.headers.get('location') ?? '')).json).toEqual({
            ...value,
            id: expect.any(String),
            created_at: expect.any(String),
            updated_at: expect.any(String),
          })
        })
      }

      const served: readonly [type: string, extension: string, look: RegExp][] = [
        [JSON_TYPE, 'json', /^\{"id":.*"name":"Clio"/],
        [XML, 'xml', /<thing>.*<name>Clio<\/name>/s],
        ['text/html', 'html', /<html/i],
      ]
      for (const [type, extension, look] of served) {
        it(`${type}: by Accept and by the extension`, async () => {
          const path =
            (await handler.request('/things', post('{"name":"Clio"}', JSON_TYPE))).headers.get(
              'location',
            ) ?? ''
          for (const answer of [
            await handler.request(path, { headers: { accept: type } }),
            await handler.request(`${path}.${extension}`),
          ]) {
            expect(answer.status).toBe(200)
            expect(answer.headers.get('content-type')).toMatch(new RegExp(`^${type}`))
            expect(answer.text).toMatch(look)
          }
        })
      }

      const order: readonly [
        name: string,
        target: string,
        headers: Record<string, string>,
        type: string,
      ][] = [
        ['the extension before Accept', '/things.json', { accept: XML }, JSON_TYPE],
        ['Accept before the first format', '/things', { accept: XML }, XML],
        ['the first format without either', '/things', {}, JSON_TYPE],
        ['q-values', '/things', { accept: `${JSON_TYPE};q=0.1, ${XML};q=0.9` }, XML],
        ['anything', '/things', { accept: '*/*' }, JSON_TYPE],
        [
          'a vendor type by its suffix',
          '/things',
          { accept: 'application/vnd.acme.thing+xml' },
          XML,
        ],
      ]
      for (const [name, target, headers, type] of order) {
        it(`the answer's format: ${name}`, async () => {
          const answer = await handler.request(target, { headers })
          expect(answer.headers.get('content-type')).toMatch(new RegExp(`^${type}`))
        })
      }

      it.each([
        ['a path that does not exist', '/nothing.xml', 404],
        ['an escape in the path', '/things/%ff.xml', 400],
        ['an escape in the query', '/things.xml?name=%ff', 400],
        ['a refusal before the body is read', '/things.xml?_method=PUT', 400],
        ['an id that does not exist', '/things/0.xml', 404],
      ])("a refusal's format, the extension first: %s", async (_what, target, status) => {
        const headers = { accept: JSON_TYPE }
        const answer = await handler.request(target, { headers })
        expect(answer).toMatchObject({ status, text: expect.stringContaining('<errors>') })
        expect(answer.headers.get('content-type')).toBe(XML)
        expect(answer.headers.get('vary') ?? '').not.toContain('Accept')
      })

      it.each([
        ['no Accept', {}, XML, 'Content-Type'],
        ['any type', { accept: '*/*' }, XML, 'Content-Type'],
        [
          'another of its types',
          { 'content-type': 'text/xml; charset=utf-8' },
          XML,
          'Content-Type',
        ],
        ['a suffix', { 'content-type': 'application/vnd.acme.thing+xml' }, XML, 'Content-Type'],
        ['JSON', { accept: JSON_TYPE }, JSON_TYPE, undefined],
        ['several types', { accept: `${JSON_TYPE}, */*;q=0.1` }, JSON_TYPE, undefined],
        ['another type of body', { 'content-type': FORM }, JSON_TYPE, undefined],
      ])(
        'XML is answered in XML unless Accept says more: %s',
        async (_name, given, type, varies) => {
          const headers = { 'content-type': XML, ...given }
          const isForm = headers['content-type'] === FORM
          const send = (target: string, text: string, method = 'POST') =>
            handler.request(target, { method, body: isForm ? 'name=x' : text, headers })
          const made = await send('/things', '<thing><name>x</name></thing>')
          expect(made.status).toBe(201)
          const path = new URL(made.headers.get('location') ?? '').pathname
          const wrong = '<thing><name>x</name><seats>many</seats></thing>'
          for (const answer of [
            made,
            await send(path, '<thing><name>y</name></thing>', 'PUT'),
            await send('/things', wrong),
            await send('/things', '<thing>'),
            await send('/nothing', '<thing/>'),
          ]) {
            if (answer.status === 303) continue
            expect(answer.headers.get('content-type')).toBe(type)
            const names = (answer.headers.get('vary') ?? '').split(', ')
            expect(names).toContain('Accept')
            expect(names.includes('Content-Type')).toBe(varies !== undefined)
          }
        },
      )

      it('a read is answered by Accept, whatever type its absent body has', async () => {
        const answer = await handler.request('/things', { headers: { 'content-type': XML } })
        expect(answer.headers.get('content-type')).toBe(JSON_TYPE)
        expect(answer.headers.get('vary')).not.toContain('Content-Type')
      })

      it("the body's format: Content-Type before the extension, the extension without one", async () => {
        const made = await handler.request('/things.xml', post('{"name":"typed"}', JSON_TYPE))
        expect(made.status).toBe(201)
        expect(made.headers.get('content-type')).toMatch(/^application\/xml/)
        const bytes = await handler.request('/things.xml', {
          method: 'POST',
          body: new TextEncoder().encode('<thing><name>x</name></thing>'),
        })
        expect(bytes).toMatchObject({ status: 201 })
      })

      it('a body without any type is JSON, the first format', async () => {
        const answer = await handler.request('/things', {
          method: 'POST',
          body: new TextEncoder().encode('{"name":"x"}'),
        })
        expect(answer).toMatchObject({ status: 201, json: { name: 'x' } })
      })

      it('an extension is kept in Link and in the Location of a 303; other addresses name no format', async () => {
        const made = await handler.request('/things.xml', post('{"name":"x"}', JSON_TYPE))
        const item = made.headers.get('location') ?? ''
        expect(item).not.toContain('.xml')
        expect(made.text).not.toContain('.xml')
        for (const [address, extension] of [
          [item, ''],
          [`${item}.xml`, '.xml'],
        ] as const) {
          const put = { ...post('{"name":"z"}', JSON_TYPE), method: 'PUT' }
          const changed = await handler.request(address, put)
          expect([changed.status, changed.headers.get('location')]).toEqual([303, item + extension])
          const followed = await handler.request(changed.headers.get('location') ?? '')
          expect(followed.headers.get('content-type')).toContain(extension ? 'xml' : 'json')
          const shown = await handler.request(address, {
            ...put,
            headers: { ...put.headers, prefer: 'return=representation' },
          })
          expect(shown.headers.get('content-location')).toBe(item)
        }
        await handler.request('/things', post('{"name":"y"}', JSON_TYPE))
        const links = parseLink(
          (await handler.request('/things.xml?limit=1')).headers.get('link') ?? '',
        )
        expect(links.map(({ rel }) => rel)).toContain('next')
        expect(links.map(({ href }) => new URL(href).pathname)).toEqual(
          links.map(() => '/things.xml'),
        )
        const next = links.find(({ rel }) => rel === 'next')?.href ?? ''
        expect((await handler.request(next)).headers.get('content-type')).toContain('xml')
      })

      it('406 lists the formats of answers, 415 those of bodies', async () => {
        const accept = await handler.request('/things', { headers: { accept: 'image/png' } })
        expect(accept).toMatchObject({ status: 406, text: expect.stringContaining(JSON_TYPE) })
        const type = await handler.request('/things', post('x', 'image/png'))
        expect(type.status).toBe(415)
        expect(type.headers.get('accept-post')?.split(', ')).toEqual(
          expect.arrayContaining([JSON_TYPE, XML, FORM, 'multipart/form-data']),
        )
        for (const broken of ['json', 'application/', 'application/json;;', 'a/b/c', ',']) {
          expect(await handler.request('/things', post('{}', broken))).toMatchObject({
            status: 415,
          })
        }
      })

      it('a GET and a DELETE without body may carry any Content-Type', async () => {
        const headers = { 'content-type': 'nonsense' }
        expect(await handler.request('/things', { headers })).toMatchObject({ status: 200 })
        const path =
          (await handler.request('/things', post('{"name":"x"}', JSON_TYPE))).headers.get(
            'location',
          ) ?? ''
        expect(await handler.request(path, { method: 'DELETE', headers })).toMatchObject({
          status: 200,
        })
      })
    },
    { once: true },
  )
})

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(
    parts.map(each => (typeof each === 'string' ? Buffer.from(each) : Buffer.from(each))),
  )

describe('PUT accepts what GET answered', () => {
  const make = () =>
    defineCollection({
      name: 'things',
      id: 'integer',
      schema: z.object({
        name: z.string().trim().toLowerCase(),
        size: z.coerce.number<string>(),
        tags: z.array(z.string()).overwrite(tags => [...tags].sort()),
        color: z.string(),
      }),
      store: memoryStore(),
    })
  eachHandler(make, handler => {
    it.each(['application/json', 'application/xml'])(
      'values that a schema cleans: %s',
      async type => {
        const json = { name: ' Ann ', size: '7', tags: ['b', 'a'], color: 'red' }
        const {
          id,
          updated_at: _,
          ...made
        } = (await handler.request('/things', { method: 'POST', json })).json as Item
        expect(made).toMatchObject({ name: 'ann', size: 7, tags: ['a', 'b'] })
        const path = `/things/${id}`
        const served = await handler.request(path, { headers: { accept: type } })
        const body = served.text.replace('red', 'blue')
        const prefer = 'return=representation'
        const headers = { 'content-type': type, accept: JSON_TYPE, prefer }
        for (const method of ['PUT', 'PATCH']) {
          const answer = await handler.request(path, { method, body, headers })
          expect(answer).toMatchObject({ status: 200, json: { ...made, color: 'blue' } })
        }
      },
    )
  })
})

describe('bodies that nobody should send', () => {
  const cases: readonly [
    name: string,
    type: string,
    body: string | Uint8Array,
    status: number,
    error?: string,
  ][] = [
    ['JSON with a byte order mark', JSON_TYPE, bytes([0xef, 0xbb, 0xbf], '{"name":"x"}'), 201],
    ['JSON with a repeated key: the last counts', JSON_TYPE, '{"name":1,"name":"x"}', 201],
    [
      'JSON in UTF-16',
      JSON_TYPE,
      Buffer.from('\uFEFF{"name":"x"}', 'utf16le'),
      400,
      'invalid_encoding',
    ],
    [
      'JSON with invalid UTF-8',
      JSON_TYPE,
      bytes('{"name":"', [0xff], '"}'),
      400,
      'invalid_encoding',
    ],
    [
      'JSON of another charset',
      `${JSON_TYPE}; charset=latin1`,
      '{"name":"x"}',
      415,
      'unsupported_charset',
    ],
    [
      '100,000 levels of JSON',
      JSON_TYPE,
      `{"extra":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      400,
      'too_deep',
    ],
    [
      '33 levels of JSON',
      JSON_TYPE,
      `{"name":"x","extra":${'['.repeat(32)}${']'.repeat(32)}}`,
      400,
      'too_deep',
    ],
    [
      '32 levels of JSON',
      JSON_TYPE,
      `{"name":"x","extra":${'['.repeat(31)}${']'.repeat(31)}}`,
      201,
    ],
    [
      '__proto__ in JSON',
      JSON_TYPE,
      '{"name":"x","__proto__":{"sold":true}}',
      400,
      'invalid_value',
    ],
    [
      '__proto__ deep in JSON',
      JSON_TYPE,
      '{"name":"x","extra":{"a":[{"__proto__":{}}]}}',
      400,
      'invalid_value',
    ],
    [
      'constructor.prototype in JSON',
      JSON_TYPE,
      '{"name":"x","extra":{"constructor":{"prototype":{}}}}',
      400,
      'invalid_value',
    ],
    ['1e400', JSON_TYPE, '{"name":"x","price":1e400}', 400, 'invalid_value'],
    [
      '-1e400 where anything may be',
      JSON_TYPE,
      '{"name":"x","extra":[-1e400]}',
      400,
      'invalid_value',
    ],
    ['2^53+1 for an integer', JSON_TYPE, '{"name":"x","seats":9007199254740993}', 400],
    ['-2^53-1 in a list of integers', JSON_TYPE, '{"name":"x","sizes":[-9007199254740993]}', 400],
    ['2^53-1 for an integer', JSON_TYPE, '{"name":"x","seats":9007199254740991}', 201],
    ['U+0000 in a text', JSON_TYPE, '{"name":"a\\u0000b"}', 400, 'invalid_value'],
    ['U+0000 in a name', JSON_TYPE, '{"name":"x","rates":{"\\u0000":1}}', 400, 'invalid_value'],
    ['a lone surrogate', JSON_TYPE, '{"name":"\\ud83d"}', 400, 'invalid_value'],
    [
      'a lone surrogate in a list',
      JSON_TYPE,
      '{"name":"x","tags":["\\ude00"]}',
      400,
      'invalid_value',
    ],
    ['no JSON', JSON_TYPE, '{name:1}', 400, 'invalid_json'],
    ['nothing', JSON_TYPE, '', 400],
    ['a form with invalid UTF-8', FORM, bytes('name=', [0xff]), 400, 'invalid_encoding'],
    ['a form with an escape that is no UTF-8', FORM, 'name=%ff', 400, 'invalid_encoding'],
    ['a form with a broken escape', FORM, 'name=100%', 400, 'invalid_encoding'],
    ['a form with U+0000', FORM, 'name=%00', 400, 'invalid_value'],
    ['a form with __proto__', FORM, 'name=x&__proto__.sold=true', 400, 'invalid_value'],
    ['a form with [__proto__]', FORM, 'name=x&extra[__proto__][sold]=true', 400, 'invalid_value'],
    ['a form with 33 levels', FORM, `name=x&extra${'[a]'.repeat(33)}=1`, 400, 'too_deep'],
    ['a form with 100,000 levels', FORM, `name=x&extra${'[a]'.repeat(100_000)}=1`, 400, 'too_deep'],
    ['a form with 501 keys', FORM, `name=x${'&tags=a'.repeat(500)}`, 413, 'too_many_keys'],
    ['a form with 500 keys', FORM, `name=x${'&tags=a'.repeat(499)}`, 201],
    ['a form with a value twice', FORM, 'name=x&name=y', 400, 'repeated_key'],
    ['a form with an ill-typed value', FORM, 'name=x&seats=many', 400, 'invalid_type'],
    ['a form with an unknown key', FORM, 'name=x&colour=red', 400, 'unknown_field'],
    [
      '2^53+1 for an integer of a form',
      FORM,
      'name=x&seats=9007199254740993',
      400,
      'inexact_number',
    ],
    ['1e400 in a form', FORM, 'name=x&price=1e400', 400, 'invalid_type'],
    [
      'a body over the limit',
      JSON_TYPE,
      JSON.stringify({ name: 'x'.repeat(1024 * 1024) }),
      413,
      'body_too_large',
    ],
    ['a form over the limit', FORM, `name=${'x'.repeat(1024 * 1024)}`, 413, 'body_too_large'],
  ]
  eachHandler(
    things,
    handler => {
      for (const [name, type, body, status, error] of cases) {
        it(`${name}: ${status}`, async () => {
          const count = async () =>
            ((await handler.request('/things/count')).json as { count: number }).count
          const before = await count()
          const answer = await handler.request('/things', post(body, type))
          expect(answer.status, answer.text.slice(0, 300)).toBe(status)
          if (error !== undefined) expect(answer.json).toMatchObject({ errors: [{ type: error }] })
          expect(await count()).toBe(before + (status === 201 ? 1 : 0))
          expect('sold' in {}).toBe(false)
        })
      }
    },
    { once: true },
  )
})

describe('what is accepted is given back byte for byte', () => {
  it.each(HANDLER_NAMES)('any JSON, through %s', async name => {
    const handler: OpenHandler = await openHandler(name, things())
    const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(json, fc.string({ unit: 'binary' }), async (extra, text) => {
        const value = { name: text, extra: extra as Json }
        const answer = await handler.request('/things', { method: 'POST', json: value })
        const body = JSON.stringify(value)
        const refused =
          /\\u0000|"(?:__proto__|constructor|prototype)":/.test(body) ||
          !body.isWellFormed() ||
          /\\ud[89a-f]/i.test(body)
        expect(answer.status).toBe(refused ? 400 : 201)
        if (refused) return
        accepted++
        const { name: back, extra: again } = (
          await handler.request(answer.headers.get('location') ?? '')
        ).json as Item
        expect(JSON.stringify({ name: back, extra: again })).toBe(body)
      }),
      { numRuns: runs(150) },
    )
    expect(accepted).toBeGreaterThan(20)
    await handler.close()
  })

  it.each(HANDLER_NAMES)('any text in a form, through %s', async name => {
    const handler: OpenHandler = await openHandler(name, things())
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 3 }),
        async (text, tags) => {
          const pairs = tags.map((tag): [string, string] => ['tags', tag])
          const body = new URLSearchParams([['name', text], ...pairs]).toString()
          const answer = await handler.request('/things', post(body, FORM))
          if ([text, ...tags].some(each => each.includes('\0'))) {
            expect(answer.status).toBe(400)
            return
          }
          expect(answer).toMatchObject({ status: 201 })
          expect((await handler.request(answer.headers.get('location') ?? '')).json).toMatchObject({
            name: text,
            tags,
          })
        },
      ),
      { numRuns: runs(100) },
    )
    await handler.close()
  })
})
