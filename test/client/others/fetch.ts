// openapi-fetch with the types that openapi-typescript makes of /openapi.json. Prints what it was answered.
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

const client = createClient<paths, 'application/json'>({ baseUrl: process.argv[2] ?? '' })

type Car = components['schemas']['Car']
const colors: Car['color'][] = ['red']

const made = await client.POST('/v1/cars', {
  body: { immatriculation: 'AB-123-CD', color: 'red', model: { name: 'Clio' }, price: 1 },
})
if (!made.data) throw new Error(JSON.stringify(made.error))
const { id } = made.data
const price: number = made.data.price

const listed = await client.GET('/v1/cars', {
  params: { query: { color: 'red', price: { gte: 1, lt: 2 }, limit: 5, sort: '-price' } },
})
const prices: number[] | undefined = listed.data?.map(car => car.price)

const either = await client.GET('/v1/cars', { params: { query: { color: ['red', 'blue'] } } })
const count: number | undefined = either.data?.length

const header = { 'If-Match': made.response.headers.get('etag') ?? '' }
const path = { id }
await client.PATCH('/v1/cars/{id}', { params: { path }, body: { price: 2 } })
const lost = await client.PATCH('/v1/cars/{id}', { params: { path, header }, body: { price: 3 } })
const message: string | undefined = lost.error?.errors[0]?.message

const bought = await client.POST('/v1/cars/{id}/buy', { params: { path }, body: { buyer: 'Ann' } })
const buyer: string | null | undefined = bought.data?.buyer

// @ts-expect-error The schema has no such property.
void made.data.colour
const body = { immatriculation: 'AB-123-CE', model: { name: 'Clio' }, price: 1 }
// @ts-expect-error A colour is one of the list.
await client.POST('/v1/cars', { body: { ...body, color: 'pink' } })
// @ts-expect-error A price is a number.
await client.GET('/v1/cars', { params: { query: { price: { gte: 'much' } } } })
// @ts-expect-error There is no such operator.
await client.GET('/v1/cars', { params: { query: { price: { above: 1 } } } })
// @ts-expect-error There is no such path.
await client.GET('/v1/trucks')

console.log(JSON.stringify([colors, price, prices, count, lost.response.status, message, buyer]))
