// The resource of a collection in process: its methods and actions.

import { Lines } from '../../base/lines.ts'
import { findTrash, RESTORE, type TrashParts } from '../../model/compile/compile-trash.ts'
import { normalizeId, SEARCH } from '../../model/compile/routes.ts'
import { ConflictError } from '../../model/conflict-error.ts'
import type { UnknownDef } from '../../model/types/collection-types.ts'
import type { ActionDefinition, CollectionDefinition } from '../../model/types/definition.ts'
import type { NamedCollection } from '../../model/types/hooks.ts'
import type { FilterOperation } from '../../model/types/operation.ts'
import type {
  CallOptions,
  CreateOptions,
  List,
  ManyOptions,
  ReadOptions,
  Resource,
  WriteOptions,
} from '../../model/types/resource.ts'
import type { TakeOptions } from '../../model/types/take.ts'
import { show } from '../../options.ts'
import type { Id } from '../../store/store.ts'
import type { CallScope, Perform } from '../calls/context.ts'
import { type ProgramItem, parseWriteTarget, toProgramItem } from '../calls/program-items.ts'
import { resolveCollection } from '../calls/resolve-collection.ts'
import { trackCalls } from '../calls/track-calls.ts'
import { writeByFilter } from '../writes/by-filter.ts'
import { findKey, upsertBy } from '../writes/upsert.ts'
import { findSet, listProgramKeys, RESOLUTIONS, upsertMany } from '../writes/upsert-many.ts'
import { findHeld } from './held-item.ts'
import { countMatching, createList, type ListRunner, readFilters } from './list-calls.ts'
import { readWithIncluded } from './nested-items.ts'
import { type Call, runCall } from './run-call.ts'
import { take } from './take.ts'

/** The maximum of attempts of `change`, and the longest wait between two, in milliseconds. */
const MAX_CHANGES = 10
const MAX_WAIT_MS = 100
/** How long a change waits for earlier ones of its item in this process, in milliseconds. */
const PATIENCE_MS = 1000

const lines = new Lines<Id>()

const WHOLE_COLLECTION: Call['place'] = { kind: 'collection' }

/** @throws TypeError if no version of the api has the collection. */
export function createResource(scope: CallScope, wanted: NamedCollection): Resource {
  const { transaction } = scope
  const { version, collection } = resolveCollection(scope, wanted)
  transaction?.requireMember(collection)
  const resource = new CollectionResource({ ...scope, version }, collection)
  // No action may have the name of a method.
  const calls = {
    ...resource.actions,
    ...resource,
    ...(collection.lease && { take: (options?: TakeOptions) => take(scope, collection, options) }),
  }
  const tracked = transaction ? trackCalls(calls, collection.name, transaction.calls) : calls
  const trash = findTrash(collection)
  return trash
    ? Object.assign(tracked, { trash: openTrash({ ...scope, version }, trash) })
    : tracked
}

/** Creates the calls of a trash for programs. */
function openTrash(scope: CallScope, { deleted }: TrashParts) {
  const resource = new CollectionResource(scope, deleted)
  const { transaction } = scope
  const name = `${deleted.name}.trash`
  const calls = transaction ? trackCalls({ ...resource }, name, transaction.calls) : resource
  const { list, count, read, delete: remove, actions } = calls
  return { list, count, read, delete: remove, restore: actions[RESTORE] }
}

/** What a write of one item gets. */
interface WriteInput {
  readonly value?: unknown
  readonly options?: WriteOptions | undefined
}

/** The methods of a collection. They are fields: programs take them out of the object. */
class CollectionResource implements Resource<UnknownDef> {
  readonly #scope: CallScope
  readonly #collection: CollectionDefinition
  readonly actions: Readonly<Record<string, (...given: unknown[]) => Promise<ProgramItem>>>

  constructor(scope: CallScope, collection: CollectionDefinition) {
    this.#scope = scope
    this.#collection = collection
    this.actions = Object.fromEntries(
      Array.from(collection.actions.values(), action => [
        action.name,
        async (...given: unknown[]) => this.#act(action, given),
      ]),
    )
  }

  readonly list = (query?: object, options?: CallOptions): List<never> =>
    this.#list({ operation: 'list', query, options })

  readonly search = (words: string, query?: object, options?: CallOptions): List<never> => {
    const { name, search } = this.#collection
    if (search) return this.#list({ operation: SEARCH, words, query, options })
    throw new TypeError(`${name} has no search: name its fields by the option search`)
  }

  readonly count = async (query?: object, options?: CallOptions): Promise<number> => {
    const call = { operation: 'count', query, options }
    // Of a query with `by` it gives groups.
    return countMatching(this.#collection, this.#runList, call) as Promise<number>
  }

  readonly read = async (id: Id, options?: ReadOptions): Promise<ProgramItem> => {
    if (typeof id !== 'string' && !Number.isFinite(id))
      throw new TypeError(`${this.#collection.name}.read needs an id, not ${show(id)}`)
    const place = { kind: 'item', id: normalizeId(this.#collection, id) } as const
    const call = { operation: 'read', place, options }
    const { include } = options ?? {}
    if (!include) return this.#runItem(call)
    const perform: Perform = context => readWithIncluded(context, include)
    const { result } = await this.#run({ ...call, perform })
    return result.value as ProgramItem // it makes one
  }

  // Of an array it gives one.
  readonly create = ((value: unknown, options?: CreateOptions) => {
    const call = { operation: 'create', place: WHOLE_COLLECTION, value, options }
    return this.#runItem(call)
  }) as Resource['create']

  readonly replace: Resource['replace'] = async (target, value, options) =>
    this.#write('replace', target, { value, options })

  readonly upsert: Resource['upsert'] = async (named, value, options) => {
    const collection = this.#collection
    const { name, keys } = collection
    // An empty query would be of all items.
    const read = Object.keys(named).length > 0 && readFilters(collection, 'upsert', named)
    const key = read && findKey(keys, read)
    if (!key)
      throw new TypeError(
        `${name}.upsert needs a value of each property of a unique set, not ${show(named)}. ${keys.length > 0 ? `The sets are ${keys.map(set => set.join(' and ')).join(', ')}` : 'Declare one by the option unique'}`,
      )
    const perform = upsertBy(() => key)
    const call = { operation: 'upsert', place: WHOLE_COLLECTION, value, options, perform }
    return this.#runItem(call)
  }

  readonly upsertMany: Resource['upsertMany'] = async (items, options) => {
    const { onConflict, resolution = 'merge-duplicates', ...others } = options ?? {}
    const collection = this.#collection
    const sets = listProgramKeys(collection)
    const names = findSet(sets, onConflict === undefined ? [] : [[onConflict].flat()])
    if (!names || !RESOLUTIONS.includes(resolution) || !Array.isArray(items))
      throw new TypeError(
        `${collection.name}.upsertMany needs an array, and { onConflict } with the fields of one unique set: ${sets.map(set => set.join(' and ')).join(', or ') || 'declare one by the option unique'}. A resolution is ${RESOLUTIONS.join(' or ')}`,
      )
    const perform: Perform = call => {
      const { value } = call.body ?? {}
      return upsertMany(call, Array.isArray(value) ? value : [], { names, resolution })
    }
    const place = WHOLE_COLLECTION
    const call = { operation: 'create', place, value: items, options: others, perform }
    return (await this.#runItem(call)) as never // of an array it gives one
  }

  readonly patch: Resource['patch'] = async (target, value, options) =>
    this.#write('patch', target, { value, options })

  readonly delete: Resource['delete'] = async (target, options) =>
    this.#write('delete', target, { options })

  readonly patchMany: Resource['patchMany'] = (filters, value, options) =>
    this.#writeMany('patchMany', filters, value, options)

  readonly deleteMany: Resource['deleteMany'] = (filters, options) =>
    this.#writeMany('deleteMany', filters, undefined, options)

  readonly change: Resource['change'] = async (target, change, options) => {
    const { id } = parseWriteTarget(this.#collection, target, { unconditional: true })
    const attempts = async (most: number): Promise<ProgramItem> => {
      for (let count = 1; ; count++) {
        const item = await this.read(id, options)
        const value: unknown = await change(item)
        try {
          return await this.#write('patch', item, { value, options })
        } catch (error) {
          if (!(error instanceof ConflictError) || count === most) throw error
        }
        // A random wait, so that the same servers do not meet again.
        const wait = Math.random() * Math.min(MAX_WAIT_MS, 2 ** count)
        await new Promise(resolve => setTimeout(resolve, wait))
      }
    }
    try {
      return await attempts(1)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
    }
    // In line: of many at once all but one would lose each round. A change within another one does not wait for ever.
    return lines.run(this.#collection.store, id, () => attempts(MAX_CHANGES - 1), PATIENCE_MS)
  }

  #run(call: Call) {
    return runCall(this.#scope, this.#collection, call)
  }

  /** Runs an operation that returns an item. */
  async #runItem(call: Call): Promise<ProgramItem> {
    const { result, view } = await this.#run(call)
    const { stored, value } = result
    return stored ? toProgramItem(view, stored) : (value as ProgramItem) // only of an action there is none
  }

  readonly #runList: ListRunner = async (operation, options, perform) => {
    const { result } = await this.#run({ operation, place: WHOLE_COLLECTION, options, perform })
    return result
  }

  /** The items have the fields of the query, as its type says. */
  #list(call: Parameters<typeof createList>[2]): List<never> {
    return createList(this.#collection, this.#runList, call) as List<never>
  }

  /** Changes an item, or runs an action on it. */
  #write(
    operation: string,
    target: unknown,
    { value, options }: WriteInput,
    action?: ActionDefinition,
  ): Promise<ProgramItem> {
    const kind = action ? 'action' : 'item'
    const write = async () => {
      const { id, preconditions } = parseWriteTarget(this.#collection, target, options)
      const place = { kind, id: normalizeId(this.#collection, id), action } as const
      return this.#runItem({ operation, place, value, options, preconditions })
    }
    return findHeld(target)?.during(operation, write) ?? write()
  }

  /** Changes or deletes all items that match. @returns their number. */
  async #writeMany(
    operation: FilterOperation,
    filters: object,
    value: unknown,
    options: ManyOptions | undefined,
  ): Promise<number> {
    const { name, store } = this.#collection
    if (!store.transaction || !store.database)
      throw new TypeError(`${name}: ${operation} needs a store with transactions`)
    const { maxAffected } = options ?? {}
    if (operation === 'deleteMany' && maxAffected === undefined)
      throw new TypeError(`${name}: deleteMany needs { maxAffected }: how many may go at most`)
    const { result } = await this.#run({
      operation,
      place: WHOLE_COLLECTION,
      value,
      options,
      preferences: maxAffected === undefined ? {} : { 'max-affected': maxAffected },
      perform: context => {
        const query = readFilters(this.#collection, operation, filters)
        return writeByFilter(context, operation, query)
      },
    })
    return Number(result.value)
  }

  /** Runs an action with its arguments, which the types of the declaration check. */
  #act(action: ActionDefinition, given: unknown[]): Promise<ProgramItem> {
    const target = action.on === 'item' ? given.shift() : undefined
    const value = (action.input && given.shift()) ?? {}
    const options = given[0] as WriteOptions | undefined
    if (action.on === 'item') return this.#write(action.name, target, { value, options }, action)
    const place = { kind: 'action', action } as const
    return this.#runItem({ operation: action.name, place, value, options })
  }
}
