// Calls by the client of oazapfts. Prints what it was answered.
import { ok } from '@oazapfts/runtime'
import {
  buyCar,
  createCar,
  createPhoto,
  defaults,
  deleteCar,
  listCars,
  patchCar,
} from './oazapfts/cars.ts'

defaults.baseUrl = process.argv[2] ?? ''

const body = {
  immatriculation: 'AA-006-AA',
  color: 'silver',
  model: { name: 'Clio' },
  price: 5,
} as const
const made = await createCar(body)
const { id } = await ok(Promise.resolve(made))
const listed = await ok(listCars({ color: 'silver', priceGte: 5, priceLt: 6, limit: 5 }))
const prices: number[] = listed.map(({ price }) => price)
const ifMatch = made.headers.get('etag') ?? ''
const changed = await ok(patchCar(id, { price: 6 }, { ifMatch }))
const lost = await patchCar(id, { price: 7 }, { ifMatch })
const bought = await ok(buyCar(id, { buyer: 'Ann' }))
const image = new Blob([Buffer.from(process.argv[3] ?? '', 'base64')], { type: 'image/png' })
const photo = await ok(createPhoto({ comment: 'A car', photo: image }))
const deleted = await ok(deleteCar(id))
// @ts-expect-error A colour is one of the list.
void (() => createCar({ ...body, color: 'pink' }))
// @ts-expect-error There is no such operator.
void (() => listCars({ priceAbove: 5 }))

console.log(
  JSON.stringify([
    prices,
    changed.price,
    lost.status,
    bought.buyer,
    photo.comment,
    deleted.id === id,
  ]),
)
