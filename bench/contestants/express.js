// Express 5 with its own weak ETag; zod for what comes in.
import express from 'express'
import { carStore, linkOf } from '../cars.js'
import { Car } from './hono.js'

export const name = 'Express 5'

export function start(cars) {
  const store = carStore(cars)
  const app = express()
  app.get('/cars/:id', (request, response) => {
    const car = store.get(Number(request.params.id))
    if (car) response.json(car)
    else response.sendStatus(404)
  })
  app.get('/cars', (request, response) => {
    const { color } = request.query
    const limit = Number(request.query.limit ?? 25)
    const offset = Number(request.query.offset ?? 0)
    const { items, total } = store.page(color, offset, limit)
    response.set('X-Result-Count', String(total))
    response.set('Link', linkOf(`http://${request.host}/cars`, color, { offset, limit, total }))
    response.json(items)
  })
  app.post('/cars', express.json(), (request, response) => {
    const { data } = Car.safeParse(request.body)
    if (!data) return response.sendStatus(400)
    const car = store.create(data)
    response.status(201).set('Location', `http://${request.host}/cars/${car.id}`).json(car)
  })
  return app.listen(0, '127.0.0.1')
}
