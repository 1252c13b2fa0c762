// Makers, models, cars with options and features, for tests of what is included. Ids are whole numbers, in the order of creation.
import { z } from 'zod'
import {
  csv,
  defineApi,
  defineCollection,
  json,
  memoryStore,
  ndjson,
  type Store,
  xml,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openPostgres } from '../stores/postgres.ts'
import { openDatabase } from '../stores/sqlite.ts'

let tables = 0

/** By name: opens a database, and gives a function that makes stores in it. */
export const DATABASES: Readonly<
  Record<string, (onStatement?: (sql: string) => void) => Promise<() => Store>>
> = {
  memory: async () => () => memoryStore(),
  SQLite: async onStatement => {
    const db = await openDatabase(undefined, ({ sql }) => onStatement?.(sql))
    return () => sqlStore({ db, table: `include_${++tables}`, create: true })
  },
  PostgreSQL: async onStatement => {
    const db = openPostgres({}, ({ sql }) => onStatement?.(sql))
    return () => sqlStore({ db, table: `include_${++tables}`, create: true })
  },
}

/** Defines the shop in some stores, and fills it. */
export async function openShop(store: () => Store = () => memoryStore()) {
  const makers = defineCollection({
    name: 'makers',
    id: 'integer',
    schema: z.object({ name: z.string(), country: z.string() }),
    store: store(),
  })
  const models = defineCollection({
    name: 'models',
    id: 'integer',
    schema: z.object({ name: z.string(), maker_id: z.int().nullable() }),
    store: store(),
    parents: { maker_id: 'makers' },
  })
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema: z.object({
      color: z.string(),
      model_id: z.int().nullable(),
      seller: z.int().optional(),
    }),
    store: store(),
    parents: { model_id: 'models' },
    references: { seller: { collection: 'makers', as: 'dealer' } },
    search: ['color'],
    indexes: ['color'],
  })
  const options = defineCollection({
    name: 'options',
    id: 'integer',
    schema: z.object({ car_id: z.int(), label: z.string(), price: z.number() }),
    store: store(),
    parents: { car_id: 'cars' },
    maxLimit: 4,
    sort: '-price',
  })
  const features = defineCollection({
    name: 'features',
    id: 'integer',
    schema: z.object({ name: z.string() }),
    store: store(),
  })
  const carFeatures = defineCollection({
    name: 'cars_features',
    id: 'integer',
    schema: z.object({ car_id: z.int(), feature_id: z.int() }),
    store: store(),
    relation: { car_id: 'cars', feature_id: 'features' },
  })
  const api = defineApi({
    collections: [makers, models, cars, options, features, carFeatures],
    formats: [json, xml, csv, ndjson],
  })
  const fill = async (name: string, items: readonly object[]) => {
    for (const item of items) await api.collection(name).create(item as never)
  }
  await fill('makers', [
    { name: 'Renault', country: 'FR' },
    { name: 'Fiat', country: 'IT' },
  ])
  await fill('models', [
    { name: 'Clio', maker_id: 1 },
    { name: 'Panda', maker_id: 2 },
    { name: 'Kit', maker_id: null },
  ])
  await fill('cars', [
    { color: 'red', model_id: 1, seller: 2 },
    { color: 'blue', model_id: 2 },
    { color: 'green', model_id: null },
    { color: 'red', model_id: 3, seller: 1 },
  ])
  await fill('options', [
    { car_id: 1, label: 'GPS', price: 5 },
    { car_id: 1, label: 'AC', price: 10 },
    { car_id: 2, label: 'AC', price: 3 },
    { car_id: 4, label: 'GPS', price: 20 },
    { car_id: 4, label: 'roof', price: 1 },
  ])
  await fill('features', [{ name: 'fast' }, { name: 'loud' }])
  await fill('cars_features', [
    { car_id: 1, feature_id: 1 },
    { car_id: 1, feature_id: 2 },
    { car_id: 2, feature_id: 2 },
  ])
  return api
}

export type Shop = Awaited<ReturnType<typeof openShop>>
