// Finds the fields that a declaration names.

import { toPath } from '../../base/paths.ts'
import { listNames, suggestion } from '../../errors.ts'
import { type Field, type Fields, findField, listPaths } from '../../schema/fields.ts'

/** Finds the field that an option names. @throws TypeError where there is none. */
export function requireField(name: string, fields: Fields, option: string, dotted: string): Field {
  const field = findField(fields, toPath(dotted))
  if (field) return field
  const hint = /^(?:parents|references|relation)$/.test(option)
    ? `; it takes { <a field of ${name}>: '<a collection>' }. Add the field to the schema of ${name}`
    : suggestion(dotted, listPaths(fields)) || listNames(listPaths(fields))
  throw new TypeError(`${name}: ${option} names no field: "${dotted}"${hint}`)
}
