// The entry point `rest-conventions/query/batch`: a batch as a mutation of TanStack Query.
import type { ClientOf } from './client.ts'
import { stateOf } from './place.ts'
import { type CacheContext, requireOneAddress, settle, toPrefix } from './query-cache.ts'
import { type BatchItems, type BatchStep, type BatchSteps, runBatch } from './run-batch.ts'
import type { MutationOptions, OwnMutationOptions, QueriesOptions } from './tanstack-query.ts'

/**
 * Creates options for `useMutation`, with the variables of `build`. It puts the item of each step into its query, and invalidates
 * all other queries of these collections.
 * @param build calls the steps, as in `batch`, and returns the steps whose items you want.
 * @param own the `key` of `createQueries`, and your callbacks.
 * @example
 * import { MutationObserver, QueryClient } from '@tanstack/query-core'
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { batchMutation } from 'rest-conventions/query/batch'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars }, batch: true })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const options = batchMutation(client, (steps, prices: number[]) => prices.map(price => steps.cars.create({ price })))
 * await new MutationObserver(new QueryClient(), options).mutate([1, 2]) // useMutation(options)
 */
export function batchMutation<Named, Variables, const S extends readonly BatchStep<unknown>[]>(
  client: ClientOf<Named>,
  build: (steps: BatchSteps<Named>, variables: Variables) => S,
  { key, ...own }: QueriesOptions & OwnMutationOptions<Variables, BatchItems<S>> = {},
): MutationOptions<Variables, BatchItems<S>> {
  const { url: address } = stateOf(client, 'batchMutation')
  const prefix = toPrefix(address, key)
  return {
    ...own,
    mutationKey: [...prefix, 'batch'],
    mutationFn: (variables: Variables, { client: queries }: CacheContext) =>
      runBatch(
        client,
        steps => build(steps, variables),
        {},
        ({ name, id, method, item }) => {
          const root = [...prefix, name]
          requireOneAddress(queries, root, address)
          settle(root, queries, [item[id]], item, method === 'DELETE')
        },
      ),
    retry: false,
  }
}
