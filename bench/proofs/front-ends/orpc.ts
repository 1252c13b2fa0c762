// The tasks, by oRPC: what the server writes for each, and what the page writes. The statements of its database are `db`.
import { createORPCClient, isDefinedError, safe } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import { ClientRetryPlugin, type ClientRetryPluginContext } from '@orpc/client/plugins'
import { eventIterator, os, type RouterClient } from '@orpc/server'
import { createTanstackQueryUtils } from '@orpc/tanstack-query'
import type { QueryClient } from '@tanstack/query-core'
import { z } from 'zod'
import { After, db, Filters, isEqual, NewCar, publisher } from './server.ts'
import { CAR, type Car, OTHER, type Show, stored } from './shared.ts'

const link = new RPCLink<ClientRetryPluginContext>({
  url: 'https://api.example',
  plugins: [new ClientRetryPlugin()],
})
const client: RouterClient<typeof router, ClientRetryPluginContext> = createORPCClient(link)
const q = /* @__PURE__ */ createTanstackQueryUtils(client)

const listCars = os
  .input(Filters.extend({ sort: z.enum(['price', '-price']), limit: z.int().max(100) }))
  .handler(async ({ input }) => ({ items: await db.list(input), total: await db.count(input) }))
export const list = () =>
  client.listCars({ color: 'red', price: { gte: 10 }, sort: '-price', limit: 20 })

const pageOfCars = os
  .input(z.object({ limit: z.int().max(100), after: After.optional() }))
  .handler(async ({ input }) => {
    const items = await db.listAfter(input.after, input.limit)
    const { price, id } = items.at(-1) ?? {}
    return { items, after: items.length === input.limit ? { price, id } : undefined }
  })
export const nextPages = () =>
  q.pageOfCars.infiniteOptions({
    input: (after: z.infer<typeof After> | undefined) => ({ limit: 20, after }),
    initialPageParam: undefined,
    getNextPageParam: ({ after }) => after,
  })

const carsWithModels = os.handler(() => db.listWithModels())
export const related = () => client.carsWithModels()

const createCar = os
  .input(NewCar)
  .errors({ TAKEN: { data: z.object({ field: z.string() }) } })
  .handler(async ({ input, errors }) => {
    const car = await db.create(input)
    if (!car) throw errors.TAKEN({ data: { field: 'model_id' } })
    return car
  })
type Invalid = { issues: { path: string[]; message: string }[] }
export async function fieldMessages(setError: Show) {
  const { error, data } = await safe(client.createCar(CAR))
  if (isDefinedError(error)) setError(error.data.field, error.message)
  else if (error instanceof Error && 'data' in error)
    for (const { path, message } of (error.data as Invalid).issues)
      setError(path.join('.'), message)
  else if (error) throw error
  return data
}

const patchCar = os
  .input(z.object({ id: z.int(), version: z.string(), changes: NewCar.partial() }))
  .errors({ CONFLICT: { data: z.object({ theirs: z.custom<Car>().nullable() }) } })
  .handler(async ({ input: { id, version, changes }, errors }) => {
    const car = await db.updateIf(id, version, changes)
    if (!car) throw errors.CONFLICT({ data: { theirs: await db.read(id) } })
    return car
  })
export const saveIfUnchanged = (car: Car) =>
  client.patchCar({ id: car.id, version: car.updated_at, changes: { price: 5 } })

export const optimistic = (queries: QueryClient) =>
  q.patchCar.mutationOptions({
    onMutate: async ({ id, changes }) => {
      await queries.cancelQueries({ queryKey: q.key() })
      const before = queries.getQueriesData({ queryKey: q.key() })
      queries.setQueryData(q.readCar.queryKey({ input: id }), car => car && { ...car, ...changes })
      queries.setQueriesData<{ items: Car[]; total: number }>(
        { queryKey: q.listCars.key() },
        page =>
          page && {
            ...page,
            items: page.items.map(each => (each.id === id ? { ...each, ...changes } : each)),
          },
      )
      return { before }
    },
    onError: (_, __, context) => {
      for (const [key, data] of context?.before ?? []) queries.setQueryData(key, data)
    },
    onSettled: () => queries.invalidateQueries({ queryKey: q.key() }),
  })

const deleteCar = os.input(z.int()).handler(({ input }) => db.delete(input))
export const remove = (queries: QueryClient) =>
  q.deleteCar.mutationOptions({
    onSuccess: async (_, id) => {
      queries.removeQueries({ queryKey: q.readCar.key({ input: id }) })
      await queries.invalidateQueries({ queryKey: q.key() })
    },
  })

const createCarOnce = os
  .input(NewCar.extend({ key: z.uuid() }))
  .handler(({ input: { key, ...car } }) => db.once(key, () => db.create(car)))
export const createOnce = () =>
  client.createCarOnce({ ...CAR, key: crypto.randomUUID() }, { context: { retry: 5 } })

const createBoth = os
  .input(z.object({ model: z.object({ name: z.string() }), car: NewCar.omit({ model_id: true }) }))
  .handler(({ input: { model, car } }) =>
    db.transaction(async () => {
      const { id } = await db.createModel(model)
      return db.create({ ...car, model_id: id })
    }),
  )
export const several = () => client.createBoth({ model: { name: 'Clio' }, car: CAR })

const countByColor = os.input(Filters).handler(({ input }) => db.countBy('color', input))
export const groups = () => client.countByColor({})

const buyCar = os
  .input(z.object({ id: z.int(), buyer: z.string() }))
  .handler(({ input: { id, buyer } }) => db.update(id, { buyer }))
export const act = () => client.buyCar({ id: 7, buyer: 'Ann' })

const createPhoto = os
  .input(z.object({ comment: z.string(), photo: z.file() }))
  .handler(({ input }) => db.createPhoto(input))
/** Its upload reports no progress. */
export const upload = (photo: File, show: Show) =>
  new Promise<void>((resolve, reject) => {
    const form = new FormData()
    form.set('comment', 'A car')
    form.set('photo', photo)
    const request = new XMLHttpRequest()
    request.open('POST', 'https://api.example/createPhoto')
    request.upload.onprogress = ({ loaded }) => show('loaded', `${loaded}`)
    request.onerror = () => reject(new Error('There is no connection'))
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new Error(request.responseText))
    request.send(form)
  })

const photoOf = os.input(z.int()).handler(({ input }) => db.photoOf(input))
export const load = (id: number) => client.photoOf(id)

const exportCars = os
  .input(Filters)
  .handler(async ({ input }) => new File([await db.csv(input)], 'cars.csv', { type: 'text/csv' }))
export const csv = () => client.exportCars({ color: 'red' })

export const renewed = () => {
  let renewing: Promise<string> | undefined
  const send = async (url: Request | string | URL, init: object, token: Promise<string>) => {
    const request = new Request(url, init)
    request.headers.set('Authorization', `Bearer ${await token}`)
    return fetch(request)
  }
  return new RPCLink({
    url: 'https://api.example',
    fetch: async (request, init) => {
      const response = await send(request.clone(), init, renewing ?? stored(false))
      if (response.status !== 401) return response
      renewing ??= stored(true).finally(() => {
        renewing = undefined
      })
      return send(request, init, renewing)
    },
  })
}

const readCar = os.input(z.int()).handler(({ input }) => db.read(input))
export const hydrated = (queries: QueryClient) =>
  queries.prefetchQuery(q.readCar.queryOptions({ input: 7 }))

export const twoApis = () => {
  const other: typeof client = createORPCClient(new RPCLink({ url: OTHER }))
  return createTanstackQueryUtils(other, { path: ['other'] })
}

const liveCars = os
  .input(Filters)
  .output(eventIterator(z.array(z.custom<Car>())))
  .handler(async function* ({ input, signal }) {
    yield await db.list(input)
    for await (const change of publisher.subscribe('cars', { signal })) {
      if (!isEqual(change, input)) continue
      yield await db.list(input)
    }
  })
export const live = () => q.liveCars.experimental_liveOptions({ input: { color: 'red' } })

export function edit(car: Car, values: Car) {
  const changes: Partial<Car> = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => Reflect.get(car, name) !== value),
  )
  return client.patchCar({ id: car.id, version: car.updated_at, changes })
}

const readIfChanged = os
  .input(z.object({ id: z.int(), known: z.string().optional() }))
  .handler(async ({ input: { id, known } }) => {
    const car = await db.read(id)
    return car && car.updated_at === known ? 'same' : car
  })
let kept: Car | null = null
export async function readAgain() {
  const car = await client.readIfChanged({ id: 7, known: kept?.updated_at })
  kept = car === 'same' ? kept : car
  return kept
}

const router = {
  ...{ listCars, pageOfCars, carsWithModels, createCar, patchCar, deleteCar, createCarOnce },
  ...{
    createBoth,
    countByColor,
    buyCar,
    createPhoto,
    photoOf,
    exportCars,
    readCar,
    liveCars,
    readIfChanged,
  },
}

// @ts-expect-error There is no such property.
export const wrongField = () => client.listCars({ colour: 'red', sort: 'price', limit: 5 })
// @ts-expect-error There is no such value.
export const wrongValue = () => client.listCars({ color: 'pink', sort: 'price', limit: 5 })
// @ts-expect-error There is no such procedure.
export const wrongRelation = () => client.carsWithModles()
// @ts-expect-error A property is missing.
export const incomplete = () => client.createCar({ color: 'red', price: 1 })
export const wrongType = () =>
  // @ts-expect-error The price is a number.
  client.patchCar({ id: 7, version: '', changes: { price: '5' } })
