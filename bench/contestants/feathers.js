// Feathers 5 over its Express transport and its memory service, as its generator sets them up.
import feathersExpress, { json, rest } from '@feathersjs/express'
import { feathers } from '@feathersjs/feathers'
import { MemoryService } from '@feathersjs/memory'
import { Car } from './hono.js'

export const name = 'Feathers 5'
export const works = ['W1', 'W2', 'W3', 'W4']
export const page = (color, offset) => `/cars?color=${color}&$limit=25&$skip=${offset}`
export const readPage = ({ body }) => ({ items: body.data, total: body.total })

export function start(cars) {
  const app = feathersExpress(feathers())
  app.use(json())
  app.configure(rest())
  const store = Object.fromEntries(cars.map(car => [car.id, car]))
  const paginate = { default: 25, max: 100 }
  app.use('cars', new MemoryService({ store, startId: cars.length + 1, paginate }))
  app.service('cars').hooks({ before: { create: [validate] } })
  return app.listen(0, '127.0.0.1')
}

async function validate(context) {
  const date = new Date().toISOString()
  context.data = { ...Car.parse(context.data), created_at: date, updated_at: date }
}
