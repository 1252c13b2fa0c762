// Builds the shape of a collection, which its store gets: fields, ids, dates and unique sets.

import { assertValid } from '../../options.ts'
import type { Field } from '../../schema/fields.ts'
import { buildField, fieldsOf } from '../../schema/zod-fields.ts'
import { invalidSortReason } from '../../store/sort.ts'
import type { Shape } from '../../store/store.ts'
import { readTimestamps } from './collection-rules.ts'
import { buildIdentity } from './compile-identity.ts'
import { readSearchOption } from './compile-search.ts'
import { type ExpandedDeclaration, uniquesOutside } from './compile-trash.ts'
import { compileUnique } from './compile-unique.ts'
import { requireField } from './require-field.ts'

const DATE_TIME: Field = { kind: 'date-time', nullable: false, optional: false, serverOwned: true }

/** Builds the shape of a collection, and its unique sets that hold among all items. */
export function buildShape(options: ExpandedDeclaration) {
  const { name, schema, idField = 'id', timestamps = true } = options
  const own = fieldsOf(schema, 'output')
  const chosen = fieldsOf(schema, 'input').get(idField)
  const identity = buildIdentity(options, chosen, own)
  const id: Field = {
    kind: identity.kind === 'integer' ? 'integer' : 'string',
    nullable: false,
    optional: false,
    ...(identity.kind === 'uuid' && { uuid: true }),
    ...(!chosen && { serverOwned: true }),
  }
  const fields = new Map<string, Field>([[idField, id]])
  const { created, updated } = readTimestamps(timestamps, name, idField)
  for (const [property, field] of own) {
    if (property !== idField) fields.set(property, field)
    assertValid(
      property !== created && property !== updated,
      `${name}: ${property} is set by the server; leave it out of the schema, or say timestamps: false`,
    )
  }
  for (const date of [created, updated]) if (date) fields.set(date, DATE_TIME)
  const { parents, references, relation, unique = [], indexes = [], lease, trash } = options
  const searched = readSearchOption(options)
  const roles = Object.entries(options.fields ?? {})
  const named = (role: string) => roles.flatMap(([name, each]) => (each === role ? [name] : []))
  const [readOnly, writeOnly] = [named('readOnly'), named('writeOnly')]
  const toSets = (option: string, sets: readonly (string | readonly string[])[]) =>
    sets.map(set => {
      const paths = typeof set === 'string' ? [set] : set
      for (const dotted of paths) {
        const reason = invalidSortReason(requireField(name, fields, option, dotted))
        assertValid(!reason, `${name}: "${dotted}" ${reason} and cannot be indexed`)
      }
      return paths
    })
  const sets = compileUnique(name, fields, unique, set => toSets('unique', [set])[0] ?? [])
  const pair = Object.keys(relation ?? {})
  const isKey = identity.parts?.every(part => pair.includes(part))
  const keys = [
    ...toSets('id', identity.parts ? [identity.parts] : []),
    ...toSets('relation', pair.length > 0 && !isKey ? [pair] : []),
    ...sets.unique,
  ]
  const partial = trash ? uniquesOutside(trash, keys, sets.partial) : sets.partial
  const shape: Shape = {
    name,
    fields,
    identity,
    unique: trash ? [] : keys,
    ...(partial.length > 0 && { partial }),
    indexes: [
      ...toSets('parents', Object.keys({ ...parents, ...relation })),
      ...toSets('references', Object.keys(references ?? {})),
      ...toSets('indexes', indexes),
      ...toSets('lease', lease === undefined ? [] : [lease]),
    ],
    ...(created && { createdAt: created }),
    ...(updated && { updatedAt: updated }),
    ...(buildField(schema, 'output').open && { open: true }),
    ...(searched?.fold && { search: searched.fields }),
    ...(trash && { trash: trash.date }),
    ...(readOnly.length > 0 && { readOnly }),
    ...(writeOnly.length > 0 && { writeOnly }),
  }
  return { shape: Object.freeze(shape), keys }
}
