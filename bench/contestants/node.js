// node:http by hand: what all others are measured against. A sha1 ETag over the body, no other
// convention than the works need.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { COLORS, carStore, linkOf } from '../cars.js'

export const name = 'node:http by hand'

export function start(cars) {
  return serve(carStore(cars), sha1)
}

function sha1(body) {
  return `"${createHash('sha1').update(body).digest('base64')}"`
}

/** @param tagOf the `ETag` of a body; without, no answer has one. */
export function serve(store, tagOf) {
  return createServer((request, response) => {
    const [path, query = ''] = request.url.split('?')
    if (path === '/cars') {
      if (request.method === 'POST') return create(store, request, response, tagOf)
      return send(request, response, tagOf, ...page(store, request, query))
    }
    const id = /^\/cars\/(\d+)$/.exec(path)?.[1]
    const car = id && store.get(Number(id))
    if (!car) return response.writeHead(404).end()
    send(request, response, tagOf, JSON.stringify(car), {})
  }).listen(0, '127.0.0.1')
}

function page(store, request, query) {
  const parameters = new URLSearchParams(query)
  const color = parameters.get('color')
  const limit = Number(parameters.get('limit') ?? 25)
  const offset = Number(parameters.get('offset') ?? 0)
  const { items, total } = store.page(color, offset, limit)
  const base = `http://${request.headers.host}/cars`
  return [
    JSON.stringify(items),
    { 'X-Result-Count': total, Link: linkOf(base, color, { offset, limit, total }) },
  ]
}

function send(request, response, tagOf, body, headers) {
  const tag = tagOf && { ETag: tagOf(body) }
  if (tag && request.headers['if-none-match'] === tag.ETag) {
    return response.writeHead(304, tag).end()
  }
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...tag,
    ...headers,
  })
  response.end(body)
}

function create(store, request, response, tagOf) {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    let values
    try {
      values = JSON.parse(Buffer.concat(chunks).toString())
    } catch {
      return response.writeHead(400).end()
    }
    if (!isCar(values)) return response.writeHead(400).end()
    const { immatriculation, color, model, price, mileage, sold } = values
    const car = store.create({ immatriculation, color, model, price, mileage, sold })
    const body = JSON.stringify(car)
    response.writeHead(201, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...(tagOf && { ETag: tagOf(body) }),
      Location: `http://${request.headers.host}/cars/${car.id}`,
    })
    response.end(body)
  })
}

function isCar(values) {
  return (
    typeof values === 'object' &&
    values !== null &&
    typeof values.immatriculation === 'string' &&
    COLORS.includes(values.color) &&
    typeof values.model?.name === 'string' &&
    typeof values.model.brand === 'string' &&
    typeof values.price === 'number' &&
    Number.isInteger(values.mileage) &&
    typeof values.sold === 'boolean'
  )
}
