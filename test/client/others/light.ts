// openapi-fetch with the types that openapi-typescript makes of /openapi.json?formats=json.
import createClient from 'openapi-fetch'
import type { paths } from './light-schema.d.ts'

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' })

const body = {
  immatriculation: 'AB-124-CD',
  color: 'grey',
  model: { name: 'Clio' },
  price: 3,
} as const
const made = await client.POST('/v1/cars', { body })
const query = {
  color: 'grey',
  'price[gte]': 3,
  'price[lt]': 4,
  'model.name[prefix]': 'Cl',
} as const
const listed = await client.GET('/v1/cars', { params: { query } })
const prices: number[] | undefined = listed.data?.map(car => car.price)

// @ts-expect-error There is no such operator.
void (() => client.GET('/v1/cars', { params: { query: { 'price[above]': 3 } } }))

console.log(JSON.stringify([made.data?.color, prices]))
