// Cars with a trash, parts that are deleted with them, and what sends requests to both.
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import { defineApi, defineCollection } from '../src/index.ts'
import type { Store } from '../src/store/store.ts'
import { scopedScheme } from './scoped-scheme.ts'

export const marks = {
  deleted_at: z.iso.datetime().optional(),
  deletion_id: z.string().nullable().default(null),
}
export const trash = { date: 'deleted_at', deletion: 'deletion_id' } as const

/** Serves cars with parts that are deleted with them. */
export function openGarage(open: () => Store, { secured = false, live = false } = {}) {
  const events: string[] = []
  const note = (name: string) => () => void events.push(name)
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      plate: z.string(),
      owner: z.string().default('ann'),
      note: z.string().default(''),
      km: z.int().default(0),
      ...marks,
    }),
    store: open(),
    id: 'integer',
    unique: ['plate'],
    trash,
    live,
    hooks: {
      before: { delete: note('before delete'), restore: note('before restore') },
      after: { delete: note('after delete'), restore: note('after restore') },
    },
    ...(secured && {
      visible: (principal?: { id: string }) => ({ owner: principal?.id ?? '' }),
      access: { trash: ['admin'] },
    }),
  })
  const parts = defineCollection({
    name: 'parts',
    schema: z.object({
      car_id: z.int(),
      name: z.string(),
      serial: z.string().optional(),
      ...marks,
    }),
    store: open(),
    id: 'integer',
    unique: ['serial'],
    actions: {
      swap: {
        on: 'collection',
        transaction: true,
        input: z.object({ out: z.int(), back: z.int() }),
        async run({ input: { out, back }, collection }) {
          const gone = await collection(cars).delete(out)
          await collection(cars).trash.restore(back)
          return gone
        },
      },
    },
    parents: { car_id: { collection: 'cars', onDelete: 'cascade' } },
    trash,
  })
  const api = defineApi({
    collections: { cars, parts },
    pages: html,
    batch: true,
    ...(secured && { schemes: [scopedScheme] }),
  })
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const init = { method, body: text ?? null }
    const all = { 'content-type': 'application/json', ...headers }
    const response = await api.fetch(new Request(`http://test${path}`, { ...init, headers: all }))
    const answer = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    const json = isJson ? JSON.parse(answer) : answer
    const { type, field } = Object(Object(json).errors?.[0])
    return { status: response.status, json, type, field, headers: response.headers }
  }
  const ids = async (path: string, authorization?: string): Promise<number[]> =>
    (await send('GET', path, undefined, authorization ? { authorization } : {})).json.map(
      (each: { id: number }) => each.id,
    )
  return { cars, parts, api, send, ids, events }
}
