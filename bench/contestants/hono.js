// Hono on its node server, zod for what comes in; its etag middleware for W3 alone.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { etag } from 'hono/etag'
import { z } from 'zod'
import { COLORS, carStore, linkOf } from '../cars.js'

export const name = 'Hono (ETag in W3 only)'

export const Car = z.strictObject({
  immatriculation: z.string().min(1),
  color: z.enum(COLORS),
  model: z.strictObject({ name: z.string(), brand: z.string() }),
  price: z.number(),
  mileage: z.int(),
  sold: z.boolean(),
})

export function start(cars, work) {
  const store = carStore(cars)
  const app = new Hono()
  if (work === 'W3') app.use(etag())
  app.get('/cars/:id', context => {
    const car = store.get(Number(context.req.param('id')))
    return car ? context.json(car) : context.notFound()
  })
  app.get('/cars', context => {
    const color = context.req.query('color')
    const limit = Number(context.req.query('limit') ?? 25)
    const offset = Number(context.req.query('offset') ?? 0)
    const { items, total } = store.page(color, offset, limit)
    const base = `http://${context.req.header('host')}/cars`
    context.header('X-Result-Count', String(total))
    context.header('Link', linkOf(base, color, { offset, limit, total }))
    return context.json(items)
  })
  app.post('/cars', async context => {
    const { data } = Car.safeParse(await context.req.json())
    if (!data) return context.text('', 400)
    const car = store.create(data)
    context.header('Location', `http://${context.req.header('host')}/cars/${car.id}`)
    return context.json(car, 201)
  })
  return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
}
