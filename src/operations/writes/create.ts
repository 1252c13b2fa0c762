// `POST /<collection>`: one item, an array of new items, or an upsert of an array.

import { ON_CONFLICT } from '../../model/compile/unique-keys.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import { takesArrays } from '../../store/writes.ts'
import type { OperationContext, Perform } from '../calls/context.ts'
import { ArrayItems } from './array-items.ts'
import { compileWrites } from './plan.ts'
import { readUpsert, upsertMany } from './upsert-many.ts'

/** Compiles `POST /<collection>`: an array is created as a whole where the store has transactions. */
export function compileCreate(collection: CollectionDefinition): Perform {
  const { create, createMany } = compileWrites(collection)
  const arrays = takesArrays(collection.store)
  return call => {
    const bodies = call.body?.value
    if (asksForUpsert(call)) {
      const upsert = readUpsert(call)
      return upsertMany(call, Array.isArray(bodies) ? bodies : [], upsert)
    }
    return arrays && Array.isArray(bodies)
      ? createMany(call, new ArrayItems(call, bodies))
      : create(call)
  }
}

/** Whether a POST asks for an upsert. */
function asksForUpsert({ parameters, preferences }: OperationContext): boolean {
  return preferences.resolution !== undefined || parameters.some(({ name }) => name === ON_CONFLICT)
}
