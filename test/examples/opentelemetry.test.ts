// The spans of `examples/opentelemetry.ts`, from requests over a real socket.
import { createServer, type Server } from 'node:http'
import { propagation, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import express from 'express'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { traceRequests } from '../../examples/opentelemetry.ts'
import { example, seed } from '../fixture.ts'
import { converse, print } from '../guards/wire.ts'

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })

let server: Server
let port: number
let id: string
let end: () => void

beforeAll(async () => {
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  end = traceRequests(provider.getTracer('test'))
  const made = example({
    version: 1,
    onError: () => undefined,
    storeOf: (name, store) =>
      name === 'models' ? { ...store, list: () => Promise.reject(new Error('x')) } : store,
  })
  const [car] = await seed(made, 1)
  id = String(car?.id)
  const mounted = express().use('/api', made.api.handler)
  server = createServer((request, response) => {
    if (request.url?.startsWith('/api/')) mounted(request, response)
    else made.api.handler(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
})
afterEach(() => exporter.reset())
afterAll(async () => {
  end()
  propagation.disable()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

/** Sends one request. @returns its status and its span. */
async function traced(method: string, target: string, headers: Record<string, string> = {}) {
  const lines = Object.entries({ 'User-Agent': 'test', ...headers })
  const { answers } = await converse(port, [
    print('localhost', { method, target: target.replace('{id}', id), headers: lines }),
  ])
  const spans = exporter.getFinishedSpans()
  expect(spans).toHaveLength(1)
  return { status: answers[0]?.status, span: spans[0] }
}

interface Expected {
  readonly name: string
  readonly status: number
  readonly attributes: Record<string, unknown>
  readonly failed?: boolean
}

const CASES: readonly (readonly [string, string, Expected])[] = [
  [
    'GET',
    '/v1/cars/{id}',
    { name: 'GET /v1/cars/:id', status: 200, attributes: { 'http.route': '/v1/cars/:id' } },
  ],
  [
    'GET',
    '/v1/cars?color=red&limit=3',
    {
      name: 'GET /v1/cars',
      status: 200,
      attributes: {
        'http.route': '/v1/cars',
        'url.path': '/v1/cars',
        'url.query': 'color=REDACTED&limit=REDACTED',
      },
    },
  ],
  [
    'GET',
    '/v1/cars/nobody',
    { name: 'GET /v1/cars/:id', status: 404, attributes: { 'http.route': '/v1/cars/:id' } },
  ],
  ['GET', '/v1/nothing/secret', { name: 'GET', status: 404, attributes: {} }],
  [
    'GET',
    '/api/v1/cars/{id}',
    {
      name: 'GET /api/v1/cars/:id',
      status: 200,
      attributes: { 'http.route': '/api/v1/cars/:id' },
    },
  ],
  [
    'POST',
    '/v1/cars/{id}?_method=DELETE',
    {
      name: 'POST /v1/cars/:id',
      status: 200,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/cars/:id',
        'url.path': '/v1/cars/{id}',
        'url.query': '_method=REDACTED',
      },
    },
  ],
  [
    'PURGE',
    '/v1/cars',
    {
      name: 'HTTP /v1/cars',
      status: 405,
      attributes: {
        'http.request.method': '_OTHER',
        'http.request.method_original': 'PURGE',
        'http.route': '/v1/cars',
      },
    },
  ],
  [
    'GET',
    '/v1/models',
    {
      name: 'GET /v1/models',
      status: 500,
      attributes: { 'http.route': '/v1/models', 'error.type': '500' },
      failed: true,
    },
  ],
  [
    'GET',
    '/v1/cars/nobody?suppress_error_codes',
    {
      name: 'GET /v1/cars/:id',
      status: 200,
      attributes: {
        'http.route': '/v1/cars/:id',
        'url.path': '/v1/cars/nobody',
        'url.query': 'suppress_error_codes',
      },
    },
  ],
]

test.each(CASES)('%s %s', async (method, target, { name, status, attributes, failed = false }) => {
  const known = {
    'http.request.method': method,
    'http.response.status_code': status,
    'url.scheme': 'http',
    'url.path': target,
    'client.address': '127.0.0.1',
    'network.peer.address': '127.0.0.1',
    'user_agent.original': 'test',
  }
  const { status: actual, span } = await traced(method, target)
  expect(actual).toBe(status)
  expect(span?.name).toBe(name)
  expect(span?.kind).toBe(SpanKind.SERVER)
  // All of them: nothing else is told.
  expect(JSON.parse(JSON.stringify(span?.attributes).replaceAll(id, '{id}'))).toEqual({
    ...known,
    ...attributes,
  })
  expect(span?.status).toEqual({ code: failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET })
})

test.each([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'b7ad6b7169203331'],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01', undefined],
  ['nonsense', undefined],
  [undefined, undefined],
])('traceparent %s: the parent is %s', async (traceparent, parent) => {
  const { span } = await traced('GET', '/v1/cars', traceparent === undefined ? {} : { traceparent })
  expect(span?.parentSpanContext?.spanId).toBe(parent)
  if (parent !== undefined) expect(traceparent).toContain(span?.spanContext().traceId)
  expect(span?.spanContext().traceId).toMatch(/^[0-9a-f]{32}$/)
})

test('two requests of one id at once have a span each', async () => {
  const headers = { 'x-request-id': 'same' }
  await Promise.all(
    ['/v1/cars', '/v1/accounts'].map(path => fetch(`http://127.0.0.1:${port}${path}`, { headers })),
  )
  const names = exporter.getFinishedSpans().map(({ name }) => name)
  expect(names.sort()).toEqual(['GET /v1/accounts', 'GET /v1/cars'])
})
