// Requests that are broken, hostile or unusual; conventions, "Names and places"; architecture, "Traps".
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { json, xml } from '../../src/index.ts'
import type { Policies } from '../../src/model/types/policies.ts'
import { parseLink } from '../../src/rules/index.ts'
import { type Example, example } from '../fixture.ts'
import { serve } from '../guards/wire.ts'
import { type Answer, eachHandler, listen, sendRaw } from '../handlers.ts'

interface Listening {
  readonly port: number
  readonly base: string
  readonly close: () => Promise<void>
}

const start = (policies: Policies = {}) => listen(example(policies).api.handler)

/** The first line and the headers of a request; `Connection: close` is added. */
const message = (line: string, ...headers: string[]) =>
  `${[line, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`

const addresses = ({ text, headers }: Answer) => [
  ...Array.from(text.matchAll(/https?:\/\/[^"]+/g), ([address]) => address),
  ...parseLink(headers.get('link') ?? '').map(({ href }) => href),
  ...[headers.get('location') ?? []].flat(),
]

describe('Unusual requests as bytes on the wire', () => {
  let server: Listening
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  const HOST = 'Host: api.example'
  it.each<[string, string, number]>([
    ['GET //', message('GET // HTTP/1.1', HOST), 404],
    ['GET //evil.example/cars', message('GET //evil.example/cars HTTP/1.1', HOST), 404],
    ['GET ///cars', message('GET ///cars HTTP/1.1', HOST), 404],
    ['GET /cars//', message('GET /cars// HTTP/1.1', HOST), 404],
    ['GET /cars//count', message('GET /cars//count HTTP/1.1', HOST), 404],
    ['a backslash', message('GET /\\evil.example HTTP/1.1', HOST), 400],
    ['an escaped backslash', message('GET /cars/%5c HTTP/1.1', HOST), 400],
    ['%zz in the path', message('GET /cars/%zz HTTP/1.1', HOST), 400],
    ['%ff in the path', message('GET /cars/%ff HTTP/1.1', HOST), 400],
    ['%00 in the path', message('GET /cars/a%00b HTTP/1.1', HOST), 400],
    ['%zz in the query', message('GET /cars?color=%zz HTTP/1.1', HOST), 400],
    ['an escaped slash', message('GET /cars/..%2fcount HTTP/1.1', HOST), 400],
    ['dots', message('GET /cars/.. HTTP/1.1', HOST), 404],
    ['escaped dots', message('GET /cars/%2e%2e HTTP/1.1', HOST), 404],
    ['dots on the way', message('GET /nothing/../cars HTTP/1.1', HOST), 404],
    ['a path parameter', message('GET /cars;v=1 HTTP/1.1', HOST), 404],
    ['a fragment', message('GET /cars#count HTTP/1.1', HOST), 200],
    ['a trailing slash', message('GET /cars/ HTTP/1.1', HOST), 200],
    ['a question mark alone', message('GET /cars? HTTP/1.1', HOST), 200],
    ['an escaped letter', message('GET /c%61rs HTTP/1.1', HOST), 200],
    ['raw bytes above ASCII', message('GET /cars?immatriculation=\xe9 HTTP/1.1', HOST), 400],
    ['Host: [', message('GET / HTTP/1.1', 'Host: ['), 400],
    ['Host with a path', message('GET / HTTP/1.1', 'Host: a/b'), 400],
    ['Host with a user', message('GET / HTTP/1.1', 'Host: a@b'), 400],
    ['Host with a space', message('GET / HTTP/1.1', 'Host: a b'), 400],
    ['Host with a port that is none', message('GET / HTTP/1.1', 'Host: 1.2.3.4:99999'), 400],
    ['Host with the last port', message('GET / HTTP/1.1', 'Host: 1.2.3.4:65535'), 200],
    ['an empty Host', message('GET / HTTP/1.1', 'Host:'), 400],
    ['no Host', message('GET / HTTP/1.1'), 400],
    ['two Hosts', message('GET / HTTP/1.1', HOST, 'Host: evil.example'), 400],
    ['Host: an IPv6 address', message('GET / HTTP/1.1', 'Host: [::1]:80'), 200],
    ['absolute form', message('GET http://api.example/cars HTTP/1.1', HOST), 200],
    ['absolute form of the root', message('GET http://api.example HTTP/1.1', HOST), 200],
    ['OPTIONS *', message('OPTIONS * HTTP/1.1', HOST), 200],
    ['GET *', message('GET * HTTP/1.1', HOST), 404],
    ['a target that is no path', message('GET cars HTTP/1.1', HOST), 400],
    ['an unknown method', message('PROPFIND /cars HTTP/1.1', HOST), 405],
    ['TRACE', message('TRACE /cars HTTP/1.1', HOST), 405],
    [
      'a body on GET',
      `${message('GET /cars HTTP/1.1', HOST, 'Content-Type: a/b', 'Content-Length: 3')}abc`,
      200,
    ],
    [
      'a body on HEAD',
      `${message('HEAD /cars HTTP/1.1', HOST, 'Content-Type: a/b', 'Content-Length: 3')}abc`,
      200,
    ],
    ['8 KB of query', message(`GET /cars?color=${'a'.repeat(8170)} HTTP/1.1`, HOST), 400],
    ['more than 8 KB of query', message(`GET /cars?color=${'a'.repeat(8192)} HTTP/1.1`, HOST), 414],
    ['20 KB of query', message(`GET /cars?color=${'a'.repeat(20_000)} HTTP/1.1`, HOST), 431],
    [
      'an Accept of 100,000 characters',
      message('GET /cars HTTP/1.1', HOST, `Accept: ${'a/b,'.repeat(25_000)}`),
      431,
    ],
    [
      'an Accept of 10,000 characters',
      message('GET /cars HTTP/1.1', HOST, `Accept: ${'a/b,'.repeat(2500)}`),
      400,
    ],
    [
      'two Accepts',
      message('GET /cars HTTP/1.1', HOST, 'Accept: text/html;q=0.1', 'Accept: application/json'),
      200,
    ],
    ['no HTTP at all', 'hello\r\n\r\n', 400],
  ])('%s', async (_row, text, status) => {
    const answer = await sendRaw(server.port, text)
    expect(answer.status).toBe(status)
    if (text.startsWith('HEAD')) expect(answer.text).toBe('')
    for (const address of addresses(answer)) expect(address).not.toContain('evil.example')
    const next = await sendRaw(server.port, message('GET /cars HTTP/1.1', HOST))
    expect(next).toMatchObject({ status: 200, text: '[]' })
  })

  it('the refusals that are ours have the error body', async () => {
    for (const line of ['GET // HTTP/1.1', 'GET /cars/%zz HTTP/1.1', 'GET /cars?a=%zz HTTP/1.1']) {
      const answer = await sendRaw(server.port, message(line, HOST))
      expect(answer.json).toEqual({
        errors: [{ message: expect.any(String), code: answer.status, type: expect.any(String) }],
      })
    }
  })

  it('OPTIONS * describes the root', async () => {
    const answer = await sendRaw(server.port, message('OPTIONS * HTTP/1.1', HOST))
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })

  it('absolute form: the authority of the target counts, not Host (RFC 9112 §3.2.2)', async () => {
    const answer = await sendRaw(
      server.port,
      message('GET http://api.example:81/ HTTP/1.1', 'Host: other.example'),
    )
    expect(answer.json).toMatchObject({ url: 'http://api.example:81/' })
    const bad = await sendRaw(server.port, message('GET http://a@evil.example/ HTTP/1.1', HOST))
    expect(bad.status).toBe(400)
  })

  it('a second request on the same connection is answered after a refusal', async () => {
    const first = `GET // HTTP/1.1\r\n${HOST}\r\n\r\n`
    const { text } = await sendRaw(server.port, first + message('GET /cars HTTP/1.1', HOST))
    expect(text).toMatch(/HTTP\/1\.1 200 OK[\s\S]*\[\]$/)
  })
})

describe('Unusual requests through both handlers', () => {
  eachHandler(
    () => example({ formats: [json, xml] }),
    handler => {
      it.each<[string, number]>([
        ['//', 404],
        ['//evil.example/cars', 404],
        ['/cars/%zz', 400],
        ['/cars/%ff', 400],
        ['/cars/a%2fb', 400],
        ['/cars/%00', 400],
        ['/cars?color=%zz', 400],
        ['/cars/', 200],
        ['/cars/count/', 200],
        ['/cars//', 404],
        ['/c%61rs', 200],
        ['/.json', 404],
        ['/cars.', 404],
        ['/cars.html', 404],
        ['/cars.toString', 404],
        ['/__proto__', 404],
        ['/constructor', 404],
        ['/cars/__proto__', 404],
        ['/cars/count/x', 404],
        ['/models/0', 404],
        ['/models/-1', 404],
        ['/models/1e3', 404],
        ['/models/99999999999999999999', 404],
        [`/cars/${'a'.repeat(5000)}`, 404],
        [`/cars?color=${'a'.repeat(8192)}`, 414],
      ])('%s: %d', async (path, status) => {
        const answer = await handler.request(path)
        expect(answer.status).toBe(status)
        for (const address of addresses(answer)) expect(address.startsWith(handler.base)).toBe(true)
      })

      // Negotiation grows with the square of their number: 2,000 in 8 KB took 7 ms.
      const ACCEPTS: [what: string, accept: string, status: number, type: string | undefined][] = [
        ['that is too long', 'a/b,'.repeat(2500), 400, 'header_too_long'],
        ['of 101 media types', `${'a/b,'.repeat(100)}*/*`, 400, 'header_too_long'],
        ['of 100 media types', `${'a/b,'.repeat(99)}*/*`, 200, undefined],
      ]
      for (const [what, accept, status, type] of ACCEPTS) {
        it(`an Accept ${what}: ${status}, errors in JSON`, async () => {
          const answer = await handler.request('/cars', { headers: { accept } })
          expect(answer.status).toBe(status)
          if (type) expect(answer.json).toMatchObject({ errors: [{ type }] })
        })
      }

      it('extensions: registered ones name the format, others belong to the id, %2E escapes the dot', async () => {
        for (const id of ['a', 'a.json', 'a.b', 'a.xml', '.json', 'a.JSON'])
          await handler.request('/accounts', { method: 'POST', json: { id, name: id } })
        const read = async (path: string) => {
          const answer = await handler.request(`/accounts/${path}?fields=name`)
          return [
            answer.headers.get('content-type')?.split(';')[0],
            /[^<>"{}:]+(?=[<"}]+[^<>"]*$|<\/name)/.exec(answer.text)?.[0] ?? answer.text,
          ]
        }
        expect(await read('a')).toEqual(['application/json', 'a'])
        expect(await read('a.json')).toEqual(['application/json', 'a'])
        expect(await read('a.xml')).toEqual(['application/xml', 'a'])
        expect(await read('a%2Ejson')).toEqual(['application/json', 'a.json'])
        expect(await read('a%2ejson')).toEqual(['application/json', 'a.json'])
        expect(await read('a.json.json')).toEqual(['application/json', 'a.json'])
        expect(await read('a.json.xml')).toEqual(['application/xml', 'a.json'])
        expect(await read('a.b')).toEqual(['application/json', 'a.b'])
        expect(await read('a%2Exml')).toEqual(['application/json', 'a.xml'])
        expect(await read('.json')).toEqual(['application/json', '.json'])
        expect(await read('a.JSON')).toEqual(['application/json', 'a.JSON'])
      })

      it.each([
        'b.json',
        'b.xml',
        'b c',
        'é😀',
        'b%2F',
        "b'(*)",
        'b&c=d',
        'b?c',
        'b#c',
        'b.json.json',
      ])('the Location of an id leads back to it: %s', async id => {
        const made = await handler.request('/accounts', { method: 'POST', json: { id, name: 'x' } })
        expect(made.status).toBe(201)
        const read = await handler.request(made.headers.get('location') ?? '')
        expect(read).toMatchObject({ status: 200, json: { id } })
      })

      it.each(['', '.', '..', 'count', 'a/b', 'a\\b', 'a\u0000', 'a\n', 'x'.repeat(256)])(
        'an id that no path could name is refused: %j',
        async id => {
          const made = await handler.request('/accounts', {
            method: 'POST',
            json: { id, name: 'x' },
          })
          expect(made.status).toBe(400)
        },
      )
    },
    { once: true },
  )
})

describe('Addresses', () => {
  const addressed = async (policies: Policies, line: string, ...headers: string[]) => {
    const { port, close } = await start(policies)
    const answer = await sendRaw(port, message(line, ...headers))
    await close()
    return answer
  }
  const BASE = 'https://api.example/base'
  const FORWARDED = ['X-Forwarded-Host: public.example', 'X-Forwarded-Proto: https']

  it.each<[string, Policies, string, readonly string[], string]>([
    ['Host', {}, '/', ['Host: a.example'], 'http://a.example/'],
    ['Host with a port', {}, '/', ['Host: a.example:8080'], 'http://a.example:8080/'],
    ['Host with an empty port', {}, '/', ['Host: a.example:'], 'http://a.example/'],
    ['Host: IPv6, empty port', {}, '/', ['Host: [::1]:'], 'http://[::1]/'],
    [
      'an empty port in the target',
      {},
      'http://b.example:/',
      ['Host: a.example'],
      'http://b.example/',
    ],
    [
      'an empty port that is forwarded',
      { trustProxy: true },
      '/',
      ['Host: a.example', 'X-Forwarded-Host: b.example:', 'X-Forwarded-Proto: http'],
      'http://b.example/',
    ],
    ['baseUrl', { baseUrl: BASE }, '/', ['Host: a.example'], `${BASE}/`],
    ['baseUrl with a slash', { baseUrl: `${BASE}/` }, '/', ['Host: a.example'], `${BASE}/`],
    ['prefix', { prefix: '/api' }, '/api', ['Host: a.example'], 'http://a.example/api/'],
    [
      'prefix, with a slash',
      { prefix: '/api/' },
      '/api/',
      ['Host: a.example'],
      'http://a.example/api/',
    ],
    [
      'baseUrl wins over the prefix',
      { baseUrl: BASE, prefix: '/api' },
      '/api/',
      ['Host: a.example'],
      `${BASE}/`,
    ],
    [
      'X-Forwarded-* does not count',
      {},
      '/',
      ['Host: a.example', ...FORWARDED],
      'http://a.example/',
    ],
    [
      'trustProxy',
      { trustProxy: true },
      '/',
      ['Host: a.example', ...FORWARDED],
      'https://public.example/',
    ],
    [
      'trustProxy without X-Forwarded-*',
      { trustProxy: true },
      '/',
      ['Host: a.example'],
      'http://a.example/',
    ],
    [
      'trustProxy: the nearest proxy counts',
      { trustProxy: true },
      '/',
      ['Host: a.example', 'X-Forwarded-Host: evil.example, public.example'],
      'http://public.example/',
    ],
    [
      'trustProxy: a host that is none does not count',
      { trustProxy: true },
      '/',
      ['Host: a.example', 'X-Forwarded-Host: a/b', 'X-Forwarded-Proto: javascript'],
      'http://a.example/',
    ],
    [
      'baseUrl wins over trustProxy',
      { baseUrl: BASE, trustProxy: true },
      '/',
      ['Host: a.example', ...FORWARDED],
      `${BASE}/`,
    ],
  ])('%s', async (_row, policies, target, headers, url) => {
    const { json: root } = await addressed(policies, `GET ${target} HTTP/1.1`, ...headers)
    expect(root).toMatchObject({ url, resources: { cars: { url: `${url}cars` } } })
  })

  it.each([
    ['/cars', 404],
    ['/apis', 404],
    ['/API/cars', 404],
    ['/api/cars', 200],
    ['/api', 200],
    ['/api//cars', 404],
  ])('with the prefix /api, %s is %d', async (target, status) => {
    const answer = await addressed({ prefix: '/api' }, `GET ${target} HTTP/1.1`, 'Host: a.example')
    expect(answer.status).toBe(status)
  })

  describe.each([
    ['a bare server', listen],
    ['a hardened server', serve],
  ])('%s', (name, open) => {
    it.each<[Policies, string, string[], number]>([
      [{ baseUrl: BASE }, 'GET / HTTP/1.0', [], 200],
      [{ baseUrl: BASE, health: true }, 'GET /health HTTP/1.0', [], 200],
      [{ baseUrl: BASE }, 'GET http://api.example/ HTTP/1.0', [], 200],
      [{ baseUrl: BASE }, 'GET http://a@b/ HTTP/1.0', [], 400],
      [{ baseUrl: BASE }, 'GET / HTTP/1.0', ['Host:'], 400],
      [{ baseUrl: BASE }, 'GET / HTTP/1.0', ['Host: a/b'], 400],
      [{ baseUrl: BASE }, 'GET / HTTP/1.1', [], 400],
      [{ baseUrl: BASE }, 'GET http://api.example/ HTTP/1.1', [], 400],
      [{ baseUrl: BASE, health: true }, 'GET /health HTTP/1.1', [], 400],
      [{ baseUrl: BASE }, 'GET / HTTP/1.1', ['Host: a.example'], 200],
      [{}, 'GET / HTTP/1.1', [], 400],
      [{}, 'GET / HTTP/1.0', [], 400],
      [{}, 'GET / HTTP/1.0', ['Host: a.example'], 200],
      // The plain check of HAProxy: a document without addresses needs no Host.
      [{ health: true }, 'GET /health HTTP/1.0', [], 200],
      [{ health: true }, 'OPTIONS /health HTTP/1.0', [], 204],
      [{ health: true }, 'GET /health HTTP/1.0', ['Host: a/b'], 400],
      [{ health: true }, 'GET /health HTTP/1.1', [], 400],
      [{ health: true }, 'GET /cars HTTP/1.0', [], 400],
    ])('%j: %s with %j is %d', async (policies, line, headers, status) => {
      const { port, close } = await open(example(policies).api.handler)
      const answer = await sendRaw(port, message(line, ...headers))
      await close()
      expect(answer.status).toBe(status)
      if (status === 400 && name === 'a hardened server') {
        expect(answer.json).toMatchObject({ errors: [{ code: 400, type: 'invalid_host' }] })
      }
    })
  })

  it('OPTIONS * is answered below a prefix too', async () => {
    const answer = await addressed({ prefix: '/api' }, 'OPTIONS * HTTP/1.1', 'Host: a.example')
    expect(answer.status).toBe(200)
  })

  it.each(['ftp://a', 'api.example', '/base', 'https://a/?b', 'https://a/#b', 'https://u:p@a', ''])(
    'baseUrl %j is a TypeError',
    baseUrl => {
      expect(() => example({ baseUrl })).toThrow(TypeError)
    },
  )

  it.each(['api', '/a b', '/a//b', '//a', '/a?b'])('prefix %j is a TypeError', prefix => {
    expect(() => example({ prefix })).toThrow(TypeError)
  })
})

describe('Mounted under a prefix of another server', () => {
  let made: Example
  let server: Listening
  beforeAll(async () => {
    made = example()
    // What Express and Connect do: the prefix is taken from `url`, `originalUrl` keeps the whole.
    server = await listen((request, response) => {
      const mounted = Object.assign(request, { originalUrl: request.url })
      const other = () => response.writeHead(404).end('other')
      const [whole, origin = ''] = /^(http:\/\/[^/]*)?\/mount/.exec(request.url ?? '') ?? []
      if (whole === undefined) return other()
      mounted.url = origin + request.url?.slice(whole.length).replace(/^(?=\?|$)/, '/')
      made.api.handler(mounted, response, other)
    })
  })
  afterAll(() => server.close())

  it.each(['/mount', '/mount/', '/mount?x'])('the root at %s', async target => {
    const answer = await fetch(server.base + target)
    expect(await answer.json()).toMatchObject({
      url: `${server.base}/mount/`,
      resources: { cars: { url: `${server.base}/mount/cars` } },
    })
  })

  it('links of a target in absolute form', async () => {
    const line = 'GET http://api.example/mount/cars?limit=1 HTTP/1.1'
    const answer = await sendRaw(server.port, message(line, 'Host: api.example'))
    expect(answer.status).toBe(200)
    for (const href of addresses(answer)) {
      expect(href.startsWith('http://api.example/mount/cars?limit=1')).toBe(true)
    }
  })

  it('links and Location', async () => {
    const post = await fetch(`${server.base}/mount/cars`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ immatriculation: 'a', color: 'red' }),
    })
    expect(post.headers.get('location')).toMatch(new RegExp(`^${server.base}/mount/cars/[^/]+$`))
    const list = await fetch(`${server.base}/mount/cars?limit=1`)
    for (const { href } of parseLink(list.headers.get('link') ?? ''))
      expect(href.startsWith(`${server.base}/mount/cars?limit=1`)).toBe(true)
  })

  it.each([
    '/mount/other',
    '/mount/other?color=%zz',
    '/mount/%zz',
    '/mount//evil.example',
    `/mount/other?${'a'.repeat(9000)}`,
  ])('what is not its own falls through: %s', async target => {
    const answer = await fetch(server.base + target)
    expect([answer.status, await answer.text()]).toEqual([404, 'other'])
  })

  it.each([
    ['/mount/cars?color=%zz', 400],
    ['/mount/cars/nobody', 404],
  ])('what is its own does not: %s', async (target, status) => {
    const answer = await fetch(server.base + target)
    expect(answer.status).toBe(status)
    expect(await answer.text()).toContain('"errors"')
  })
})

describe('An async listener never ends the process', () => {
  it('whatever the target, the server goes on', async () => {
    const { api } = example()
    const failures: unknown[] = []
    const note = (error: unknown) => failures.push(error)
    process.on('unhandledRejection', note)
    const server = createServer(api.handler)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    for (const target of [
      '//',
      '//[',
      '/\\',
      'http://[',
      'http://',
      '/%',
      '/?%',
      '*',
      '/[',
      '/:id',
      '/{a}',
    ]) {
      for (const host of ['a', '[', '%zz', ''])
        await sendRaw(port, message(`GET ${target} HTTP/1.1`, `Host: ${host}`))
    }
    expect((await sendRaw(port, message('GET /cars HTTP/1.1', 'Host: a'))).status).toBe(200)
    await new Promise(resolve => server.close(resolve))
    process.off('unhandledRejection', note)
    expect(failures).toEqual([])
  })
})
