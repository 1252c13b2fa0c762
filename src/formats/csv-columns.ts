// The columns of a table: one for each dotted path.

import type { Path } from '../base/paths.ts'
import type { Field, Fields, Kind } from '../schema/fields.ts'

export interface CsvColumn {
  readonly path: Path
  /** Whether all values, texts too, are printed as JSON. */
  readonly json: boolean
  /** Absent where no field is known. */
  readonly kind?: Kind
}

/** Lists the columns of fields: those of an object have its name in front. */
export function listColumns(fields: Fields, parents: Path = []): CsvColumn[] {
  return [...fields].flatMap(([name, field]) => {
    const path = [...parents, name]
    const inner = findInner(field)
    if (inner) return listColumns(inner, path)
    const { kind } = field
    return [{ path, kind, json: /^(?:array|record|union|object)$/.test(kind) }]
  })
}

/** Finds the fields of an object whose properties have columns of their own; `undefined` for other values. */
export function findInner({ kind, properties, open }: Field): Fields | undefined {
  return kind === 'object' && properties?.size && !open ? properties : undefined
}
