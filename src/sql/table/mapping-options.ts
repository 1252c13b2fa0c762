// The options of `sqlStore` that say which table and columns hold a collection.
import { FILLED_TEXT, OBJECT, type Rules } from '../../options.ts'
import type { ColumnOptions } from './columns.ts'

/** Which table and columns hold a collection. */
export interface TableMappingOptions {
  /** Default: the collection's name. */
  readonly table?: string | undefined
  /**
   * By field name: the column's name, or its options; `'jsonb'`, `'timestamptz(3)'` and `'numeric(12,2)'` ask for a new
   * column of that type. For a column with such a name, write `{ name: 'jsonb' }`.
   */
  readonly columns?: Readonly<Record<string, string | ColumnOptions>> | undefined
  /** The column of the version; false where the table has none. Default: `version`. */
  readonly version?: string | false | undefined
}

export const TABLE_MAPPING_RULES: Rules<TableMappingOptions> = {
  table: FILLED_TEXT,
  columns: OBJECT,
  version: {
    wanted: 'the name of a column, or false',
    fits: value => value === false || FILLED_TEXT.fits(value),
  },
}
