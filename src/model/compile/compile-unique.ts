// The unique sets of a collection, among all items or among those that pass the conditions of a partial index.
import { isObject, isScalar } from '../../base/values.ts'
import { assertValid, checkOptions, needed, OBJECT, type Rules, show } from '../../options.ts'
import type { Fields } from '../../schema/fields.ts'
import { isOfKind } from '../../schema/scalars.ts'
import type { ValueFilter } from '../../store/filter.ts'
import type { PartialSet } from '../../store/store.ts'
import type { PartialUnique } from '../types/collection-options.ts'
import { FIELDS } from './collection-rules.ts'
import { requireField } from './require-field.ts'

const RULES: Rules<PartialUnique> = { fields: needed(FIELDS), where: needed(OBJECT) }

/** A unique set as it is declared: a field, several fields, or fields with conditions. */
type DeclaredSet = string | readonly string[] | PartialUnique

/**
 * Compiles the option `unique`.
 * @param toPaths checks the paths of a set.
 * @throws TypeError for a condition that a partial index cannot have.
 */
export function compileUnique(
  name: string,
  fields: Fields,
  declared: readonly DeclaredSet[],
  toPaths: (set: string | readonly string[]) => readonly string[],
): { unique: (readonly string[])[]; partial: PartialSet[] } {
  const unique: (readonly string[])[] = []
  const partial: PartialSet[] = []
  for (const each of declared) {
    if (!isPartial(each)) {
      unique.push(toPaths(each))
      continue
    }
    checkOptions(`${name}, a unique set`, each, RULES)
    const where = Object.entries(each.where).map(([property, condition]) =>
      compileCondition(name, fields, property, condition),
    )
    assertValid(
      where.length > 0,
      `${name}: where of a unique set must name a property. Without one, write only the fields: unique: [${show(each.fields)}]`,
    )
    partial.push({ fields: toPaths(each.fields), where })
  }
  return { unique, partial }
}

function isPartial(each: DeclaredSet): each is PartialUnique {
  return typeof each === 'object' && !Array.isArray(each)
}

function compileCondition(
  name: string,
  fields: Fields,
  property: string,
  condition: unknown,
): ValueFilter {
  const { kind, nullable, optional } = requireField(name, fields, 'where of a unique set', property)
  const where = `${name}: where.${property} of a unique set`
  const [[operator, value] = ['', undefined], ...others] = isObject(condition)
    ? Object.entries(condition)
    : [['eq', condition] as const]
  const isExists = operator === 'exists' && typeof value === 'boolean'
  assertValid(
    others.length === 0 && (isExists || (operator === 'eq' && isScalar(value))),
    `${where} must be a value or { exists: true } or { exists: false }, not ${show(condition)}: a partial index cannot have another condition`,
  )
  assertValid(
    fields.has(property) && /^(?:string|integer|boolean|date|date-time)$/.test(kind),
    `${where} must be a property of the item itself that holds a string, a whole number, a boolean or a date. Compare another one`,
  )
  assertValid(
    !(nullable && optional),
    `${where} may be both null and absent, which an index cannot distinguish. Declare it .nullable() or .optional(), not both`,
  )
  const path = [property]
  if (isExists) return { path, operator: 'exists', values: [value] }
  assertValid(
    !kind.startsWith('date'),
    `${where} must be { exists: true } or { exists: false }, not ${show(value)}: a partial index cannot compare times`,
  )
  assertValid(
    isScalar(value) && isOfKind(value, kind),
    `${where} must be a ${kind === 'integer' ? 'whole number' : kind} of the schema, not ${show(value)}`,
  )
  return { path, operator: 'in', values: [value] }
}
