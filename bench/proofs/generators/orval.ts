// Calls by orval's fetch client. Prints what it was answered.
import {
  buyCar,
  createCar,
  createPhoto,
  deleteCar,
  listCars,
  patchCar,
} from './orval/cars/fetch.ts'

// Its addresses are paths: a page has an origin, Node has none.
const send = globalThis.fetch
globalThis.fetch = (path, init) => send(`${process.argv[2]}${path}`, init)

const body = {
  immatriculation: 'AA-004-AA',
  color: 'grey',
  model: { name: 'Clio' },
  price: 5,
} as const
const made = await createCar(body)
if (made.status !== 201) throw new Error(`It was answered ${made.status}`)
const { id } = made.data
const listed = await listCars({ color: 'grey', 'price[gte]': 5, 'price[lt]': 6, limit: 5 })
const prices = listed.status === 200 ? listed.data.map(({ price }) => price) : []
const headers = { 'If-Match': made.headers.get('etag') ?? '' }
const changed = await patchCar(id, { price: 6 }, { headers })
const lost = await patchCar(id, { price: 7 }, { headers })
const bought = await buyCar(id, { buyer: 'Ann' })
const image = new Blob([Buffer.from(process.argv[3] ?? '', 'base64')], { type: 'image/png' })
const photo = await createPhoto({ comment: 'A car', photo: image })
const deleted = await deleteCar(id)
// @ts-expect-error A colour is one of the list.
void (() => createCar({ ...body, color: 'pink' }))
// @ts-expect-error There is no such operator.
void (() => listCars({ 'price[above]': 5 }))

console.log(
  JSON.stringify([
    prices,
    changed.status === 200 && changed.data.price,
    lost.status,
    bought.status === 200 && bought.data.buyer,
    photo.status === 201 && photo.data.comment,
    deleted.status === 200 && deleted.data.id === id,
  ]),
)
