// Calls by the client of swagger-typescript-api. Prints what it was answered.
import { Api } from './sta/cars.ts'

const { v2 } = new Api({ baseUrl: process.argv[2] ?? '' })

const body = {
  immatriculation: 'AA-002-AA',
  color: 'blue',
  model: { name: 'Clio' },
  price: 5,
} as const
const made = await v2.createCar(body)
const { id } = made.data
const listed = await v2.listCars({ color: 'blue', 'price[gte]': 5, 'price[lt]': 6, limit: 5 })
const prices: number[] = listed.data.map(({ price }) => price)
const headers = { 'If-Match': made.headers.get('etag') ?? '' }
const changed = await v2.patchCar(id, { price: 6 }, { headers })
const lost = await v2.patchCar(id, { price: 7 }, { headers }).catch((answer: Response) => answer)
const bought = await v2.buyCar(id, { buyer: 'Ann' })
const image = new File([Buffer.from(process.argv[3] ?? '', 'base64')], 'a.png', {
  type: 'image/png',
})
const photo = await v2.createPhoto({ comment: 'A car', photo: image })
const deleted = await v2.deleteCar(id)
// @ts-expect-error A colour is one of the list.
void (() => v2.createCar({ ...body, color: 'pink' }))
// @ts-expect-error There is no such operator.
void (() => v2.listCars({ 'price[above]': 5 }))

console.log(
  JSON.stringify([
    prices,
    changed.data.price,
    lost.status,
    bought.data.buyer,
    photo.data.comment,
    deleted.data.id === id,
  ]),
)
