// The node:http handler below other people's servers, and over connections that are kept.
import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestListener, request as send } from 'node:http'
import { connect } from 'node:net'
import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { carValues, type Example, example, seed } from './fixture.ts'
import { listen } from './handlers.ts'

const FORM = 'application/x-www-form-urlencoded'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.map(close => close()))
  closing = []
})

async function serve(handler: RequestListener) {
  const server = await listen(handler)
  closing.push(server.close)
  return server
}

/** An api with one car, in Express, after what is given. */
async function inExpress(
  before: readonly express.RequestHandler[],
  mount: (app: express.Express, handler: express.RequestHandler) => void = (app, handler) =>
    app.use(handler),
) {
  const made = example()
  const [car] = await seed(made, 1)
  const app = express()
  for (const handler of before) app.use(handler)
  mount(app, made.api.handler as express.RequestHandler)
  app.use(express.text({ type: '*/*' }), (request, response) => {
    response
      .status(418)
      .send(`express: ${request.method} ${request.originalUrl} ${request.body ?? ''}`)
  })
  const { base } = await serve(app)
  return { ...made, base, id: String(car?.id), request: requester(base) }
}

function requester(base: string) {
  return async (method: string, target: string, body?: string, type = 'application/json') => {
    const init = {
      method,
      redirect: 'manual' as const,
      ...(body !== undefined && { body, headers: { 'content-type': type } }),
    }
    const answer = await fetch(base + target, init)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, json: parsed(text) }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const PARSERS: Readonly<Record<string, readonly express.RequestHandler[]>> = {
  'no parser': [],
  'express.json()': [express.json()],
  'express.urlencoded()': [express.urlencoded()],
  'express.urlencoded({ extended: true })': [express.urlencoded({ extended: true })],
  'all of them': [
    express.json(),
    express.urlencoded({ extended: true }),
    express.text(),
    express.raw(),
  ],
  'express.json() for every type': [express.json({ type: ['json', '+json'] })],
  'express.text() for every type': [express.text({ type: '*/*' })],
  'express.raw() for every type': [express.raw({ type: '*/*' })],
}

describe.each(Object.entries(PARSERS))('in Express after %s', (_name, before) => {
  it('JSON', async () => {
    const { request, id } = await inExpress(before)
    const made = await request('POST', '/cars', JSON.stringify(carValues(1)))
    expect(made).toMatchObject({ status: 201, json: carValues(1) })
    expect(await request('PUT', `/cars/${id}`, JSON.stringify(carValues(2)))).toMatchObject({
      status: 303,
    })
    expect(await request('PATCH', `/cars/${id}`, '{"model":{"brand":null}}')).toMatchObject({
      status: 303,
    })
    expect(await request('GET', `/cars/${id}`)).toMatchObject({ json: { model: { name: '208' } } })
    expect(await request('POST', '/cars', '{"colour":"red"}')).toMatchObject({
      status: 400,
      json: { errors: [{ field: 'colour' }, {}, {}] },
    })
  })

  it('patches by their own types', async () => {
    const { request, id } = await inExpress(before)
    expect(
      await request('PATCH', `/cars/${id}`, '{"price":1}', 'application/merge-patch+json'),
    ).toMatchObject({ status: 303 })
    expect(
      await request(
        'PATCH',
        `/cars/${id}`,
        '[{"op":"add","path":"/tags/-","value":"x"}]',
        'application/json-patch+json',
      ),
    ).toMatchObject({ status: 303 })
    expect(await request('GET', `/cars/${id}`)).toMatchObject({
      json: { price: 1, tags: ['family', 'sale', 'x'] },
    })
  })

  it('forms, nested, listed and typed', async () => {
    const { request, id } = await inExpress(before)
    const body =
      'immatriculation=F&color=red&model[name]=Clio&model[brand]=Renault&doors=3&tags=a&tags=b&electric=on'
    expect(await request('POST', '/cars', body, FORM)).toMatchObject({
      status: 201,
      json: {
        model: { name: 'Clio', brand: 'Renault' },
        doors: 3,
        tags: ['a', 'b'],
        electric: true,
      },
    })
    expect(await request('PATCH', `/cars/${id}`, 'model.name=II', FORM)).toMatchObject({
      status: 303,
    })
    expect(await request('GET', `/cars/${id}`)).toMatchObject({
      json: { model: { name: 'II', brand: 'Renault' } },
    })
    expect(
      await request('POST', '/cars', 'immatriculation=G&color=red&doors=x', FORM),
    ).toMatchObject({ status: 400, json: { errors: [{ field: 'doors' }] } })
  })

  it('_method in a form', async () => {
    const { request, id } = await inExpress(before)
    expect(await request('POST', '/cars', '_method=get&color=red', FORM)).toMatchObject({
      status: 400,
    })
    expect(await request('POST', `/cars/${id}`, '_method=PATCH&doors=3', FORM)).toMatchObject({
      status: 303,
    })
    expect(await request('GET', `/cars/${id}`)).toMatchObject({ json: { doors: 3 } })
    expect(await request('POST', `/cars/${id}`, '_method=delete', FORM)).toMatchObject({
      status: 200,
    })
    expect(await request('GET', `/cars/${id}`)).toMatchObject({ status: 404 })
  })

  it('requests without a body', async () => {
    const { request, id } = await inExpress(before)
    expect(await request('POST', '/cars')).toMatchObject({
      status: 400,
      json: { errors: [{ type: 'missing_body' }] },
    })
    expect(await request('POST', `/cars/${id}?_method=DELETE`)).toMatchObject({ status: 200 })
    expect(await request('HEAD', '/cars')).toMatchObject({ status: 200, text: '' })
  })

  it('what no parser may let in', async () => {
    const { request } = await inExpress(before)
    const hostile = [
      ['{"immatriculation":"x","color":"red","__proto__":{"doors":1}}', 'application/json'],
      ['{"immatriculation":"x","color":"red","price":1e400}', 'application/json'],
      ['{"immatriculation":"a\\u0000","color":"red"}', 'application/json'],
      ['{"immatriculation":"\\ud83d","color":"red"}', 'application/json'],
      [
        `{"immatriculation":"x","color":"red","model":${'['.repeat(5000)}${']'.repeat(5000)}}`,
        'application/json',
      ],
      ['immatriculation=a%00&color=red', FORM],
    ] as const
    for (const [body, type] of hostile) {
      expect(await request('POST', '/cars', body, type)).toMatchObject({ status: 400 })
    }
    expect(await request('GET', '/cars/count')).toMatchObject({ json: { count: 1 } })
  })
})

describe('mounted under a prefix', () => {
  const nested = (app: express.Express, handler: express.RequestHandler) => {
    const router = express.Router()
    router.use('/v9', handler)
    app.use('/shop/api', router)
  }
  const mounts: readonly [
    prefix: string,
    mount: (app: express.Express, handler: express.RequestHandler) => void,
  ][] = [
    ['', (app, handler) => app.use(handler)],
    ['/api', (app, handler) => app.use('/api', handler)],
    ['/shop/api/v9', nested],
    ['/ann/api', (app, handler) => app.use('/:tenant/api', handler)],
  ]
  for (const [prefix, mount] of mounts) {
    it(`${prefix || 'nothing'}: every address says so`, async () => {
      const { request, base, id } = await inExpress([express.json()], mount)
      const root = base + prefix
      expect((await request('GET', `${prefix}/`)).json).toMatchObject({
        url: `${root}/`,
        resources: { cars: { url: `${root}/cars` } },
      })
      expect((await request('GET', prefix || '/')).json).toMatchObject({ url: `${root}/` })
      const made = await request('POST', `${prefix}/cars`, JSON.stringify(carValues(1)))
      expect(made.headers.get('location')).toMatch(new RegExp(`^${root}/cars/[^/]+$`))
      const page = await request('GET', `${prefix}/cars?limit=1`)
      expect(page.headers.get('link')).toContain(`<${root}/cars?limit=1&`)
      const put = await request('PATCH', `${prefix}/cars/${id}`, '{}')
      expect(put.headers.get('location')).toBe(`${root}/cars/${id}`)
    })

    it(`${prefix || 'nothing'}: what is not the api's own falls through, body and all`, async () => {
      const { request } = await inExpress([], mount)
      expect(await request('GET', `${prefix}/elsewhere?x=1`)).toMatchObject({
        status: 418,
        text: `express: GET ${prefix}/elsewhere?x=1 `,
      })
      expect(await request('POST', `${prefix}/elsewhere`, 'hello', 'text/plain')).toMatchObject({
        status: 418,
        text: `express: POST ${prefix}/elsewhere hello`,
      })
      expect(await request('DELETE', `${prefix}/cars/a/b/c`)).toMatchObject({ status: 418 })
      // Its own paths are answered, errors too.
      expect(await request('DELETE', `${prefix}/cars`)).toMatchObject({ status: 405 })
      expect(await request('GET', `${prefix}/cars/nothing`)).toMatchObject({
        status: 404,
        json: { errors: [{ code: 404 }] },
      })
    })
  }

  it('what next throws is not swallowed', async () => {
    const thrown = new Error('of somebody else')
    const known = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    const raised = once(process, 'uncaughtException')
    const { handler } = example().api
    const { base } = await serve((request, response) => {
      handler(request, response, () => {
        response.end()
        throw thrown
      })
    })
    await requester(base)('GET', '/elsewhere')
    expect((await raised)[0]).toBe(thrown)
    for (const listener of known) process.on('uncaughtException', listener)
  })

  it('without next every path is answered', async () => {
    const { base } = await serve(example().api.handler)
    expect(await requester(base)('GET', '/elsewhere')).toMatchObject({
      status: 404,
      json: { errors: [{ type: 'no_such_path' }] },
    })
  })
})

describe('a kept connection', () => {
  /** Sends one after another over one connection; each answer with the port it came over. */
  async function overOne(
    { api }: Example,
    requests: readonly {
      method: string
      path: string
      body?: string
      headers?: Record<string, string>
    }[],
  ) {
    const { port } = await serve(api.handler)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    closing.push(async () => agent.destroy())
    const answers: { status: number | undefined; text: string; socket: number | undefined }[] = []
    for (const { method, path, body, headers } of requests) {
      answers.push(
        await new Promise((resolve, reject) => {
          const request = send(
            {
              port,
              agent,
              method,
              path,
              headers: {
                ...headers,
                ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
              },
            },
            (response: IncomingMessage) => {
              const socket = response.socket.localPort
              const chunks: Buffer[] = []
              response.on('data', chunk => chunks.push(chunk))
              response.on('end', () =>
                resolve({
                  status: response.statusCode,
                  text: Buffer.concat(chunks).toString(),
                  socket,
                }),
              )
            },
          )
          request.on('error', reject)
          request.end(body)
        }),
      )
    }
    return answers
  }
  const count = { method: 'GET', path: '/cars/count' }
  const refused: readonly [
    name: string,
    status: number,
    request: { method: string; path: string; body?: string; headers?: Record<string, string> },
  ][] = [
    [
      'a body over the limit',
      413,
      {
        method: 'POST',
        path: '/cars',
        body: 'x'.repeat(5000),
        headers: { 'content-type': 'application/json' },
      },
    ],
    [
      'a body of an unknown type',
      415,
      {
        method: 'POST',
        path: '/cars',
        body: 'GET /cars HTTP/1.1\r\n\r\n'.repeat(200),
        headers: { 'content-type': 'text/plain' },
      },
    ],
    ['a body that nobody wants', 405, { method: 'DELETE', path: '/cars', body: 'x'.repeat(5000) }],
    [
      'a body for a path that does not exist',
      404,
      { method: 'POST', path: '/nothing', body: 'x'.repeat(5000) },
    ],
    ['a body of a GET', 200, { method: 'GET', path: '/cars', body: '{"a":1}' }],
    ['an answer without body', 200, { method: 'HEAD', path: '/cars/count' }],
    ['an error without body', 404, { method: 'HEAD', path: '/nothing' }],
  ]
  for (const [name, status, request] of refused) {
    it(`serves on after ${name}: ${status}`, async () => {
      const answers = await overOne(example({ limits: { body: 1000 } }), [
        count,
        request,
        count,
        request,
        count,
      ])
      expect(answers.map(answer => answer.status)).toEqual([200, status, 200, status, 200])
      for (const at of [0, 2, 4]) expect(answers[at]?.text).toBe('{"count":0}')
      expect(new Set(answers.map(({ socket }) => socket)).size).toBe(1)
    })
  }

  it('a HEAD has not one byte of body', async () => {
    const { port } = await serve(example().api.handler)
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(
          'HEAD /cars HTTP/1.1\r\nHost: a\r\n\r\nHEAD /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
        ),
      )
      const chunks: Buffer[] = []
      socket
        .on('data', chunk => chunks.push(chunk))
        .on('error', reject)
        .on('close', () => resolve(Buffer.concat(chunks).toString()))
    })
    expect(text).toMatch(
      /^HTTP\/1\.1 200 OK\r\n[^{[]*\r\n\r\nHTTP\/1\.1 404 Not Found\r\n[^{[]*\r\n\r\n$/,
    )
  })
})

describe('a body over the limit while it is still being sent', () => {
  for (const [name, framing] of [
    ['with a length', 'Content-Length: 50000000'],
    ['in chunks', 'Transfer-Encoding: chunked'],
  ] as const) {
    it(`${name}: the 413 can be read`, async () => {
      const { port } = await serve(example().api.handler)
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1')
        const chunks: Buffer[] = []
        const block = Buffer.alloc(65_536, 0x78)
        const piece = framing.startsWith('Transfer')
          ? Buffer.concat([Buffer.from('10000\r\n'), block, Buffer.from('\r\n')])
          : block
        let open = true
        const more = () => {
          while (open && socket.write(piece));
        }
        socket.on('drain', more)
        socket.on('data', chunk => chunks.push(chunk))
        // A client that goes on sending may be cut off; the answer has arrived by then.
        socket.on('error', error => {
          open = false
          if (chunks.length === 0) reject(error)
        })
        socket.on('close', () => {
          open = false
          resolve(Buffer.concat(chunks).toString())
        })
        socket.write(
          `POST /cars HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`,
        )
        more()
      })
      expect(answer).toMatch(/^HTTP\/1\.1 413 /)
      expect(answer).toMatch(/\r\nConnection: close\r\n/i)
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
        errors: [{ code: 413, type: 'body_too_large' }],
      })
      expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    })
  }
})
