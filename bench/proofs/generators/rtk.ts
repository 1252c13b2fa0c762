// Calls by RTK Query's endpoints, of the whole document. Prints what it was answered.
import { configureStore } from '@reduxjs/toolkit'
import { carsApi } from './rtk/cars.ts'

const store = configureStore({
  reducer: { [carsApi.reducerPath]: carsApi.reducer },
  middleware: defaults => defaults().concat(carsApi.middleware),
})
const { listCars, createCar, patchCar, buyCar, createPhoto, deleteCar } = carsApi.endpoints

const carInput = {
  immatriculation: 'AA-007-AA',
  color: 'white',
  model: { name: 'Clio' },
  price: 5,
} as const
const { id } = await store.dispatch(createCar.initiate({ carInput })).unwrap()
const listed = await store
  .dispatch(
    listCars.initiate({
      color: ['white', 'black'],
      include: ['account'],
      price: { gte: 5, lt: 6 },
      limit: 5,
    }),
  )
  .unwrap()
const prices: number[] = listed.map(({ price }) => price)
const changed = await store
  .dispatch(patchCar.initiate({ id, carPatch: { price: 6 }, 'If-Match': '*' }))
  .unwrap()
const lost = await store.dispatch(
  patchCar.initiate({ id, carPatch: { price: 7 }, 'If-Match': '"old"' }),
)
const status = lost.error && 'status' in lost.error ? lost.error.status : 0
const bought = await store.dispatch(buyCar.initiate({ id, carBuyInput: { buyer: 'Ann' } })).unwrap()
// Files are Base64 in JSON.
const photoInput = { comment: 'A car', photo: { data: process.argv[3] ?? '' } }
const photo = await store.dispatch(createPhoto.initiate({ photoInput })).unwrap()
const deleted = await store.dispatch(deleteCar.initiate({ id })).unwrap()
// @ts-expect-error A colour is one of the list.
void (() => createCar.initiate({ carInput: { ...carInput, color: 'pink' } }))
// @ts-expect-error There is no such operator.
void (() => listCars.initiate({ price: { above: 5 } }))

console.log(
  JSON.stringify([prices, changed.price, status, bought.buyer, photo.comment, deleted.id === id]),
)
