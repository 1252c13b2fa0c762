// An api with a field of every kind that a form has a control for, served on a port of its own.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  type Api,
  blob,
  defineApi,
  defineCollection,
  form,
  HttpError,
  json,
  memoryBlobs,
  memoryStore,
  multipart,
} from '../../src/index.ts'

export const COLORS = ['red', 'blue', 'green', 'black', 'white']

const Car = z.object({
  immatriculation: z.string().regex(/^[A-Z]{2}-\d{3}-[A-Z]{2}$/, 'must look like AB-123-CD'),
  color: z.enum(['red', 'blue', 'green', 'black', 'white']),
  model: z.object({ name: z.string().min(1), brand: z.string().optional() }).optional(),
  price: z.number().nonnegative().nullable(),
  doors: z.int().min(1).max(9).default(5),
  electric: z.boolean().optional(),
  registered_on: z.iso.date().optional(),
  inspected_at: z.iso.datetime({ offset: true }).nullable().optional(),
  tags: z.array(z.string()).default([]),
  notes: z.string().optional(),
  extras: z.record(z.string(), z.number()).optional(),
  sold_to: z.string().nullable().default(null),
})

/** The api, with `count` cars of which every third has an option. */
export async function htmlApi(count = 60) {
  const cars = defineCollection({
    name: 'cars',
    schema: Car,
    store: memoryStore(),
    description: 'What we have on the lot',
    indexes: ['color', 'price'],
    unique: ['immatriculation'],
    search: ['immatriculation', 'model.name'],
    defaultLimit: 10,
    actions: {
      buy: {
        on: 'item',
        description: 'Sells the car to an account',
        input: z.object({ account_id: z.string().min(3), paid: z.number().optional() }),
        run: async ({ item, input, update }) => {
          if (item?.sold_to) throw new HttpError(409, 'The car is sold already')
          return update({ sold_to: input.account_id })
        },
      },
      repaint: {
        on: 'item',
        run: async ({ update }) => void (await update({ color: 'red' })),
      },
      cheapest: {
        on: 'collection',
        method: 'GET',
        run: ({ collection }) => collection().list({ sort: 'price' }).first(),
      },
    },
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.string(), name: z.string(), price: z.number().default(0) }),
    store: memoryStore(),
    description: 'What can be built into a car',
    parents: { car_id: 'cars' },
  })
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({
      comment: z.string().default(''),
      photo: blob({ accept: ['image/*'] }),
      paper: blob().optional(),
    }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    description: 'Pictures of cars',
  })
  const collections = [cars, options, photos]
  const api = defineApi({ collections, version: 1, pages: html, formats: [json, form, multipart] })
  for (let at = 0; at < count; at++) {
    const { id } = await api.collection(cars).create({
      immatriculation: `AA-${String(at).padStart(3, '0')}-ZZ`,
      color: (['red', 'blue', 'green', 'black', 'white'] as const)[at % 5] ?? 'red',
      ...(at % 7 !== 6 && {
        model: {
          name: ['Clio', 'Zoé', '208'][at % 3] ?? '',
          brand: at % 3 === 2 ? 'Peugeot' : 'Renault',
        },
      }),
      price: at % 11 === 10 ? null : 9000 + ((at * 731) % 9000),
      doors: 3 + 2 * (at % 2),
      electric: at % 3 === 1,
      registered_on: `20${10 + (at % 15)}-0${1 + (at % 9)}-15`,
      inspected_at: at % 4 === 0 ? null : '2026-01-31T12:00:00+01:00',
      tags: ['family', 'city', 'fast'].slice(0, at % 4),
      ...(at % 5 === 0 && { notes: 'Two owners.\nSmells of <b>dog</b> & "smoke".' }),
      ...(at % 6 === 0 && { extras: { radio: 120, hook: 340.5 } }),
    })
    if (at % 3 === 0)
      await api.collection(options).create({ car_id: String(id), name: 'radio', price: 120 })
  }
  return { api, cars, options, photos }
}

/** Serves an api on a free port of this machine. */
export async function serve(api: Pick<Api, 'handler' | 'close'>) {
  const server = createServer(api.handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    await api.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}
