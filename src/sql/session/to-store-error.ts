// Errors of drivers that concern the connection or the whole database, as errors of stores.
import { DiskFullError, ReadOnlyError, UnavailableError } from '../../store/errors.ts'
import type { SqlDatabase } from '../databases/database.ts'

/** Why a call is unavailable, by the kind of the failure. */
const REASONS: Readonly<Record<string, string>> = {
  unavailable: 'The database cannot be reached',
  again: 'The database is busy with other writes',
  locked: 'A lock was not free in time',
  cancelled: 'The database took too long',
}

export function toStoreError(error: unknown, database: SqlDatabase): unknown {
  const kind = database.failure(error)?.kind ?? ''
  if (kind === 'full') return new DiskFullError({ cause: error })
  if (kind === 'read-only') return new ReadOnlyError({ cause: error })
  const reason = REASONS[kind]
  return reason === undefined ? error : new UnavailableError(reason, { cause: error })
}
