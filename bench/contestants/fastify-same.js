// Fastify with what ours does for each of these requests: a strict schema, validators of versions and dates, a rate
// limit, cross-origin access, `nosniff`, `Vary` and `Cache-Control`, by its plugins where there are some.
import cors from '@fastify/cors'
import etag from '@fastify/etag'
import rateLimit from '@fastify/rate-limit'
import { carStore, linkOf } from '../cars.js'
import { createApp, schemas } from './fastify.js'

export const name = 'Fastify, same work'

const EXPOSED = [
  'ETag',
  'Link',
  'Location',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-Result-Count',
]

export async function start(cars) {
  const store = carStore(cars)
  const versions = new Map(cars.map(({ id }) => [id, 1]))
  const app = createApp()
  await app.register(cors, { origin: '*', exposedHeaders: EXPOSED })
  await app.register(rateLimit, { max: 1_000_000_000, timeWindow: '1 hour' })
  // It hashes lists alone: items have a version.
  await app.register(etag)
  app.addHook('onSend', async (_request, reply) => {
    reply
      .header('X-Content-Type-Options', 'nosniff')
      .header('Vary', 'Accept')
      .header('Cache-Control', 'no-cache, max-age=0')
  })
  const sendItem = (reply, car) =>
    reply
      .header('ETag', `"${car.id}-${versions.get(car.id)}"`)
      .header('Last-Modified', new Date(car.updated_at).toUTCString())
      .send(car)

  app.get('/cars/:id', { schema: schemas.get }, (request, reply) => {
    const found = store.get(request.params.id)
    if (!found) return reply.code(404).send()
    sendItem(reply, found)
  })
  app.get('/cars', { schema: schemas.list }, (request, reply) => {
    const { color, limit, offset } = request.query
    const { items, total } = store.page(color, offset, limit)
    reply
      .header('X-Result-Count', total)
      .header('Link', linkOf(`http://${request.host}/cars`, color, { offset, limit, total }))
      .send(items)
  })
  app.post('/cars', { schema: schemas.create }, (request, reply) => {
    const made = store.create(request.body)
    versions.set(made.id, 1)
    reply.code(201).header('Location', `http://${request.host}/cars/${made.id}`)
    sendItem(reply, made)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}
