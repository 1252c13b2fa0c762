// The search of a collection: the option `search`.

import { type Path, toPath } from '../../base/paths.ts'
import * as rule from '../../options.ts'
import { assertValid, checkOptions, type Rules } from '../../options.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import type { Declaration } from '../types/declaration.ts'
import type { SearchOptions } from '../types/search.ts'
import { requireField } from './require-field.ts'

const FIELDS = rule.listOf(rule.TEXT, 1)

export const SEARCHED = rule.either(
  "a list of fields, or { fields: ['name'], fold: false }",
  FIELDS,
  rule.OBJECT,
)

const RULES: Rules<SearchOptions> = { fields: rule.needed(FIELDS), fold: rule.BOOLEAN }

/** Reads the option; `undefined` where there is no search. @throws TypeError */
export function readSearchOption({
  name,
  search,
}: Declaration): Required<SearchOptions> | undefined {
  if (search === undefined) return undefined
  if (isList(search)) return { fields: search, fold: true }
  checkOptions(`${name}, search`, search, RULES)
  return { fields: search.fields, fold: search.fold ?? true }
}

function isList(search: readonly string[] | SearchOptions): search is readonly string[] {
  return Array.isArray(search)
}

/** Compiles the fields of a search to paths. @throws TypeError for a field without texts. */
export function compileSearch(
  { name }: Declaration,
  options: SearchOptions | undefined,
  fields: Fields,
): readonly Path[] | undefined {
  return options?.fields.map(dotted => {
    const isText = holdsText(requireField(name, fields, 'search', dotted))
    assertValid(isText, `${name}: search needs fields that are strings; "${dotted}" is not`)
    return toPath(dotted)
  })
}

/** Whether a search finds anything in a field. */
function holdsText({ kind }: Field): boolean {
  return kind === 'string' || kind === 'date' || kind === 'date-time'
}
