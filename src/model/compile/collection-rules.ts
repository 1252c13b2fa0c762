// What each option of `defineCollection` must be at run time.
import { isFieldValue } from '../../errors.ts'
import * as rule from '../../options.ts'
import { assertValid, type Rule, type Rules } from '../../options.ts'
import type { Store } from '../../store/store.ts'
import type { Timestamps } from '../types/collection-options.ts'
import type { Action, Declaration, Through } from '../types/declaration.ts'
import { FILTER_OPERATIONS, OPERATIONS } from '../types/operation.ts'
import { OWNER, ROLES } from './compile-field-roles.ts'
import { REFERENCE } from './compile-references.ts'
import { SEARCHED } from './compile-search.ts'

/**
 * An older zod would lose values: before 4.4 a tuple whose items are awaited puts all in one place, and a
 * project that has one keeps it beside ours.
 */
const SCHEMA: Rule = {
  wanted: 'a schema of zod 4.6 or newer, such as z.object({ … })',
  fits(value) {
    const { major = 0, minor = 0 } = Object(Object(Object(value)._zod).version)
    return major > 4 || (major === 4 && minor >= 6)
  },
}

export const FIELDS = rule.either(
  'a field or a list of fields that is not empty',
  rule.TEXT,
  rule.listOf(rule.TEXT, 1),
)

const NEEDED: readonly (keyof Store)[] = ['find', 'list', 'count', 'stream', 'write']
const METHODS = rule.having(
  'a store, such as memoryStore() or sqlStore({ db })',
  'attach',
  ...NEEDED,
  'close',
)

const STORE: Rule = {
  wanted: `${METHODS.wanted} (one of your own declares pages: 'key' or 'offset' and idempotency: 'store', 'process' or 'none')`,
  fits(value) {
    const { pages, idempotency } = Object(value)
    return (
      METHODS.fits(value) &&
      rule.oneOf('key', 'offset').fits(pages) &&
      rule.oneOf('store', 'process', 'none').fits(idempotency)
    )
  },
}

const HEADER_VALUE: Rule = {
  wanted: 'a header value on one line',
  fits: value => rule.FILLED_TEXT.fits(value) && isFieldValue(String(value)),
}

const TOTAL: Rule = {
  wanted: '"exact", "estimated", "none" or { exactUpTo: 100_000 }',
  fits(value) {
    if (typeof value !== 'object') return rule.oneOf('exact', 'estimated', 'none').fits(value)
    const [entry, ...others] = Object.entries(value ?? {})
    return entry?.[0] === 'exactUpTo' && rule.wholeFrom(1).fits(entry[1]) && others.length === 0
  },
}

const VISIBLE: Rule = {
  wanted: "a function that gives filters, or { through: 'order_id' }",
  fits: value => rule.FUNCTION.fits(value) || rule.TEXT.fits(Object(value).through),
}

export const THROUGH_RULES: Rules<Through> = { through: rule.needed(rule.TEXT), and: rule.FUNCTION }

const TIMESTAMPS: Rule = {
  wanted:
    "true, false, or the names of the dates, such as { created: 'createdAt', updated: false }",
  fits(value) {
    if (typeof value !== 'object') return rule.BOOLEAN.fits(value)
    return Object.entries(value ?? { '': 0 }).every(
      ([name, date]) =>
        /^(?:created|updated)$/.test(name) &&
        (date === false || date === undefined || rule.FILLED_TEXT.fits(date)),
    )
  },
}

const FIELD_NAMES = rule.listOf(rule.TEXT)
const ID: Rule = {
  wanted:
    '"uuid", "integer", or the two references of a link table, such as ["post_id", "tag_id"] (other keys need a view with one id)',
  fits: value =>
    /^(?:uuid|integer)$/.test(String(value)) ||
    (FIELD_NAMES.fits(value) && Object(value).length === 2),
}

export const COLLECTION_RULES: Rules<Declaration> = {
  name: rule.needed(rule.TEXT),
  schema: rule.needed(SCHEMA),
  store: rule.needed(STORE),
  itemName: rule.TEXT,
  id: ID,
  idField: rule.oneOf('id', 'identifier'),
  ordered: rule.BOOLEAN,
  timestamps: TIMESTAMPS,
  checks: rule.oneOf('all', 'changed'),
  sort: FIELDS,
  defaultLimit: rule.wholeFrom(1),
  maxLimit: rule.wholeFrom(1),
  indexes: rule.listOf(FIELDS),
  unique: rule.listOf(
    rule.either(
      'a field such as "color", a list of fields that are unique together such as ["color", "price"], or { fields, where }',
      FIELDS,
      rule.OBJECT,
    ),
  ),
  parents: rule.recordOf(REFERENCE),
  references: rule.recordOf(REFERENCE),
  relation: rule.recordOf(REFERENCE),
  search: SEARCHED,
  groups: rule.listOf(rule.TEXT, 1),
  lease: rule.TEXT,
  attempts: rule.TEXT,
  trash: rule.either('a field, or { date, deletion }', rule.TEXT, rule.OBJECT),
  operations: rule.listOf(rule.oneOf(...OPERATIONS, ...FILTER_OPERATIONS)),
  actions: rule.OBJECT,
  hooks: rule.OBJECT,
  putCreates: rule.BOOLEAN,
  requirePrecondition: rule.BOOLEAN,
  live: rule.BOOLEAN,
  total: TOTAL,
  cacheControl: HEADER_VALUE,
  access: rule.OBJECT,
  visible: VISIBLE,
  fields: ROLES,
  owner: OWNER,
  hideExistence: rule.BOOLEAN,
  description: rule.TEXT,
  blobs: rule.having('a blob store, such as fileBlobs(folder)', 'put', 'get', 'delete'),
  binary: rule.oneOf('flat', 'object'),
}

export const ACTION_RULES: Rules<Action> = {
  on: rule.needed(rule.oneOf('collection', 'item')),
  method: rule.oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
  input: SCHEMA,
  output: rule.either(`${SCHEMA.wanted}, or "item"`, SCHEMA, rule.oneOf('item')),
  description: rule.TEXT,
  transaction: rule.BOOLEAN,
  cookies: rule.BOOLEAN,
  crossSite: rule.BOOLEAN,
  run: rule.FUNCTION,
}

const BOTH: Timestamps = { created: 'created_at', updated: 'updated_at' }

/** Finds the names of the dates that the server sets. @throws TypeError for two of one name, or that of the id. */
export function readTimestamps(
  declared: boolean | Timestamps,
  collection: string,
  id: string,
): Timestamps {
  if (typeof declared !== 'object') return declared ? BOTH : {}
  const { created, updated } = declared
  const isDoubled = created && created === updated
  assertValid(
    !isDoubled && created !== id && updated !== id,
    `${collection}: timestamps need names of their own, not ${created} and ${updated}. Choose other names`,
  )
  return declared
}
