// The example api of the specification: cars with their options, models and relations, accounts,
// photos.

import {
  type BlobStore,
  blob,
  defineApi,
  defineCollection,
  HttpError,
  type Policies,
  type Store,
} from 'rest-conventions'
import { jsonServer, simpleRest } from 'rest-conventions/dialects'
import { html } from 'rest-conventions/html'
import { z } from 'zod'
import { accessTo } from './auth.ts'

const COLORS = ['black', 'blue', 'green', 'grey', 'orange', 'red', 'silver', 'white', 'yellow']

const Model = z.object({ name: z.string().min(1).max(100), brand: z.string().min(1).max(100) })

const Car = z.object({
  immatriculation: z
    .string()
    .regex(
      /^[A-HJ-NP-TV-Z]{2}-\d{3}-[A-HJ-NP-TV-Z]{2}$/,
      'immatriculation must be a plate such as AB-123-CD',
    )
    .meta({ examples: ['AB-123-CD'] }),
  color: z.enum(COLORS),
  model: Model.partial({ brand: true }),
  price: z.number().nonnegative(),
  mileage: z.int().nonnegative().default(0),
  registered_on: z.iso.date().nullable().default(null),
  sold: z.boolean().default(false),
  buyer: z.string().max(200).nullable().default(null),
  account_id: z.string().max(255).nullable().default(null),
})

const Option = z.object({
  car_id: z.int(),
  name: z.string().min(1).max(100),
  price: z.number().nonnegative().default(0),
})

const CarModel = z.object({ car_id: z.int(), model_id: z.int() })

const Account = z.object({
  name: z.string().min(1).max(200),
  email: z.email().max(254),
  city: z.string().max(100).optional(),
  newsletter: z.boolean().default(false),
})

const Photo = z.object({
  comment: z.string().max(2000),
  photo: blob({ accept: ['image/*'] }),
  thumb: blob({ accept: ['image/*'] })
    .nullable()
    .default(null),
})

const Purchase = z.object({
  /** The buyer's name; not needed for an account. */
  buyer: z.string().min(1).max(200).optional(),
  account_id: z.uuid().optional(),
})

/**
 * Makes the api on any stores. Version 1 gives photos in the flat form, version 2 in the object form.
 * @param storeFor gives the store of each collection, by its name.
 * @param blobs keeps the files of photos.
 * @param policies such as schemes: with any, reading needs `<collection>:read` and the rest `<collection>:write`.
 */
export function carsApi(
  storeFor: (name: string) => Store,
  blobs: BlobStore,
  policies: Policies = {},
) {
  const accounts = defineCollection({
    name: 'accounts',
    schema: Account,
    store: storeFor('accounts'),
    access: accessTo('accounts'),
    unique: ['email'],
    search: ['name', 'email', 'city'],
  })
  const cars = defineCollection({
    name: 'cars',
    description: 'The cars for sale, and those that are sold',
    schema: Car,
    store: storeFor('cars'),
    access: accessTo('cars'),
    id: 'integer',
    // An account that owns cars cannot be deleted.
    references: { account_id: { collection: 'accounts', onDelete: 'restrict' } },
    // The action `buy` sets them.
    fields: { sold: 'readOnly', buyer: 'readOnly', account_id: 'readOnly' },
    unique: ['immatriculation'],
    indexes: ['color', 'model.name', 'model.brand', 'price', 'created_at'],
    search: ['immatriculation', 'color', 'model.name', 'model.brand'],
    actions: {
      buy: {
        on: 'item',
        description: 'Buys the car',
        input: Purchase,
        output: 'item',
        async run({ input, item, update, collection }) {
          if (item.sold) {
            throw new HttpError(409, [
              { message: 'This car is sold already', field: 'sold', type: 'already_sold' },
            ])
          }
          const { buyer, account_id = null } = input
          const account =
            account_id && (await collection(accounts).list({ id: account_id }).first())
          // An account that does not exist is refused as any reference is.
          return update({ sold: true, buyer: buyer ?? (account ? account.name : null), account_id })
        },
      },
    },
  })
  const options = defineCollection({
    name: 'options',
    description: 'What a car is equipped with',
    schema: Option,
    store: storeFor('options'),
    access: accessTo('options'),
    id: 'integer',
    parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
  })
  const models = defineCollection({
    name: 'models',
    schema: Model,
    store: storeFor('models'),
    access: accessTo('models'),
    id: 'integer',
    unique: [['brand', 'name']],
    search: ['name', 'brand'],
  })
  const carsModels = defineCollection({
    name: 'cars_models',
    itemName: 'car_model',
    description: 'Which cars are of which models',
    schema: CarModel,
    store: storeFor('cars_models'),
    access: accessTo('cars_models'),
    relation: {
      car_id: { collection: 'cars', onDelete: 'cascade' },
      model_id: { collection: 'models', onDelete: 'cascade' },
    },
  })
  const photo = {
    name: 'photos',
    description: 'Photos of cars',
    schema: Photo,
    store: storeFor('photos'),
    access: accessTo('photos'),
    blobs,
    search: ['comment'],
  } as const
  const photos = defineCollection({ ...photo, binary: 'object' })
  const flatPhotos = defineCollection({ ...photo, binary: 'flat' })
  const common = { cars, options, models, cars_models: carsModels, accounts }
  const api = defineApi({
    title: 'Used cars',
    description: 'The cars of a dealer: what they are equipped with, who bought them, and photos',
    versions: [
      { version: 1, collections: { ...common, photos: flatPhotos } },
      { version: 2, collections: { ...common, photos } },
    ],
    pages: html,
    dialects: [simpleRest, jsonServer],
    ...policies,
  })
  return { api, cars, options, models, carsModels, accounts, photos }
}

export type CarsApi = ReturnType<typeof carsApi>
