// The collections that `serve` found in a file or a database.
import type { AnyCollection } from '../../model/types/collection-types.ts'

export interface ServedSource {
  readonly collections: readonly AnyCollection[]
  /** One line for each list, table or column that is not served, with the reason. */
  readonly leftOut: readonly string[]
  /** The names of single objects, which are not lists. */
  readonly singles: ReadonlySet<string>
  close(): Promise<void>
}
