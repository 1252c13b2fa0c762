// The tasks, by the client of this library. `bench/proofs/front-ends.ts` counts, bundles and compiles them.
import type { QueryClient } from '@tanstack/query-core'
import { createClient } from 'rest-conventions/client'
import { batch } from 'rest-conventions/client/batch'
import { download, exportList, withProgress } from 'rest-conventions/client/files'
import { beginEdit, fieldErrors } from 'rest-conventions/client/forms'
import { liveQuery } from 'rest-conventions/client/live'
import { createQueries } from 'rest-conventions/query'
import type { api } from './api.ts'
import { CAR, type Car, OTHER, type Show, stored } from './shared.ts'

const client = createClient<typeof api>('https://api.example')
const q = /* @__PURE__ */ createQueries(client)

export const list = () =>
  client.cars.list({ color: 'red', price: { gte: 10 }, sort: '-price', limit: 20 }).page()

export const nextPages = () => q.cars.list({ sort: '-price', limit: 20 }).infiniteOptions()

export const related = () => client.cars.list({ include: ['model'] }).toArray()

export async function fieldMessages(setError: Show) {
  try {
    return await client.cars.create(CAR)
  } catch (error) {
    const { fields } = fieldErrors(error)
    for (const [name, [message]] of Object.entries(fields)) setError(name, message)
  }
}

export const saveIfUnchanged = (car: Car) => client.cars.patch(car, { price: 5 })

export const optimistic = () => q.cars.patch.optimistic()

export const remove = () => q.cars.delete.mutationOptions()

export const createOnce = () => client.cars.create(CAR)

export const several = () =>
  batch(client, steps => {
    const model = steps.models.create({ name: 'Clio' })
    return [steps.cars.create({ ...CAR, model_id: model.id })]
  })

export const groups = () => client.cars.count({ by: 'color', sum: 'price' })

export const act = () => client.cars.buy(7, { buyer: 'Ann' })

export const upload = (photo: File, show: Show) =>
  withProgress(client, ({ loaded }) => show('loaded', `${loaded}`)).photos.create({
    comment: 'A car',
    photo,
  })

export const load = (url: string) => download(client, url)

export const csv = () => exportList(client, 'cars', { color: 'red' })

export const renewed = () =>
  createClient<typeof api>('https://api.example', {
    auth: ({ retry }) => stored(retry),
  })

export const hydrated = (queries: QueryClient) =>
  queries.prefetchQuery(q.cars.read(7).queryOptions())

export const twoApis = () => createQueries(createClient<typeof api>(OTHER), { key: 'other' })

export const live = () => liveQuery(client, 'cars', { color: 'red' })

export function edit(car: Car, values: Car) {
  const edit = beginEdit(car)
  return client.cars.patch(edit.item, edit.changes(values))
}

export const readAgain = () => client.cars.read(7)

// @ts-expect-error There is no such property.
export const wrongField = () => client.cars.list({ colour: 'red' })
// @ts-expect-error There is no such value.
export const wrongValue = () => client.cars.list({ color: 'pink' })
// @ts-expect-error There is no such relation.
export const wrongRelation = () => client.cars.list({ include: ['modle'] })
// @ts-expect-error A property is missing.
export const incomplete = () => client.cars.create({ color: 'red', price: 1 })
// @ts-expect-error The price is a number.
export const wrongType = () => client.cars.patch(7, { price: '5' })
