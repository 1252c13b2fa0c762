// One work again and again, in process, with the least of a request and a response that our handler
// needs: node repeat.js <work> <times> [store]. Counted by instructions.ts.
import { makeCars, pagesOf, targetOf, valuesOf } from './cars.js'

const [, , work, times, store = 'memory'] = process.argv
const { start } = await import(`./contestants/ours${store === 'memory' ? '' : `-${store}`}.js`)
const server = await start(makeCars())
const [handler] = server.listeners('request')
server.close()

const bodies = Array.from({ length: 100 }, (_, at) =>
  Buffer.from(JSON.stringify(valuesOf(at * 79))),
)
const MERGE_PATCH = 'application/merge-patch+json'
const prices = Array.from({ length: 99 }, (_, at) => Buffer.from(`{"price":${9000 + at}}`))
const socket = { remoteAddress: '127.0.0.1' }

class Response {
  destroyed = false
  headersSent = false
  constructor(done) {
    this.done = done
  }
  writeHead(status, headers) {
    this.status = status
    this.headers = headers
  }
  getHeaderNames() {
    return []
  }
  write() {}
  end() {
    this.done(this)
  }
}

class Request {
  socket = socket
  complete = true
  readableAborted = false
  constructor(method, url, headers, body) {
    this.method = method
    this.url = url
    this.rawHeaders = ['Host', 'localhost:3000', 'Connection', 'keep-alive', ...headers]
    this.body = undefined
    this.rest = body ?? null
    this.readableLength = body?.length ?? 0
    this.readableEnded = body === undefined
  }
  read() {
    const { rest } = this
    this.rest = null
    this.readableLength = 0
    return rest
  }
  resume() {}
}

function ask(method, url, headers = [], body = undefined) {
  return new Promise(done => {
    const request = new Request(method, url, ['Accept', 'application/json', ...headers], body)
    handler(request, new Response(done))
  })
}

function send(method, url, type, body) {
  const headers = ['Content-Type', type, 'Content-Length', String(body.length)]
  return ask(method, url, headers, body)
}

function pageOf(texts) {
  const targets = pagesOf(texts).map(({ color, offset }) => targetOf(color, offset))
  return at => ask('GET', targets[at % texts])
}

const { headers } = await ask('GET', '/cars/77')
const tag = headers[headers.indexOf('ETag') + 1]
const works = {
  W1: [200, at => ask('GET', `/cars/${1 + (at % 100)}`)],
  W2: [200, pageOf(12)],
  W2b: [200, pageOf(8400)],
  W3: [304, () => ask('GET', '/cars/77', ['If-None-Match', tag])],
  W4: [201, at => send('POST', '/cars', 'application/json', bodies[at % bodies.length])],
  patch: [
    303,
    at => send('PATCH', `/cars/${1 + (at % 100)}`, MERGE_PATCH, prices[at % prices.length]),
  ],
}
const [expected, once] = works[work]
for (let at = 0; at < Number(times); at++) {
  const { status } = await once(at)
  if (status !== expected) throw new Error(`${work} was answered ${status}`)
}
process.exit()
