// What each option of `defineCollection` must be at run time.
import { isFieldValue } from '../../errors.ts'
import {
  assertValid,
  BOOLEAN,
  either,
  FILLED_TEXT,
  FUNCTION,
  having,
  listOf,
  needed,
  OBJECT,
  oneOf,
  type Rule,
  type Rules,
  recordOf,
  TEXT,
  wholeFrom,
} from '../../options.ts'
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

const FIELDS = either('a field or a list of fields that is not empty', TEXT, listOf(TEXT, 1))

const NEEDED: readonly (keyof Store)[] = ['find', 'list', 'count', 'stream', 'write']
const METHODS = having('a store, such as memoryStore()', 'attach', ...NEEDED, 'close')

const STORE: Rule = {
  wanted: `${METHODS.wanted}, with pages: 'key' or 'offset' and idempotency: 'store', 'process' or 'none'`,
  fits(value) {
    const { pages, idempotency } = Object(value)
    return (
      METHODS.fits(value) &&
      oneOf('key', 'offset').fits(pages) &&
      oneOf('store', 'process', 'none').fits(idempotency)
    )
  },
}

const HEADER_VALUE: Rule = {
  wanted: 'a header value on one line',
  fits: value => FILLED_TEXT.fits(value) && isFieldValue(String(value)),
}

const VISIBLE: Rule = {
  wanted: "a function that gives filters, or { through: 'order_id' }",
  fits: value => FUNCTION.fits(value) || TEXT.fits(Object(value).through),
}

export const THROUGH_RULES: Rules<Through> = { through: needed(TEXT), and: FUNCTION }

const TIMESTAMPS: Rule = {
  wanted:
    "true, false, or the names of the dates, such as { created: 'createdAt', updated: false }",
  fits(value) {
    if (typeof value !== 'object') return BOOLEAN.fits(value)
    return Object.entries(value ?? { '': 0 }).every(
      ([name, date]) =>
        /^(?:created|updated)$/.test(name) &&
        (date === false || date === undefined || FILLED_TEXT.fits(date)),
    )
  },
}

export const COLLECTION_RULES: Rules<Declaration> = {
  name: needed(TEXT),
  schema: needed(SCHEMA),
  store: needed(STORE),
  itemName: TEXT,
  id: oneOf('uuid', 'integer'),
  idField: oneOf('id', 'identifier'),
  ordered: BOOLEAN,
  timestamps: TIMESTAMPS,
  checks: oneOf('all', 'changed'),
  sort: FIELDS,
  defaultLimit: wholeFrom(1),
  maxLimit: wholeFrom(1),
  indexes: listOf(FIELDS),
  unique: listOf(FIELDS),
  parents: recordOf(REFERENCE),
  references: recordOf(REFERENCE),
  relation: recordOf(REFERENCE),
  search: SEARCHED,
  groups: listOf(TEXT, 1),
  lease: TEXT,
  attempts: TEXT,
  operations: listOf(oneOf(...OPERATIONS, ...FILTER_OPERATIONS)),
  actions: OBJECT,
  hooks: OBJECT,
  putCreates: BOOLEAN,
  requirePrecondition: BOOLEAN,
  live: BOOLEAN,
  total: oneOf('exact', 'estimated', 'none'),
  cacheControl: HEADER_VALUE,
  access: OBJECT,
  visible: VISIBLE,
  fields: ROLES,
  owner: OWNER,
  hideExistence: BOOLEAN,
  description: TEXT,
  blobs: having('a blob store, such as fileBlobs(folder)', 'put', 'get', 'delete'),
  binary: oneOf('flat', 'object'),
}

export const ACTION_RULES: Rules<Action> = {
  on: needed(oneOf('collection', 'item')),
  method: oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
  input: SCHEMA,
  output: either(`${SCHEMA.wanted}, or "item"`, SCHEMA, oneOf('item')),
  description: TEXT,
  transaction: BOOLEAN,
  cookies: BOOLEAN,
  crossSite: BOOLEAN,
  run: FUNCTION,
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
