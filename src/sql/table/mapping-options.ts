// The options of `sqlStore` that say which table and columns hold a collection.
import { FILLED_TEXT, OBJECT, type Rules } from '../../options.ts'
import { listPaths } from '../../schema/fields.ts'
import type { Shape } from '../../store/store.ts'
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

/** @throws TypeError for fields that a table cannot hold. */
export function checkShape(shape: Shape): void {
  if (shape.open) {
    throw new TypeError(
      `${shape.name}: a table has no column for properties that its schema does not name. Use z.object() and a property such as extra: z.record(z.string(), z.json())`,
    )
  }
  // A path of SQLite has no escape for these characters.
  const nested = listPaths(shape.fields).filter(path => path.includes('.'))
  const unreachable = nested.find(path => /["\\\p{Cc}]/u.test(path))
  if (unreachable !== undefined) {
    throw new TypeError(
      `${shape.name}: a table cannot hold the property ${JSON.stringify(unreachable)}: rename it without quotes, backslashes and control characters`,
    )
  }
}
