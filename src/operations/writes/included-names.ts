// What a GET included is no part of the item: a body that has it is told where it is written.

import { AnyHttpError, type AnyIssue } from '../../errors.ts'
import { printPath } from '../../model/compile/routes.ts'
import type { CollectionDefinition, RelationDefinition } from '../../model/types/definition.ts'
import { isKnown } from '../calls/authorize.ts'
import type { OperationContext, Perform } from '../calls/context.ts'

/** Does a write, and says of an unknown property that is a relation what it is. */
export function withIncludedNames(collection: CollectionDefinition, perform: Perform): Perform {
  if (collection.relations.size === 0) return perform
  return context => {
    try {
      const result = perform(context)
      if (!(result instanceof Promise)) return result
      return result.catch(error => {
        throw explain(context, error)
      })
    } catch (error) {
      throw explain(context, error)
    }
  }
}

function explain(context: OperationContext, error: unknown): unknown {
  if (!(error instanceof AnyHttpError) || error.status !== 400) return error
  const { relations, bodyFields } = context.target.collection
  /** The relation that an issue names, unless the client may not know of it. */
  const findNamed = ({ field, type }: AnyIssue): RelationDefinition | undefined => {
    // In an array the number of the item stands in front.
    const relation = relations.get(field?.replace(/^\d+\./, '') ?? '')
    if (type !== 'unknown_field' || !relation || !isKnown(context, relation.collection))
      return undefined
    return relation.many || bodyFields.has(relation.from) ? relation : undefined
  }
  const { status, errors, headers } = error
  if (!errors.some(findNamed)) return error
  const explained = errors.map(entry => {
    const relation = findNamed(entry)
    return relation ? { ...entry, message: describe(context, relation) } : entry
  })
  return new AnyHttpError(status, explained, { headers, cause: error })
}

function describe(
  { target, api }: OperationContext,
  { name, many, collection, from }: RelationDefinition,
): string {
  const path = printPath({ kind: 'collection', version: target.version, collection }, api.formats)
  const what = `${name} is what a GET includes, and no part of a ${target.collection.itemName}`
  return many
    ? `${what}. Write its items at ${path}, and leave it out here`
    : `${what}. Write it at ${path}, and name it here by ${from}`
}
