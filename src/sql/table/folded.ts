// Columns that keep texts folded, for searches. The name of each begins with the column whose text it is.

import { getValue, type Path, toPath } from '../../base/paths.ts'
import type { Item } from '../../base/values.ts'
import { type Field, findField, listPaths } from '../../schema/fields.ts'
import { foldText } from '../../store/search.ts'
import type { Shape } from '../../store/store.ts'
import type { FoldedText, SqlDatabase } from '../databases/database.ts'
import { sql } from '../databases/sql-text.ts'
import type { Column } from './columns.ts'

const PREFIX = 'rest_search_'

/** Whether a column keeps a folded text, by its name. */
export function isFolded(column: string): boolean {
  return column.startsWith(PREFIX)
}

/** Finds the column that a folded one is of. */
export function toFoldedText(column: string): FoldedText {
  return { column, source: column.slice(PREFIX.length).split('.')[0] ?? '' }
}

/**
 * Prints how a version ends whose writer has folded these texts. Columns are added and never removed: an earlier
 * release, and one that searches fewer fields, have another sign.
 */
export function printSign({ length }: readonly FoldedText[]): string {
  return length > 0 ? `~${length}` : ''
}

const TEXT: Field = { kind: 'string', nullable: true, optional: true }

/** Lists the columns for folded texts that a table with these columns may have: of all texts, whether searched or not. */
export function listFolded(
  shape: Shape,
  columns: readonly Column[],
  { longestName, types }: SqlDatabase,
): Column[] {
  return listPaths(shape.fields).flatMap(dotted => {
    const path = toPath(dotted)
    const [name = '', ...inner] = path
    const own = columns.find(each => each.name === name)
    // A native type has texts of one form, which no folding changes, unless they are any texts.
    const isOfOneForm = own?.native && !own.native.byText
    // What the database generates is not known at a write.
    if (!own || isOfOneForm || own.generated || findField(shape.fields, path)?.kind !== 'string')
      return []
    const column = PREFIX + [own.column, ...inner].join('.')
    const isNamed = !own.column.includes('.') && Buffer.byteLength(column) <= longestName
    if (!isNamed) return []
    const ref = sql.id(column)
    const made = types.text
    return {
      ...own,
      name: column,
      field: TEXT,
      column,
      type: 'text',
      native: undefined,
      made,
      ref,
      readable: ref,
      read: column,
      long: true,
      tellsNull: false,
      folds: path,
    }
  })
}

/** Folds the text at a path of an item. Null is for what is not folded yet, so that no text is an empty one. */
export function foldValue(item: Item, path: Path): string {
  const value = getValue(item, path)
  return typeof value === 'string' ? foldText(value) : ''
}
