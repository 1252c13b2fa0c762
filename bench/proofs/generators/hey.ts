// Calls by hey-api's SDK. Prints what it was answered.

import { client } from './hey/cars/client.gen.ts'
import { buyCar, createCar, createPhoto, deleteCar, listCars, patchCar } from './hey/cars/index.ts'

client.setConfig({ baseUrl: process.argv[2] ?? '' })

const body = {
  immatriculation: 'AA-001-AA',
  color: 'red',
  model: { name: 'Clio' },
  price: 5,
} as const
const { data: made, response } = await createCar({ body })
const id: number = made?.id ?? 0
const listed = await listCars({
  query: { color: 'red', 'price[gte]': 5, 'price[lt]': 6, limit: 5 },
})
const prices: number[] = (listed.data ?? []).map(({ price }) => price)
const headers = { 'If-Match': response?.headers.get('etag') ?? '' }
const changed = await patchCar({ path: { id }, headers, body: { price: 6 } })
const lost = await patchCar({ path: { id }, headers, body: { price: 7 } })
const bought = await buyCar({ path: { id }, body: { buyer: 'Ann' } })
const image = new Blob([Buffer.from(process.argv[3] ?? '', 'base64')], { type: 'image/png' })
const photo = await createPhoto({ body: { comment: 'A car', photo: image } })
const deleted = await deleteCar({ path: { id } })
// @ts-expect-error A colour is one of the list.
void (() => createCar({ body: { ...body, color: 'pink' } }))
// @ts-expect-error There is no such operator.
void (() => listCars({ query: { 'price[above]': 5 } }))

console.log(
  JSON.stringify([
    prices,
    changed.data?.price,
    lost.response?.status,
    bought.data?.buyer,
    photo.data?.comment,
    deleted.data?.id === id,
  ]),
)
