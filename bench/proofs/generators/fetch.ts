// Calls by openapi-fetch, with the types of openapi-typescript. Prints what it was answered.
import createClient from 'openapi-fetch'
import type { paths } from './types/cars.ts'

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' })

const body = {
  immatriculation: 'AA-005-AA',
  color: 'orange',
  model: { name: 'Clio' },
  price: 5,
} as const
const { data: made, response } = await client.POST('/v2/cars', { body })
const id: number = made?.id ?? 0
const query = { color: 'orange', 'price[gte]': 5, 'price[lt]': 6, limit: 5 } as const
const listed = await client.GET('/v2/cars', { params: { query } })
const prices: number[] = (listed.data ?? []).map(({ price }) => price)
const params = { path: { id }, header: { 'If-Match': response.headers.get('etag') ?? '' } }
const changed = await client.PATCH('/v2/cars/{id}', { params, body: { price: 6 } })
const lost = await client.PATCH('/v2/cars/{id}', { params, body: { price: 7 } })
const path = { id }
const bought = await client.POST('/v2/cars/{id}/buy', {
  params: { path },
  body: { buyer: 'Ann' },
})
const form = new FormData()
form.set('comment', 'A car')
form.set('photo', new Blob([Buffer.from(process.argv[3] ?? '', 'base64')], { type: 'image/png' }))
// The types have the properties, with the file as text: `bodySerializer` gives the form in their place.
const photo = await client.POST('/v2/photos', {
  body: { comment: 'A car', photo: '' },
  bodySerializer: () => form,
})
const deleted = await client.DELETE('/v2/cars/{id}', { params: { path } })
// @ts-expect-error A colour is one of the list.
void (() => client.POST('/v2/cars', { body: { ...body, color: 'pink' } }))
// @ts-expect-error There is no such operator.
void (() => client.GET('/v2/cars', { params: { query: { 'price[above]': 5 } } }))

console.log(
  JSON.stringify([
    prices,
    changed.data?.price,
    lost.response.status,
    bought.data?.buyer,
    photo.data?.comment,
    deleted.data?.id === id,
  ]),
)
