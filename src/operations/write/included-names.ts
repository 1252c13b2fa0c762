// What a GET included is no part of the item: a body that has it is told where it is written.

import { AnyHttpError, type AnyIssue } from '../../errors.ts'
import { printPath } from '../../model/compile/routes.ts'
import type { CollectionDefinition, RelationDefinition } from '../../model/types/definition.ts'
import type { OperationContext, Perform } from '../context.ts'

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
  const { relations, itemName, bodyFields } = context.target.collection
  const explainEntry = (entry: AnyIssue): AnyIssue => {
    // In an array the number of the item stands in front.
    const relation = relations.get(entry.field?.replace(/^\d+\./, '') ?? '')
    const isHidden = relation?.collection.hideExistence
    if (entry.type !== 'unknown_field' || !relation || isHidden) return entry
    // Who does not see the field that refers to it learns nothing of it.
    if (!relation.many && !bodyFields.has(relation.from)) return entry
    return { ...entry, message: describe(context, relation, itemName) }
  }
  const { status, errors, headers } = error
  return new AnyHttpError(status, errors.map(explainEntry), { headers, cause: error })
}

function describe(
  { target, api }: OperationContext,
  { name, many, collection, from }: RelationDefinition,
  itemName: string,
): string {
  const path = printPath({ kind: 'collection', version: target.version, collection }, api.formats)
  const what = `${name} is what a GET includes, and no part of a ${itemName}`
  return many
    ? `${what}. Write its items at ${path}, and leave it out here`
    : `${what}. Write it at ${path}, and name it here by ${from}`
}
