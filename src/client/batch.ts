// The entry point `rest-conventions/client/batch`: several changes as one.
import type { ClientOf } from './client.ts'
import {
  type BatchItems,
  type BatchOptions,
  type BatchStep,
  type BatchSteps,
  runBatch,
} from './run-batch.ts'

export { deleteMany, patchMany } from './by-filter.ts'
export type {
  BatchItems,
  BatchOptions,
  BatchResource,
  BatchStep,
  BatchSteps,
  StepOptions,
} from './run-batch.ts'
export { upsertMany } from './upsert-many.ts'

/**
 * Does all steps, or none, where the api has `batch: true`. It is repeated safely by its key.
 * @param build calls the steps; it gives those whose items are wanted.
 * @throws HttpError of the first step that fails: its issues have the number of the step.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { batch } from 'rest-conventions/client/batch'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars }, batch: true })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const [red, blue] = await batch(client, steps => [steps.cars.create({ price: 1 }), steps.cars.create({ price: 2 })])
 */
export function batch<Named, const S extends readonly BatchStep<unknown>[]>(
  client: ClientOf<Named>,
  build: (steps: BatchSteps<Named>) => S,
  options?: BatchOptions,
): Promise<BatchItems<S>> {
  return runBatch(client, build, options)
}
