// Koa with its router and body parser; zod for what comes in. It has no ETag of its own.
import { createServer } from 'node:http'
import Router from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { carStore, linkOf } from '../cars.js'
import { Car } from './hono.js'

export const name = 'Koa (no ETag)'
export const works = ['W1', 'W2', 'W2b', 'W4']

export function start(cars) {
  const store = carStore(cars)
  const router = new Router()
  router.get('/cars/:id', context => {
    const car = store.get(Number(context.params.id))
    if (car) context.body = car
  })
  router.get('/cars', context => {
    const { color } = context.query
    const limit = Number(context.query.limit ?? 25)
    const offset = Number(context.query.offset ?? 0)
    const { items, total } = store.page(color, offset, limit)
    context.set('X-Result-Count', String(total))
    context.set('Link', linkOf(`http://${context.host}/cars`, color, { offset, limit, total }))
    context.body = items
  })
  router.post('/cars', bodyParser(), context => {
    const { data } = Car.safeParse(context.request.body)
    if (!data) {
      context.status = 400
      return
    }
    const car = store.create(data)
    context.status = 201
    context.set('Location', `http://${context.host}/cars/${car.id}`)
    context.body = car
  })
  const app = new Koa().use(router.routes())
  return createServer(app.callback()).listen(0, '127.0.0.1')
}
