// The validator of `checks: 'changed'`: no write fails by what was stored before.
import { z } from 'zod'
import { type Item, isObject, type Json, sameJson } from '../base/values.ts'
import { AnyHttpError, type AnyIssue, MAX_ISSUES } from '../errors.ts'
import { buildValidator, type Validator } from './validate.ts'
import { type Schema, schemaDefOf } from './zod-fields.ts'

/**
 * Builds a validator that leaves out each issue of a property which a write does not touch, if the stored item has it too. The
 * item is then checked without the schemas of those properties, and they stay byte for byte.
 * @param strict the validator of the same schema.
 * @throws TypeError for a schema whose properties depend on each other.
 */
export function validateChanged(name: string, schema: Schema, strict: Validator): Validator {
  const def = schemaDefOf(schema)
  if (def.type !== 'object') {
    throw new TypeError(
      `${name}: checks: 'changed' needs a z.object() as the schema. Declare one, or leave checks out.`,
    )
  }
  /** Builds the validator without the schemas of some properties. Only old rows pay for it. */
  const loosen = (properties: readonly string[]) => {
    const any = Object.fromEntries(properties.map(property => [property, z.any()]))
    const loose: z.core.$ZodObjectDef = { ...def, shape: { ...def.shape, ...any } }
    // A clone has the checks of the whole item.
    return buildValidator(z.core.clone(schema, loose))
  }
  const change = (kind: 'replace' | 'patch') => async (current: Item, next: Json) => {
    try {
      return await strict[kind](current, next)
    } catch (error) {
      if (!(error instanceof AnyHttpError) || error.status !== 400 || !isObject(next)) throw error
      return loosen(await findStored(error, strict, current, next))[kind](current, next)
    }
  }
  return { create: strict.create, replace: change('replace'), patch: change('patch') }
}

/** Finds the properties whose stored values have the issues. @throws HttpError 400 with those that are the write's own. */
async function findStored(
  error: AnyHttpError,
  strict: Validator,
  current: Item,
  next: Item,
): Promise<readonly string[]> {
  // Beyond them there may be others.
  if (error.errors.length >= MAX_ISSUES) throw error
  const toKey = ({ field, type }: AnyIssue) => `${type} ${field}`
  const stored = new Set((await listIssues(strict, current)).map(toKey))
  const isStored = (issue: AnyIssue) =>
    issue.field !== undefined &&
    stored.has(toKey(issue)) &&
    isUntouched(current, next, topOf(issue))
  const own = error.errors.filter(issue => !isStored(issue))
  if (own.length > 0) throw new AnyHttpError(400, own)
  return error.errors.map(topOf)
}

/** The property of the item that an issue is in. */
const topOf = ({ field = '' }: AnyIssue) => field.split('.', 1)[0] ?? ''

/** Whether a write leaves a property as it is stored. */
function isUntouched(current: Item, next: Item, property: string): boolean {
  const [before, after] = [current[property], next[property]]
  return before === undefined || after === undefined ? before === after : sameJson(before, after)
}

async function listIssues({ create }: Validator, item: Item): Promise<readonly AnyIssue[]> {
  try {
    await create(item)
    return []
  } catch (error) {
    return error instanceof AnyHttpError ? error.errors : []
  }
}
