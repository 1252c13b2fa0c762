// What `serve` has found, of a file or of a database.
import type { AnyCollection } from '../../model/types/collection-types.ts'

export interface ServedSource {
  readonly collections: readonly AnyCollection[]
  /** What is not served, with the reason. */
  readonly leftOut: readonly string[]
  /** The names that are one object, and no list. */
  readonly singles: ReadonlySet<string>
  readonly isWritten: boolean
  close(): Promise<void>
}
