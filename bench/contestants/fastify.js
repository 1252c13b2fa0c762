// Fastify with schemas for what comes in and goes out, and @fastify/etag. Its validator would turn a body's "1" into 1
// and let unknown properties through: here it refuses both, as all others do.
import etag from '@fastify/etag'
import { Ajv } from 'ajv'
import fastify from 'fastify'
import { COLORS, carStore, linkOf } from '../cars.js'

export const name = 'Fastify + schema + etag'

const text = { type: 'string' }
const values = {
  immatriculation: { type: 'string', minLength: 1 },
  color: { type: 'string', enum: COLORS },
  model: {
    type: 'object',
    properties: { name: text, brand: text },
    required: ['name', 'brand'],
    additionalProperties: false,
  },
  price: { type: 'number' },
  mileage: { type: 'integer' },
  sold: { type: 'boolean' },
}
const car = {
  type: 'object',
  properties: { id: { type: 'integer' }, ...values, created_at: text, updated_at: text },
}
const body = {
  type: 'object',
  properties: values,
  required: Object.keys(values),
  additionalProperties: false,
}
const params = { type: 'object', properties: { id: { type: 'integer' } } }
const querystring = {
  type: 'object',
  properties: {
    color: { type: 'string', enum: COLORS },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 25 },
    offset: { type: 'integer', minimum: 0, default: 0 },
  },
}

export const schemas = {
  get: { params, response: { 200: car } },
  list: { querystring, response: { 200: { type: 'array', items: car } } },
  create: { body, response: { 201: car } },
}

export function start(cars) {
  return serve(carStore(cars))
}

/** Texts of an address become numbers; a body has the types that it has. */
const ofAddress = new Ajv({ coerceTypes: 'array', useDefaults: true })
const ofBody = new Ajv()

/** Creates an app that validates as all others do. */
export function createApp() {
  return fastify().setValidatorCompiler(({ schema, httpPart }) =>
    (httpPart === 'body' ? ofBody : ofAddress).compile(schema),
  )
}

/** Serves a store that answers at once. */
export async function serve(store) {
  const app = createApp()
  await app.register(etag)
  app.get('/cars/:id', { schema: schemas.get }, (request, reply) => {
    const found = store.get(request.params.id)
    if (!found) return reply.code(404).send()
    reply.send(found)
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
    reply.code(201).header('Location', `http://${request.host}/cars/${made.id}`).send(made)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}
