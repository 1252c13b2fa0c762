// Errors of a database as those of stores, with the fields that they are about.

import {
  ReferenceConflictError,
  RefusedError,
  UniqueError,
  UnstorableError,
} from '../store/errors.ts'
import type { Table } from './open-table.ts'
import type { TableMapping } from './table/table-mapping.ts'

type Told = Pick<Table, 'mapping' | 'databaseMessages'>

/** Throws an error of the database as one of stores. No client reads words of it, unless the user wants them to. */
export function rethrow(error: unknown, table: Told | undefined): never {
  if (!table) throw error
  const { mapping, databaseMessages } = table
  const failure = mapping.database.failure(error)
  const cause = { cause: error }
  switch (failure?.kind) {
    case 'conflict':
      throw new ReferenceConflictError({
        ...cause,
        fields: mapping.findFields(undefined, failure.columns),
      })
    case 'refused':
      throw new RefusedError(failure.status, [], {
        ...cause,
        message: databaseMessages ? failure.message : undefined,
      })
    case 'unique':
    case 'excluded':
    case 'unstorable':
    case 'missing': {
      const { kind, index, columns } = failure
      const told = mapping.findFields(index, columns)
      const fields = told.length > 0 ? told : findByType(String(Object(error).message), mapping)
      if (kind === 'unique') throw new UniqueError(fields, cause)
      if (kind === 'excluded') throw new RefusedError(409, fields, cause)
      const [column] = columns ?? []
      // No client can fill a column in that is not in the schema.
      if (column !== undefined && fields.length === 0) throw adviseColumn(mapping, column, error)
      throw new UnstorableError(fields, { ...cause, missing: kind === 'missing' })
    }
    default:
      throw error
  }
}

/** Finds the only field of a type that an error names, as it does where the database cannot read a text. */
function findByType(message: string, { columns }: TableMapping): readonly string[] {
  const found = columns.filter(
    ({ native, made }) => native?.byText && message.includes(made.replace(/\(.*/, '')),
  )
  return found.length === 1 ? found.map(({ name }) => name) : []
}

/** Finds the table that an error of a commit is about. What triggers say is for clients only if all tables say so. */
export function findTable(error: unknown, tables: readonly Told[]): Told | undefined {
  const name = Object(error).table
  const named = tables.find(({ mapping }) => mapping.table.split('.').at(-1) === name) ?? tables[0]
  const databaseMessages = tables.every(each => each.databaseMessages)
  return named && { mapping: named.mapping, databaseMessages }
}

/** The error of a write to a table with a column that the schema lacks and that needs a value. */
function adviseColumn({ table }: TableMapping, column: string, cause: unknown): Error {
  return new Error(
    `The column "${column}" of ${table} needs a value, and is not in the schema: declare it, or give it a default`,
    { cause },
  )
}
