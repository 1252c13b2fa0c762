// The fields by which items are handed out to jobs: the options `lease` and `attempts`.
import { assertValid } from '../../options.ts'
import type { Fields } from '../../schema/fields.ts'
import type { LeaseFields } from '../../store/program-store.ts'
import type { Declaration } from '../types/declaration.ts'
import { requireField } from './require-field.ts'

/** @throws TypeError for fields that hold no lease or no count, and for a store that hands out nothing. */
export function compileLease(
  { name, lease, attempts, store, actions = {} }: Declaration,
  fields: Fields,
): LeaseFields | undefined {
  assertValid(
    lease !== undefined || attempts === undefined,
    `${name}: attempts counts how often an item was taken. Add lease, the field of the time when that ends`,
  )
  if (lease === undefined) return undefined
  const { kind, optional, nullable } = requireField(name, fields, 'lease', lease)
  assertValid(
    kind === 'date-time' && optional !== nullable,
    `${name}: lease must be a date-time that is optional, not "${lease}". Declare ${lease}: z.iso.datetime().optional()`,
  )
  if (attempts !== undefined) {
    const counter = requireField(name, fields, 'attempts', attempts)
    assertValid(
      counter.kind === 'integer' && !counter.nullable,
      `${name}: attempts must be a whole number, not "${attempts}". Declare ${attempts}: z.int().default(0)`,
    )
  }
  assertValid(
    store.take,
    `${name}: lease needs a store that hands out items, such as memoryStore() or sqlStore({ db })`,
  )
  assertValid(
    !('take' in actions),
    `${name}: with lease the resource has a method take. Rename the action take`,
  )
  return { lease, attempts }
}
