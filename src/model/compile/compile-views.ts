// Views: a collection as some principals see it, where its properties have rules by scope. Each is a definition of its
// own, so that readers, printers, plans and documents are made of it as of any collection.

import { type AccessRule, findAccessRule, listVerdicts, satisfies } from '../../auth/access.ts'
import type { Principal } from '../../auth/scheme.ts'
import { memoize } from '../../base/memoize.ts'
import { toPath } from '../../base/paths.ts'
import { hashTexts } from '../../http/conditional.ts'
import { assertValid } from '../../options.ts'
import { buildValidator } from '../../schema/validate.ts'
import { listSetFields, uniquesOf } from '../../store/shapes.ts'
import type { ApiDefinition, CollectionDefinition } from '../types/definition.ts'
import type { FieldRoles, FieldRules, ReadOnlyField } from '../types/field-roles.ts'
import { emptyValue, listBodyFields, omitFields, toInputFields } from './compile-field-roles.ts'

/** The most views of a collection. */
const MAX_VIEWS = 16

/** The views of a collection, by what its principal satisfies. */
interface Views {
  /** The rules of all properties, each once. */
  readonly rules: readonly AccessRule[]
  /** The views by what {@link toKey} makes of the rules that hold. */
  readonly byRules: ReadonlyMap<string, CollectionDefinition>
  /** The view of a client without a principal. */
  readonly closed: CollectionDefinition
}

/** Finds a collection as a principal sees it: the whole where every property is open to it. */
export function findView(
  whole: CollectionDefinition,
  principal: Principal | undefined,
): CollectionDefinition {
  if (!whole.fieldAccess) return whole
  const { rules, byRules, closed } = compileViews(whole)
  return byRules.get(toKey(rules.map(rule => satisfies(rule, principal)))) ?? closed
}

/** Finds the collection as programs see it. */
export function toWhole(collection: CollectionDefinition): CollectionDefinition {
  return collection.view?.whole ?? collection
}

/** Compiles the views of a collection, once: at most `MAX_VIEWS`. */
const compileViews = memoize((whole: CollectionDefinition): Views => {
  const { name, fieldAccess = NO_ACCESS } = whole
  const limits = [...fieldAccess.values()]
    .flatMap(({ read, write }) => [read, write])
    .filter(rule => rule !== undefined)
  const rules = [...new Map(limits.map(rule => [JSON.stringify(rule), rule])).values()]
  const verdicts = listVerdicts(rules, MAX_VIEWS)
  assertValid(
    verdicts,
    `${name}: the read and write rules in fields make more than ${MAX_VIEWS} different sets of properties. Use fewer scopes in them`,
  )
  const views = verdicts.map(verdict => {
    const texts = rules.flatMap((rule, at) => (verdict[at] ? [JSON.stringify(rule)] : []))
    const view = buildView(whole, rule => !rule || texts.includes(JSON.stringify(rule)))
    return [toKey(verdict), view] as const
  })
  return { rules, byRules: new Map(views), closed: views[0]?.[1] ?? whole }
})

const NO_ACCESS: ReadonlyMap<string, FieldRules> = new Map()

function toKey(verdict: readonly boolean[]): string {
  return verdict.map(Number).join('')
}

/** Builds the collection as a principal sees it that satisfies these rules. An absent rule holds. */
function buildView(
  whole: CollectionDefinition,
  holds: (rule: AccessRule | undefined) => boolean,
): CollectionDefinition {
  const { fieldAccess = NO_ACCESS, inputFields, schema } = whole
  const closedTo = (kind: 'read' | 'write') =>
    [...fieldAccess].flatMap(([name, access]) => (holds(access[kind]) ? [] : [name]))
  const unreadable = new Set(closedTo('read'))
  const unwritable = closedTo('write')
  if (unreadable.size + unwritable.length === 0) return whole
  const { readOnly = NO_FIELDS, writeOnly = [], immutable = NO_NAMES } = whole.roles ?? {}
  const closed = unwritable.map(name => {
    const field = inputFields.get(name)
    return [name, { compute: undefined, empty: field && emptyValue(field) }] as const
  })
  const roles = {
    readOnly: new Map<string, ReadOnlyField>([...readOnly, ...closed]),
    writeOnly: new Set([...writeOnly, ...unreadable].filter(name => !isReadOnly(name))),
    immutable,
  }
  function isReadOnly(name: string): boolean {
    return readOnly.has(name) || unwritable.includes(name)
  }
  const unknown = new Set([...unreadable].filter(isReadOnly))
  const selectableFields = omitFields(whole.selectableFields, unreadable)
  const writable = toInputFields(inputFields, roles, 'unreadable')
  return Object.freeze({
    ...whole,
    view: { whole, tag: unreadable.size === 0 ? '' : hashTexts([...unreadable].sort()) },
    roles,
    hidden: new Set([...whole.hidden, ...unreadable]),
    unknown,
    inputFields: writable,
    queryFields: omitFields(whole.queryFields, unreadable),
    readableFields: omitFields(whole.readableFields, unreadable),
    selectableFields,
    bodyFields: listBodyFields(selectableFields, writable, roles, unknown),
    validator: buildValidator(schema, unknown),
    sort: whole.sort.filter(({ path: [name = ''] }) => !unreadable.has(name)),
    search: whole.search?.filter(([name = '']) => !unreadable.has(name)),
    groups: new Map([...whole.groups].filter(([, { path }]) => !unreadable.has(path[0] ?? ''))),
  })
}

const NO_FIELDS: FieldRoles['readOnly'] = new Map()
const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Checks that no view of a collection tells what it hides.
 * @throws TypeError for too many views, and for a property whose value an address, a tag, a 409 or a search would tell.
 */
export function checkViews(whole: CollectionDefinition): void {
  const { name, fieldAccess, parents, shape, store } = whole
  if (!fieldAccess) return
  assertValid(
    !store.hashesValues || ![...fieldAccess.values()].some(({ read }) => read),
    `${name}: a read rule in fields needs a table with a version column: without one (version: false) a tag is a hash of all values, and tells who guesses them`,
  )
  for (const [parent, field] of parents) {
    assertValid(
      !fieldAccess.has(field),
      `${name}: "${field}" names the parent in ${parent}, which addresses tell: it can have no read or write rule`,
    )
  }
  for (const { hidden, inputFields, search } of compileViews(whole).byRules.values()) {
    assertValid(
      search?.length !== 0,
      `${name}: search needs a field that everybody may read: others would search nothing`,
    )
    for (const set of uniquesOf(shape)) {
      const names = listSetFields(set).map(dotted => toPath(dotted)[0] ?? '')
      const secret = names.find(each => hidden.has(each))
      const written = names.find(each => inputFields.has(each))
      assertValid(
        secret === undefined || written === undefined,
        `${name}: "${secret}" is in a unique set, and a principal may write "${written}" of it without reading "${secret}": a 409 would tell its value. Let the same scopes write and read them`,
      )
    }
  }
}

/**
 * Checks that all who may create an item may give it what it needs.
 * @throws TypeError for a required property that they may not write.
 */
export function checkCreates(
  api: Pick<ApiDefinition, 'access'>,
  whole: CollectionDefinition,
): void {
  const { name, fieldAccess, operations, putCreates, inputFields } = whole
  if (!fieldAccess || !(operations.has('create') || putCreates)) return
  const create = findAccessRule(api, whole, 'create')
  for (const [property, { write = 'public' }] of fieldAccess) {
    const field = inputFields.get(property)
    if (!field || field.optional || field.nullable) continue
    const open = listVerdicts([create, write])?.some(([creates, writes]) => creates && !writes)
    assertValid(
      !open,
      `${name}: "${property}" is required, and who may create an item may not write it. Give it a .default(), make it .optional(), or let access.create need what its write rule needs`,
    )
  }
}
