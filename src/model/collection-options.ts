// What `defineCollection` takes, and what each option must be.
import type { Access } from '../auth/access.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { isFieldValue } from '../errors.ts'
import {
  BOOLEAN,
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
} from '../options.ts'
import type { BinaryForm } from '../schema/blob-forms.ts'
import type { SomeSchema } from '../schema/zod-fields.ts'
import type { Store, TotalMode } from '../store/store.ts'
import {
  type Action,
  type Hooks,
  type MadeIds,
  OPERATIONS,
  type Operation,
  type RowRule,
} from './definition.ts'
import { type FieldRole, OWNER, type OwnerOptions, ROLES } from './field-roles.ts'

export interface CollectionOptions<
  S extends SomeSchema = SomeSchema,
  Ids extends keyof MadeIds = keyof MadeIds,
> {
  /** A plural noun: the path segment, the range unit, the table. Letters, digits, `_` and `-`. */
  readonly name: string
  /** An object schema without the properties that the server adds. With a text property for the id, clients choose ids. */
  readonly schema: S
  /** Of this collection alone; versions of the same collection may share it. */
  readonly store: Store
  /** What one item is called. Default: the name without its plural ending. */
  readonly itemName?: string | undefined
  /** What ids the store makes: UUIDv7 (default) or whole numbers from 1. */
  readonly id?: Ids | undefined
  /** The name of the identifying property. Default `id`. */
  readonly idField?: 'id' | 'identifier' | undefined
  /** Whether items have `created_at` and `updated_at`. Default true. */
  readonly timestamps?: boolean | undefined
  /** The order where a request does not say, such as `-created_at`. Default: creation, oldest first. */
  readonly sort?: string | undefined
  /** Items of a page where a request does not say; 25. */
  readonly defaultLimit?: number | undefined
  /** The most items of a page; 100. */
  readonly maxLimit?: number | undefined
  /** Fields, or sets of fields, that lists often filter or sort by. */
  readonly indexes?: readonly (string | readonly string[])[] | undefined
  /** Fields, or sets of fields, in which no two items may be equal. Of two broken at once one is told; which, differs by store. */
  readonly unique?: readonly (string | readonly string[])[] | undefined
  /** Fields that name an item of another collection: `{ car_id: 'cars' }` serves `/cars/<id>/<name>` too. */
  readonly parents?: Readonly<Record<string, string>> | undefined
  /** The same for a relation between two collections: exactly two fields, unique as a pair. */
  readonly relation?: Readonly<Record<string, string>> | undefined
  /** Text fields that `GET /<name>/search?q=` looks through. Default: no search. */
  readonly search?: readonly string[] | undefined
  /** What may be done. Default: everything. */
  readonly operations?: readonly Operation[] | undefined
  /** Verbs besides the operations, by names of their own: `buy` of an item is `POST /<name>/<id>/buy`. Default none. */
  readonly actions?: Readonly<Record<string, Action>> | undefined
  /** Functions around every operation and action. Default none. */
  readonly hooks?: Hooks | undefined
  /** Whether PUT to an id that does not exist creates it; needs ids chosen by clients. Default false. */
  readonly putCreates?: boolean | undefined
  /** Whether changes need `If-Match` or `If-Unmodified-Since`; 428 without. Default false. */
  readonly requirePrecondition?: boolean | undefined
  /** How lists are counted where a request does not say. Default `exact`. */
  readonly total?: TotalMode | undefined
  /**
   * `Cache-Control` of reads. With credentials it is `private` besides, and `public` and `s-maxage` are left
   * out. Default `no-cache, max-age=0`.
   */
  readonly cacheControl?: string | undefined
  /**
   * Who may do what, by operation or action, where the api has `schemes`: `{ list: 'public', create: ['cars:write'] }`.
   * Default: every principal may do everything.
   */
  readonly access?: Access | undefined
  /**
   * Which items a principal sees: all else does not exist for it, in lists, counts, reads, writes,
   * sub-collections, actions and downloads alike. A set of `unique` fields should hold the field that
   * the rule goes by: otherwise a refusal tells that somebody has the same values.
   */
  readonly visible?: RowRule | undefined
  /**
   * What properties are besides their schema, by name: `{ views: 'readOnly', password: 'writeOnly',
   * sku: 'immutable' }`. Properties of the item itself only. Default none.
   */
  readonly fields?: Readonly<Record<string, FieldRole>> | undefined
  /**
   * The property that holds who created an item: the principal's id, read-only. Only the owner replaces,
   * patches and deletes it: 403, or 404 with `hideExistence`; `except` names scopes that may too. A create
   * over HTTP needs a principal: 401. In process a program may name the owner, and without a principal
   * changes everything. Actions decide themselves. Who may see items is said by `visible`. Default none.
   */
  readonly owner?: string | OwnerOptions | undefined
  /** Whether 404 is answered where a principal may not do something, rather than 403. Default false. */
  readonly hideExistence?: boolean | undefined
  /** What it is, for people: in what OPTIONS answers, and on pages. Default none. */
  readonly description?: string | undefined
  /** Where the contents of `blob()` properties live. Needed where the schema has any. */
  readonly blobs?: BlobStore | undefined
  /** How binary properties are given: `flat` (`photo_url`, the default) or `object` (`photo: { url, updated_at }`). */
  readonly binary?: BinaryForm | undefined
}

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

/** Fields, or sets of them: a set of none would hold for every item. */
const SETS = listOf({
  wanted: 'a field or a list of fields that is not empty',
  fits: value => TEXT.fits(value) || listOf(TEXT, 1).fits(value),
})

const STORE_METHODS: readonly (keyof Store)[] = [
  'attach',
  'get',
  'list',
  'count',
  'stream',
  'create',
  'update',
  'delete',
  'close',
]

const METHODS = having('a store, such as memoryStore()', ...STORE_METHODS)

const STORE: Rule = {
  wanted: `${METHODS.wanted}, with pages: 'key' or 'offset' and idempotency: 'store', 'process' or 'none'`,
  fits(value) {
    const { pages, idempotency } = Object(value)
    return (
      METHODS.fits(value) &&
      /^(?:key|offset)$/.test(pages) &&
      /^(?:store|process|none)$/.test(idempotency)
    )
  },
}

const HEADER_VALUE: Rule = {
  wanted: 'a header value on one line',
  fits: value => typeof value === 'string' && value !== '' && isFieldValue(value),
}

export const COLLECTION_RULES: Rules<CollectionOptions> = {
  name: needed(TEXT),
  schema: needed(SCHEMA),
  store: needed(STORE),
  itemName: TEXT,
  id: oneOf('uuid', 'integer'),
  idField: oneOf('id', 'identifier'),
  timestamps: BOOLEAN,
  sort: TEXT,
  defaultLimit: wholeFrom(1),
  maxLimit: wholeFrom(1),
  indexes: SETS,
  unique: SETS,
  parents: recordOf(TEXT),
  relation: recordOf(TEXT),
  search: listOf(TEXT, 1),
  operations: listOf(oneOf(...OPERATIONS)),
  actions: OBJECT,
  hooks: OBJECT,
  putCreates: BOOLEAN,
  requirePrecondition: BOOLEAN,
  total: oneOf('exact', 'estimated', 'none'),
  cacheControl: HEADER_VALUE,
  access: OBJECT,
  visible: FUNCTION,
  fields: ROLES,
  owner: OWNER,
  hideExistence: BOOLEAN,
  description: TEXT,
  blobs: having('a blob store, such as fileBlobs(folder)', 'put', 'get', 'delete'),
  binary: oneOf('flat', 'object'),
}

export const HOOK_RULES: Rules<Hooks> = { before: FUNCTION, after: FUNCTION, error: FUNCTION }

export const ACTION_RULES: Rules<Action> = {
  on: needed(oneOf('collection', 'item')),
  method: oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
  input: SCHEMA,
  output: SCHEMA,
  description: TEXT,
  run: needed(FUNCTION),
}
