// How the items of a collection are identified: by an id that the store or a client chooses, or by two references.

import { assertValid } from '../../options.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import type { Identity } from '../../store/store.ts'
import type { Declaration } from '../types/declaration.ts'

/**
 * Builds the identity of a collection.
 * @param chosen the property of the id, if clients choose it.
 * @throws TypeError for options that cannot be combined.
 */
export function buildIdentity(
  options: Declaration,
  chosen: Field | undefined,
  fields: Fields,
): Identity {
  const { name, id = 'uuid', idField = 'id', ordered } = options
  assertValid(
    !chosen || chosen.kind === 'string',
    `${name}: an id that clients choose must be a string, not of the type ${chosen?.kind}; for counted ids leave it out and say id: 'integer'`,
  )
  assertValid(
    !chosen || id === 'uuid',
    `${name}: with a string property "${idField}" clients choose ids; leave it out, or leave out id: ${typeof id === 'string' ? `'${id}'` : JSON.stringify(id)}`,
  )
  assertValid(
    ordered !== false || id !== 'integer',
    `${name}: ordered: false needs ids that need no counting; leave out id: 'integer'`,
  )
  if (typeof id !== 'string') {
    checkParts(id, options, fields)
    return { name: idField, kind: 'text', ordered: false, parts: id }
  }
  return {
    name: idField,
    kind: chosen ? 'text' : id,
    ...(ordered === false && { ordered: false }),
  }
}

/** Checks the two references that are the id, as in a link table. @throws TypeError */
function checkParts(
  parts: readonly string[],
  { name, parents, references, relation, fields: roles = {}, lease, live }: Declaration,
  fields: Fields,
): void {
  for (const part of parts) {
    const { optional = false, nullable = false } = fields.get(part) ?? {}
    assertValid(
      Object.hasOwn({ ...parents, ...references, ...relation }, part),
      `${name}: "${part}" is a part of the id, so it must be a reference. Declare it in references, or give the table one column for an id`,
    )
    assertValid(
      !optional && !nullable && (!Object.hasOwn(roles, part) || roles[part] === 'immutable'),
      `${name}: "${part}" is a part of the id, so it is required, and readable and immutable for everybody. Leave out .optional(), .nullable() and its role in fields`,
    )
  }
  assertValid(
    parts[0] !== parts[1] && lease === undefined && !live,
    `${name}: an id of two fields needs different ones, and takes neither lease nor live. Leave these out, or give the table one column for an id`,
  )
}
