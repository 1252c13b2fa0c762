// The versions of items as texts, which survive a copy: `"mWEN20CL0.json" cars/7`; of an item of a list
// `?fields=id cars/7 1a2b3c`, the query that reads it again and a hash of its values.

/** Prints the version of an item; the items of a page share one. */
export type PrintVersion = (item: object) => string

/** The versions of items that a client returned. */
export const versions = new WeakMap<object, PrintVersion>()

/**
 * Gives the version of an item that a client returned: an opaque text. It belongs beside a copy, which has none, to
 * write the copy on that condition: `patch(copy, changes, { version })`.
 * @returns `undefined` for any other object.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient, versionOf } from 'rest-conventions/client'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const car = await client.cars.create({ price: 1 })
 * const sent = JSON.stringify({ car, version: versionOf(car) }) // to a browser, a worker, a cache
 * const { car: copy, version } = JSON.parse(sent)
 * await client.cars.patch(copy, { price: 2 }, { version })
 */
export function versionOf(item: object): string | undefined {
  return versions.get(item)?.(item)
}

/** Hashes a value as JSON to 64 bits, by two coupled multiply-xor hashes. */
export function hashOf(value: unknown): string {
  let high = 1
  let low = 2
  for (const unit of new TextEncoder().encode(JSON.stringify(value))) {
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ (high >>> 15) ^ unit, 1597334677)
  }
  return `${high}${low}`
}
