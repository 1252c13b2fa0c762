// Requests of one process to itself, with the least of a request and a response that our handler needs.

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
  once() {}
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

/** Creates a function that asks a request listener of ours; it resolves to the response. */
export function createAsk(handler) {
  return (method, url, headers = [], body = undefined) =>
    new Promise(done => {
      const request = new Request(method, url, ['Accept', 'application/json', ...headers], body)
      handler(request, new Response(done))
    })
}

/** The headers of a body. */
export function typed(type, body) {
  return ['Content-Type', type, 'Content-Length', String(body.length)]
}
