// The upsert of an array over HTTP.
import type { Def, DefItem } from '../model/types/collection-types.ts'
import type { ByClient, ByFilterOf } from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { notAnAnswer } from './errors.ts'
import { remember, stateOf } from './place.ts'
import { isList } from './reads.ts'

/** The declaration of a collection as clients have it. */
type UpsertedDef<Named, N extends keyof Named> = Named[N] extends {
  readonly def: infer D extends Def
}
  ? ByClient<D>
  : never

/**
 * Creates the items of an array. Those that exist, by the values of a unique set, are patched or stay as they are. The
 * arguments are items, and options: `onConflict`, `resolution`, `dryRun`.
 * @throws HttpError as a create and a patch, and 400 if the collection has no upsert of arrays.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { upsertMany } from 'rest-conventions/client/batch'
 * import { z } from 'zod'
 * const cars = defineCollection({
 *   name: 'cars', schema: z.object({ plate: z.string() }), store: memoryStore(), unique: ['plate'],
 * })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const [car] = await upsertMany(client, 'cars', [{ plate: 'AB-123' }], { onConflict: 'plate' })
 */
export async function upsertMany<Named, N extends keyof Named & string>(
  client: ClientOf<Named>,
  name: N,
  ...[items, options = {}]: Parameters<ByFilterOf<UpsertedDef<Named, N>>['upsertMany']>
): Promise<readonly DefItem<UpsertedDef<Named, N>>[]> {
  const { send, ids } = stateOf(client, 'upsertMany')
  const { onConflict, resolution = 'merge-duplicates', dryRun } = options
  const query =
    onConflict === undefined ? '' : `?on_conflict=${encodeURIComponent([onConflict].flat().join())}`
  const reply = await send('POST', name + query, {
    headers: {
      prefer: `return=representation,resolution=${resolution}${dryRun ? ',tx=rollback' : ''}`,
    },
    body: items,
    options,
  })
  const { value } = reply
  if (!isList(value)) throw notAnAnswer(reply)
  remember(value, { name, id: ids[name] ?? 'id' })
  return value as never // items have the type of their collection
}
