// What an answer has of each item: `fields` and `include`.

import { type Path, toPath } from '../base/paths.ts'
import type { ErrorType, Issue } from '../errors.ts'
import { type Parameter, single } from '../http/parameters.ts'
import { type Fields, findValueField, unknownField } from '../schema/fields.ts'
import type { QueryLimits } from './filters.ts'
import { INCLUDE, type Include, parseInclude, selectIncluded } from './include.ts'
import { followRelations, type QueryScope } from './relation.ts'

/** What an answer has of each item. */
export interface RequestedParts {
  /** Its properties, in the order of the table; absent: all. */
  readonly fields?: readonly Path[]
  /** What is included; absent: nothing. */
  readonly include?: readonly Include[]
}

/** Whether a collection takes the parameter: a field of that name is a filter. */
export function takesInclude({ fields }: Pick<QueryScope, 'fields'>): boolean {
  return !fields.has(INCLUDE)
}

/** Reads `fields` and `include`. Issues are added to the list. */
export function readSelected(
  parameters: readonly Parameter[],
  scope: QueryScope,
  issues: Issue[],
  limits: Pick<QueryLimits, 'parameters'>,
): RequestedParts {
  const text = takesInclude(scope) ? single(parameters, INCLUDE, issues) : undefined
  const include = text === undefined ? undefined : parseInclude(text, scope, issues)
  const names = readNames(parameters, issues, limits)
  if (!names) return include ? { include } : {}
  const toPaths = (own: ReadonlySet<string>, of: QueryScope) => pathsOf(own, of, issues)
  const selected = include && selectIncluded(names, include, toPaths, issues)
  return { fields: toPaths(names, scope), ...(selected && { include: selected }) }
}

/** Reads the names of `fields`; `undefined` where there is no such parameter. */
function readNames(
  parameters: readonly Parameter[],
  issues: Issue[],
  { parameters: max }: Pick<QueryLimits, 'parameters'>,
): Set<string> | undefined {
  const text = single(parameters, 'fields', issues)
  if (text === undefined) return undefined
  const names = new Set(text.split(',').filter(name => name !== ''))
  const invalid = (message: string, type: ErrorType) => {
    issues.push({ message, field: 'fields', type })
    return undefined
  }
  if (names.size === 0)
    return invalid('fields names no field. Name one, such as fields=id', 'invalid_fields')
  if (names.size <= max) return names
  const message = `fields names ${names.size} fields; at most ${max} are allowed`
  return invalid(message, 'too_many_fields')
}

/** Makes paths of the names of fields, in the order of the table. */
function pathsOf(names: ReadonlySet<string>, scope: QueryScope, issues: Issue[]): Path[] {
  const { selectable } = scope
  for (const name of names) {
    if (findValueField(selectable, toPath(name))) continue
    const [relation] = followRelations(name, scope).steps
    if (relation) {
      const message = `${name} is of other items. To have it, add ${INCLUDE}=${relation.name}`
      issues.push({ message, field: 'fields', type: 'unknown_field' })
    } else issues.push(unknownField(name, selectable, 'fields'))
  }
  return sortPaths([...names].map(toPath), selectable)
}

function sortPaths(paths: readonly Path[], fields: Fields): Path[] {
  const order = [...fields.keys()]
  const position = ([name = '']: Path) => order.indexOf(name)
  return paths.toSorted((one, other) => position(one) - position(other))
}
