// The trash of a collection. A deletion sets the date of an item and keeps it in the store. The items outside of the trash,
// the items in it, and all items are three parts of that store, and operations see each part as a separate store. So other
// code does not check the date.

import { memoize } from '../../base/memoize.ts'
import { type Item, omit } from '../../base/values.ts'
import { suggestion } from '../../errors.ts'
import { assertValid, checkOptions, needed, type Rules, TEXT } from '../../options.ts'
import { listBlobFields } from '../../schema/blob.ts'
import type { Fields } from '../../schema/fields.ts'
import type { Filter, ValueFilter } from '../../store/filter.ts'
import type { KeyedStore } from '../../store/keyed-store.ts'
import type { PartialSet, Shape } from '../../store/store.ts'
import { narrowStore, toValues } from '../../store/store-part.ts'
import type { TrashOptions } from '../types/collection-options.ts'
import type { Declaration } from '../types/declaration.ts'
import type { ActionDefinition, Child, CollectionDefinition } from '../types/definition.ts'
import { emptyValue } from './compile-field-roles.ts'
import { toWhole } from './compile-views.ts'

/** The path segment of the trash, and the action that takes an item out of it. */
export const TRASH = 'trash'
export const RESTORE = 'restore'

const RULES: Rules<TrashOptions> = { date: needed(TEXT), deletion: TEXT }

/** The part of a store that operations of a collection see. */
export type Reach = Pick<CollectionDefinition, 'items' | 'bind' | 'rows'>

const NO_ROWS: readonly Filter[] = []
const asItIs = (store: KeyedStore) => store

/** All items of a store. */
export function reachAll(store: KeyedStore): Reach {
  return { items: store, bind: asItIs, rows: NO_ROWS }
}

/** A declaration whose trash is an object. */
export type ExpandedDeclaration = Omit<Declaration, 'trash'> & {
  readonly trash?: TrashOptions | undefined
}

/** Reads the option `trash`, and makes its properties read-only. */
export function expandTrash(options: Declaration): ExpandedDeclaration {
  const { name, trash: declared, fields = {} } = options
  if (declared === undefined) return { ...options, trash: undefined }
  const trash = typeof declared === 'string' ? { date: declared } : declared
  checkOptions(`${name}: trash`, trash, RULES)
  const names = [trash.date, ...(trash.deletion === undefined ? [] : [trash.deletion])]
  const own = names.find(each => Object.hasOwn(fields, each) && fields[each] !== 'readOnly')
  assertValid(
    own === undefined,
    `${name}: "${own}" is read-only as a property of trash. Leave it out of fields`,
  )
  const roles = Object.fromEntries(names.map(each => [each, 'readOnly'] as const))
  return { ...options, trash, fields: { ...fields, ...roles } }
}

/** The filter of items that are not in the trash. */
export function outside({ date }: TrashOptions): ValueFilter {
  return { path: [date], operator: 'exists', values: [false] }
}

/**
 * Compiles the trash of a collection; `undefined` without one.
 * @throws TypeError for properties that cannot hold the date or the deletion, and for options that exclude a trash.
 */
export function compileTrash(
  { name, trash, lease, actions = {} }: ExpandedDeclaration,
  { fields, identity }: Shape,
): TrashOptions | undefined {
  if (!trash) return undefined
  const { date, deletion } = trash
  assertValid(
    !identity.parts,
    `${name}: a link table cannot have a trash: its references are its id. Leave trash out`,
  )
  requireDeletionField(name, fields, date, 'date-time')
  if (deletion !== undefined) requireDeletionField(name, fields, deletion, 'string')
  assertValid(
    lease === undefined,
    `${name}: lease cannot be combined with trash. A job that is done deletes its item: leave trash out`,
  )
  const taken = [TRASH, RESTORE].find(each => Object.hasOwn(actions, each))
  assertValid(
    taken === undefined,
    `${name}: with trash an action may not be called "${taken}". Rename the action`,
  )
  const blob = listBlobFields(fields).find(each => each === RESTORE)
  assertValid(!blob, `${name}: with trash no file may be called "${RESTORE}". Rename the property`)
  return trash
}

function requireDeletionField(
  name: string,
  fields: Fields,
  property: string,
  kind: 'date-time' | 'string',
): void {
  const type = kind === 'string' ? 'z.string()' : 'z.iso.datetime()'
  const fits = [...fields].flatMap(([each, field]) =>
    field.kind === kind && field.optional !== field.nullable ? [each] : [],
  )
  const hint =
    suggestion(property, fits) ||
    `. Declare ${property}: ${type}.optional(), or .nullable().default(null)`
  assertValid(
    fits.includes(property),
    `${name}: trash must name a ${kind} that is either optional or null, not "${property}"${hint}`,
  )
}

/** The unique sets of items outside of the trash: new items can use the values of deleted ones. */
export function uniquesOutside(
  trash: TrashOptions,
  keys: readonly (readonly string[])[],
  partial: readonly PartialSet[],
): PartialSet[] {
  const sets = [...keys.map(fields => ({ fields, where: [] })), ...partial]
  return sets.map(({ fields, where }) => ({ fields, where: [outside(trash), ...where] }))
}

/** The part outside of the trash. A deletion sets the date instead of removing the item. */
export function reachOutside(
  name: string,
  store: KeyedStore,
  trash: TrashOptions,
  shape: Shape,
): Reach {
  const { date, deletion } = trash
  const softDelete = (item: Item, by: string) => ({
    ...toValues({ item }, shape),
    [date]: new Date().toISOString(),
    ...(deletion !== undefined && { [deletion]: by }),
  })
  const refuse = () => {
    throw new TypeError(
      `${name}: ${date} is set by delete() and removed by trash.restore(): another write would skip their hooks. Leave it out`,
    )
  }
  const rows = [outside(trash)]
  const bind = (each: KeyedStore) => narrowStore(each, shape, rows, { softDelete, refuse })
  return { items: bind(store), bind, rows }
}

/** Returns the values of an item without the date and the id of its deletion. */
export function withoutDeletion(
  item: Item,
  { date, deletion = date }: TrashOptions,
  shape: Shape,
): Item {
  const values = omit(toValues({ item }, shape), new Set([date, deletion]))
  for (const name of [date, deletion]) {
    const field = shape.fields.get(name)
    const empty = field && emptyValue(field)
    if (empty !== undefined) values[name] = empty
  }
  return values
}

const RESTORING: ActionDefinition = {
  name: RESTORE,
  on: 'item',
  method: 'POST',
  input: undefined,
  inputFields: undefined,
  check: undefined,
  output: undefined,
  outputFields: undefined,
  givesItem: true,
  description: 'Takes the item out of the trash',
  transaction: true,
  cookies: false,
  crossSite: false,
  run: undefined,
}

/** The trash of a collection as collections. */
export interface TrashParts extends TrashOptions {
  /** The items in the trash. */
  readonly deleted: CollectionDefinition
  /** The items in the trash and outside of it. */
  readonly whole: CollectionDefinition
  /** The references that a permanent deletion must check. {@link linkTrash} fills it. */
  readonly below: Child[]
}

/** Finds the trash of a collection; `undefined` without one, and for the trash itself. */
export function findTrash(collection: CollectionDefinition): TrashParts | undefined {
  const { trash } = collection
  return trash && buildTrash(toWhole(collection))
}

/** Kept as long as the definition: an api asks for it at each request of a trash. */
const buildTrash = memoize((collection: CollectionDefinition): TrashParts => {
  const { name, shape, store, access, hooks, operations, trash = { date: '' } } = collection
  const rows: readonly Filter[] = [{ ...outside(trash), values: [true] }]
  const bind = (each: KeyedStore) => narrowStore(each, shape, rows)
  // A principal that may delete may see deleted items, unless the rule `trash` differs.
  const rule = access[TRASH] ?? access.delete ?? access.default
  const forReads = <Hook>(all: ReadonlyMap<string, Hook>) =>
    new Map([...all].filter(([operation]) => READS.has(operation)))
  const below: Child[] = []
  const base = {
    ...{ ...collection, trashOf: collection, trash: undefined },
    ...{ children: below, live: false, keys: [] },
  }
  const deleted: CollectionDefinition = Object.freeze({
    ...base,
    ...{ items: bind(store), bind, rows },
    path: `${name}/${TRASH}`,
    operations: new Set(OPERATIONS.filter(each => each === 'list' || operations.has(each))),
    actions: new Map([[RESTORE, RESTORING]]),
    hooks: {
      ...{ before: forReads(hooks.before), after: forReads(hooks.after), error: hooks.error },
      transaction: false,
    },
    access: rule ? { default: rule } : {},
    parents: new Map(),
    search: undefined,
    groups: new Map(),
    putCreates: false,
  })
  return { ...trash, deleted, whole: Object.freeze({ ...base, ...reachAll(store) }), below }
})

/** Operations that the trash has, if the collection has them. */
const OPERATIONS = ['list', 'count', 'read', 'delete'] as const
const READS: ReadonlySet<string> = new Set(['list', 'read', 'count', 'download'])

/**
 * Sets which items a deletion must check or delete too. A permanent deletion reaches all items that refer to it, also those
 * in a trash. A deletion into the trash reaches only items outside of one.
 * @param children the references to each collection. For a collection without a trash they are replaced.
 * @throws TypeError for a cascade that could not be restored.
 */
export function linkTrash(children: ReadonlyMap<CollectionDefinition, Child[]>): void {
  for (const [own, list] of children) {
    const all = list.map(child => ({
      ...child,
      collection: findTrash(child.collection)?.whole ?? child.collection,
    }))
    const trash = findTrash(own)
    if (!trash) {
      list.splice(0, list.length, ...all)
      continue
    }
    trash.below.push(...all)
    for (const { collection: child, field, onDelete } of list) {
      if (onDelete !== 'cascade') continue
      const lacking = [child, own].find(each => !each.trash?.deletion)
      const why = `${child.name}: "${field}" has onDelete: 'cascade', and ${own.name} has a trash`
      assertValid(
        !child.shape.identity.parts,
        `${why}: a link table without an id cannot have one. Give ${child.name} an id, or leave onDelete out`,
      )
      assertValid(
        lacking === undefined,
        `${why}: restore must know what was deleted together. Give ${lacking?.name} trash: { date: 'deleted_at', deletion: 'deletion_id' }`,
      )
    }
  }
}
