// Writes to all items that match a filter: `patchMany` and `deleteMany`.
import type { Def } from '../model/types/collection-types.ts'
import type { FilterOperation } from '../model/types/operation.ts'
import type { ByClient, ByFilterOf, ManyOptions } from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { notAnAnswer } from './errors.ts'
import { stateOf } from './place.ts'
import { printQuery } from './query-string.ts'
import { isCount } from './reads.ts'

/** The names of the collections whose declaration has the operation. */
export type CollectionsWith<Named, O extends FilterOperation> = {
  readonly [N in keyof Named]: Named[N] extends { readonly def: infer D extends Def }
    ? O extends D['operations']
      ? N
      : never
    : never
}[keyof Named] &
  string

/** The arguments of an operation on a collection. */
export type ArgumentsOf<
  Named,
  N extends keyof Named,
  O extends FilterOperation,
> = Named[N] extends { readonly def: infer D extends Def }
  ? Parameters<ByFilterOf<ByClient<D>, Named>[O]>
  : never

/**
 * Applies a JSON Merge Patch to each item of a collection that matches, and gives their number. The arguments are
 * filters, changes, and options: `maxAffected`, `dryRun`.
 * @throws HttpError as for one item, and 400 without a filter, and where more match than may be affected.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { patchMany } from 'rest-conventions/client/batch'
 * import { z } from 'zod'
 * const cars = defineCollection({
 *   name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore(), operations: ['list', 'patch', 'patchMany'],
 * })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const sold = await patchMany(client, 'cars', { price: { lt: 5 } }, { price: 0 }, { maxAffected: 50 })
 */
export function patchMany<Named, N extends CollectionsWith<Named, 'patchMany'>>(
  client: ClientOf<Named>,
  name: N,
  ...[filters, changes, options]: ArgumentsOf<Named, N, 'patchMany'>
): Promise<number> {
  return writeMany(client, 'PATCH', name + printQuery(filters, { name }), {
    body: changes,
    options,
  })
}

/**
 * Deletes each item of a collection that matches, and gives their number. The arguments are filters, and options with
 * `maxAffected`.
 * @throws HttpError as {@link patchMany}
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { deleteMany } from 'rest-conventions/client/batch'
 * import { z } from 'zod'
 * const cars = defineCollection({
 *   name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore(), operations: ['list', 'delete', 'deleteMany'],
 * })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const gone = await deleteMany(client, 'cars', { price: { lt: 5 } }, { maxAffected: 10 })
 */
export function deleteMany<Named, N extends CollectionsWith<Named, 'deleteMany'>>(
  client: ClientOf<Named>,
  name: N,
  ...[filters, options]: ArgumentsOf<Named, N, 'deleteMany'>
): Promise<number> {
  return writeMany(client, 'DELETE', name + printQuery(filters, { name }), { options })
}

async function writeMany(
  client: object,
  method: 'PATCH' | 'DELETE',
  target: string,
  { body, options = {} }: { readonly body?: unknown; readonly options: ManyOptions | undefined },
): Promise<number> {
  const { send } = stateOf(client, method === 'PATCH' ? 'patchMany' : 'deleteMany')
  const { maxAffected, dryRun } = options
  const preferences = [
    ...(maxAffected === undefined ? [] : [`max-affected=${maxAffected}`]),
    ...(dryRun ? ['tx=rollback'] : []),
  ]
  const reply = await send(method, target, {
    headers: { prefer: preferences.join() || undefined },
    body,
    options,
  })
  if (!isCount(reply.value)) throw notAnAnswer(reply)
  return reply.value.count
}
