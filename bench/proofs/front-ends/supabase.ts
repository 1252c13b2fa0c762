// The tasks, by supabase-js. The types of the database are what its command prints.
import { createClient } from '@supabase/supabase-js'
import type { QueryClient } from '@tanstack/query-core'
import type { Database } from './database.ts'
import { CAR, type Car, OTHER, type Show, stored } from './shared.ts'

const db = createClient<Database>('https://api.example', 'key')

export async function list() {
  const { data, count, error } = await db
    .from('cars')
    .select('*', { count: 'exact' })
    .eq('color', 'red')
    .gte('price', 10)
    .order('price', { ascending: false })
    .range(0, 19)
  if (error) throw error
  return { items: data, total: count }
}

/** By a key: an offset skips and repeats while others write. */
export const nextPages = () => ({
  queryKey: ['cars', 'pages'],
  initialPageParam: { price: 2 ** 31 - 1, id: 0 },
  queryFn: async ({ pageParam: { price, id } }: { pageParam: { price: number; id: number } }) => {
    const { data, error } = await db
      .from('cars')
      .select('*')
      .or(`price.lt.${price},and(price.eq.${price},id.gt.${id})`)
      .order('price', { ascending: false })
      .order('id')
      .limit(20)
    if (error) throw error
    return data
  },
  getNextPageParam: (page: readonly { price: number; id: number }[]) =>
    page.length === 20 ? page.at(-1) : undefined,
})

export async function related() {
  const { data, error } = await db.from('cars').select('*, model:models(*)')
  if (error) throw error
  return data
}

/** Rules are checks of the database, whose errors name a constraint: one error, and no field. */
export async function fieldMessages(setError: Show) {
  const { data, error } = await db.from('cars').insert(CAR).select().single()
  if (!error) return data
  const name = /cars_(\w+)_(?:check|key|fkey)/.exec(error.message)?.[1]
  if (!name) throw error
  setError(name, error.message)
}

export async function saveIfUnchanged(car: Car) {
  const { data, error } = await db
    .from('cars')
    .update({ price: 5 })
    .eq('id', car.id)
    .eq('updated_at', car.updated_at)
    .select()
    .maybeSingle()
  if (error) throw error
  if (data) return data
  const { data: theirs } = await db.from('cars').select().eq('id', car.id).maybeSingle()
  throw Object.assign(new Error('The car has changed'), { theirs })
}

export const optimistic = (queries: QueryClient) => ({
  mutationFn: saveIfUnchanged,
  onMutate: async (car: Car) => {
    await queries.cancelQueries({ queryKey: ['cars'] })
    const before = queries.getQueriesData({ queryKey: ['cars'] })
    queries.setQueryData(['cars', 'read', car.id], { ...car, price: 5 })
    queries.setQueriesData<Car[]>({ queryKey: ['cars', 'list'] }, all =>
      all?.map(each => (each.id === car.id ? { ...each, price: 5 } : each)),
    )
    return { before }
  },
  onError: (_: unknown, __: unknown, context?: { before: [readonly unknown[], unknown][] }) => {
    for (const [key, data] of context?.before ?? []) queries.setQueryData(key, data)
  },
  onSettled: () => queries.invalidateQueries({ queryKey: ['cars'] }),
})

export const remove = (queries: QueryClient) => ({
  mutationFn: async (id: number) => {
    const { error } = await db.from('cars').delete().eq('id', id)
    if (error) throw error
    queries.removeQueries({ queryKey: ['cars', 'read', id] })
    await queries.invalidateQueries({ queryKey: ['cars'] })
  },
})

/** The page makes the id, so that a second insert is refused: the table needs a uuid as its key. */
export async function createOnce() {
  const uid = crypto.randomUUID()
  for (let attempt = 0; ; attempt++) {
    const { data, error } = await db
      .from('cars')
      .upsert({ ...CAR, uid }, { onConflict: 'uid' })
      .select()
      .single()
    if (!error) return data
    if (attempt === 5 || error.code) throw error
    await new Promise(resolve => setTimeout(resolve, 2 ** attempt * 100))
  }
}

/** A function in the database: `create function make_car(name text, car jsonb) …`, four lines more. */
export async function several() {
  const { data, error } = await db.rpc('make_car', { name: 'Clio', car: CAR })
  if (error) throw error
  return data
}

export async function groups() {
  const { data, error } = await db.from('cars').select('color, count(), price.sum()')
  if (error) throw error
  return data
}

/** A function in the database, four lines more. */
export async function act() {
  const { data, error } = await db.rpc('buy_car', { car_id: 7, buyer: 'Ann' })
  if (error) throw error
  return data
}

/** Its upload reports no progress. */
export async function upload(photo: File, show: Show) {
  const { data } = await db.auth.getSession()
  const path = `${crypto.randomUUID()}.jpg`
  await new Promise<void>((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', `https://api.example/storage/v1/object/photos/${path}`)
    request.setRequestHeader('Authorization', `Bearer ${data.session?.access_token}`)
    request.upload.onprogress = ({ loaded }) => show('loaded', `${loaded}`)
    request.onerror = () => reject(new Error('There is no connection'))
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new Error(request.responseText))
    request.send(photo)
  })
  const { error } = await db.from('photos').insert({ comment: 'A car', path })
  if (error) throw error
}

export async function load(path: string) {
  const { data, error } = await db.storage.from('photos').download(path)
  if (error) throw error
  return data
}

export async function csv() {
  const { data, error } = await db.from('cars').select('*').eq('color', 'red').csv()
  if (error) throw error
  return data
}

export const renewed = () => {
  let renewing: Promise<string> | undefined
  const send = async (request: Request, token: Promise<string>) => {
    request.headers.set('Authorization', `Bearer ${await token}`)
    return fetch(request)
  }
  return createClient<Database>('https://api.example', 'key', {
    global: {
      fetch: async (url, init) => {
        const request = new Request(url, init)
        const response = await send(request.clone(), renewing ?? stored(false))
        if (response.status !== 401) return response
        renewing ??= stored(true).finally(() => {
          renewing = undefined
        })
        return send(request, renewing)
      },
    },
  })
}

export const hydrated = (queries: QueryClient) =>
  queries.prefetchQuery({
    queryKey: ['cars', 'read', 7],
    queryFn: async () => {
      const { data, error } = await db.from('cars').select().eq('id', 7).single()
      if (error) throw error
      return data
    },
  })

export const twoApis = () => createClient<Database>(OTHER, 'key')

export const live = (queries: QueryClient) =>
  db
    .channel('cars')
    .on(
      'postgres_changes',
      { event: '*', schema: 'public', table: 'cars', filter: 'color=eq.red' },
      () => queries.invalidateQueries({ queryKey: ['cars', 'list'] }),
    )
    .subscribe()

export async function edit(car: Car, values: Car) {
  const changes: Partial<Car> = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => Reflect.get(car, name) !== value),
  )
  const { data, error } = await db
    .from('cars')
    .update(changes)
    .eq('id', car.id)
    .eq('updated_at', car.updated_at)
    .select()
    .maybeSingle()
  if (error) throw error
  if (!data) throw new Error('The car has changed')
  return data
}

let kept: Car | undefined
export async function readAgain() {
  let query = db.from('cars').select().eq('id', 7)
  if (kept) query = query.neq('updated_at', kept.updated_at)
  const { data, error } = await query.maybeSingle()
  if (error) throw error
  kept = data ?? kept
  return kept
}

// @ts-expect-error There is no such property.
export const wrongField = () => db.from('cars').select().eq('colour', 'red')
// @ts-expect-error There is no such value.
export const wrongValue = () => db.from('cars').select().eq('color', 'pink')
// @ts-expect-error A property is missing.
export const incomplete = () => db.from('cars').insert({ color: 'red', price: 1 })
// @ts-expect-error The price is a number.
export const wrongType = () => db.from('cars').update({ price: '5' })
export const wrongRelation = () => db.from('cars').select('*, model:modles(*)')
