// Calls by kubb's fetch client. Prints what it was answered.
import send, { type Client, type RequestConfig, setConfig } from '@kubb/plugin-client/clients/fetch'
import { buyCar, createCar, createPhoto, deleteCar, listCars, patchCar } from './kubb/cars/index.ts'

setConfig({ baseURL: process.argv[2] ?? '' })
/** It sends no `Content-Type` by itself. Of a form the runtime sets it. */
const json = { headers: { 'Content-Type': 'application/json' } }

const body = {
  immatriculation: 'AA-003-AA',
  color: 'green',
  model: { name: 'Clio' },
  price: 5,
} as const
const { id } = await createCar(body, undefined, json)
const listed = await listCars({ color: 'green', 'price[gte]': 5, 'price[lt]': 6, limit: 5 })
const prices: number[] = listed.map(({ price }) => price)
const changed = await patchCar(id, { price: 6 }, { 'If-Match': '*' }, json)
let status = 0
/** It throws nothing at an error: what sees its statuses is a client around it. */
const watching: Client = async <T, E, V>(config: RequestConfig<V>) => {
  const response = await send<T, E, V>(config)
  status = response.status
  return response
}
await patchCar(id, { price: 7 }, { 'If-Match': '"old"' }, { ...json, client: watching })
const bought = await buyCar(id, { buyer: 'Ann' }, undefined, json)
const image = new Blob([Buffer.from(process.argv[3] ?? '', 'base64')], { type: 'image/png' })
const photo = await createPhoto({ comment: 'A car', photo: image })
const deleted = await deleteCar(id)
// @ts-expect-error A colour is one of the list.
void (() => createCar({ ...body, color: 'pink' }))
// @ts-expect-error There is no such operator.
void (() => listCars({ 'price[above]': 5 }))

console.log(
  JSON.stringify([prices, changed.price, status, bought.buyer, photo.comment, deleted.id === id]),
)
