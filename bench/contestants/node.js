// node:http by hand: what all others are measured against. A sha1 ETag over the body, no other
// convention than the works need; nothing is done twice, and headers are lists, which Node writes fastest.
import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import { COLORS, carStore, linkOf } from '../cars.js'

export const name = 'node:http by hand'

export function start(cars) {
  return serve(carStore(cars), sha1)
}

function sha1(body) {
  return `"${hash('sha1', body, 'base64')}"`
}

/** @param tagOf the `ETag` of a body; without, no answer has one. */
export function serve(store, tagOf) {
  return createServer((request, response) => {
    const { url } = request
    const question = url.indexOf('?')
    const path = question === -1 ? url : url.slice(0, question)
    if (path === '/cars') {
      if (request.method === 'POST') return create(store, request, response, tagOf)
      return page(store, request, response, tagOf, url.slice(path.length + 1))
    }
    const id = path.startsWith('/cars/') ? path.slice(6) : ''
    const car = /^[1-9]\d{0,15}$/.test(id) ? store.get(Number(id)) : undefined
    if (!car) return response.writeHead(404).end()
    send(request, response, tagOf, JSON.stringify(car), [])
  }).listen(0, '127.0.0.1')
}

function page(store, request, response, tagOf, query) {
  const parameters = new URLSearchParams(query)
  const color = parameters.get('color')
  const limit = Number(parameters.get('limit') ?? 25)
  const offset = Number(parameters.get('offset') ?? 0)
  const { items, total } = store.page(color, offset, limit)
  const link = linkOf(`http://${request.headers.host}/cars`, color, { offset, limit, total })
  const headers = ['X-Result-Count', String(total), 'Link', link]
  send(request, response, tagOf, JSON.stringify(items), headers)
}

function send(request, response, tagOf, body, headers) {
  const tag = tagOf?.(body)
  if (tag !== undefined) {
    if (request.headers['if-none-match'] === tag)
      return response.writeHead(304, ['ETag', tag]).end()
    headers.push('ETag', tag)
  }
  headers.push('Content-Type', 'application/json', 'Content-Length', lengthOf(body))
  response.writeHead(200, headers).end(body)
}

function lengthOf(body) {
  return String(Buffer.byteLength(body))
}

function create(store, request, response, tagOf) {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    let values
    try {
      values = JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    } catch {
      return response.writeHead(400).end()
    }
    if (!isCar(values)) return response.writeHead(400).end()
    const car = store.create(values)
    const body = JSON.stringify(car)
    const headers = ['Content-Type', 'application/json', 'Content-Length', lengthOf(body)]
    if (tagOf) headers.push('ETag', tagOf(body))
    headers.push('Location', `http://${request.headers.host}/cars/${car.id}`)
    response.writeHead(201, headers).end(body)
  })
}

/** As the schemas of all others say: each property, and no other. */
function isCar(values) {
  return (
    typeof values === 'object' &&
    values !== null &&
    Object.keys(values).length === 6 &&
    typeof values.immatriculation === 'string' &&
    values.immatriculation !== '' &&
    COLORS.includes(values.color) &&
    typeof values.model === 'object' &&
    values.model !== null &&
    Object.keys(values.model).length === 2 &&
    typeof values.model.name === 'string' &&
    typeof values.model.brand === 'string' &&
    typeof values.price === 'number' &&
    Number.isInteger(values.mileage) &&
    typeof values.sold === 'boolean'
  )
}
