// The resource of a collection in process: a call runs the same operation as a request.

import { toJson } from '../../formats/json-value.ts'
import { NO_PRECONDITIONS, type Preconditions } from '../../http/conditional.ts'
import type { ReceivedRequest } from '../../http/message.ts'
import type { Preferences } from '../../http/prefer.ts'
import { type CollectionTarget, normalizeId, SEARCH } from '../../model/compile/routes.ts'
import { ConflictError } from '../../model/conflict-error.ts'
import type { UnknownDef } from '../../model/types/collection-types.ts'
import type { ActionDefinition, CollectionDefinition } from '../../model/types/definition.ts'
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
import {
  ANYTHING,
  BOOLEAN,
  checkOptions,
  listOf,
  type Rules,
  TEXT,
  wholeFrom,
} from '../../options.ts'
import { hasFiles, readFiles } from '../../schema/blob.ts'
import { neverAborted } from '../../store/abort.ts'
import type { Id } from '../../store/store.ts'
import { CallContext, type CallScope, type OperationResult, type Perform } from '../context.ts'
import { tryOut } from '../dry-run.ts'
import { compileOperation } from '../perform.ts'
import { requireOutside } from '../work-context.ts'
import { writeByFilter } from '../write/by-filter.ts'
import { countMatching, createList, type ListRunner, readFilters } from './list-calls.ts'
import { readWithIncluded } from './nested-items.ts'
import { type ProgramItem, parseWriteTarget, toProgramItem } from './program-items.ts'
import { trackCalls } from './track-calls.ts'

/** The request of a call in process: it ends with its signal alone. */
class ProgramRequest implements ReceivedRequest {
  readonly target = ''
  readonly prefix = ''
  readonly headers = {}
  readonly headerCount = 0
  readonly body = undefined
  readonly address = undefined
  readonly secure = true
  readonly needsHost = false
  readonly method: string
  readonly signal: AbortSignal

  constructor(method: string, signal: AbortSignal) {
    this.method = method
    this.signal = signal
  }

  get aborted(): boolean {
    return this.signal.aborted
  }

  /** Only a request of a client has a time limit. */
  abort(): void {}
}

interface Call {
  readonly value?: unknown
  readonly options?: CreateOptions | undefined
  readonly preconditions?: Preconditions
  readonly preferences?: Preferences
  /** Does the work in place of the operation. */
  readonly perform?: Perform
}

const CALL_RULES: Rules<CallOptions> = { principal: ANYTHING, signal: ANYTHING }
const CREATE_RULES: Rules<CreateOptions> = { ...CALL_RULES, dryRun: BOOLEAN }
const MANY_RULES: Rules<ManyOptions> = { ...CREATE_RULES, maxAffected: wholeFrom(0) }
const READ_RULES: Rules<ReadOptions> = { ...CALL_RULES, include: listOf(TEXT, 1) }
const WRITE_RULES: Rules<WriteOptions> = {
  ...CREATE_RULES,
  version: TEXT,
  ifMatch: ANYTHING,
  unconditional: ANYTHING,
}

/** The options of calls that differ. */
const RULES: Readonly<Record<string, Rules<CallOptions>>> = {
  create: CREATE_RULES,
  read: READ_RULES,
  patchMany: MANY_RULES,
  deleteMany: MANY_RULES,
}

/** The maximum of attempts of `change`, and the longest wait between two, in milliseconds. */
const MAX_CHANGES = 100
const MAX_WAIT_MS = 100

/** @throws TypeError where the version has no such collection. */
export function createResource(scope: CallScope, name: string): Resource {
  const { runtime, version, base, transaction } = scope
  const collection = version.collections.get(name)
  if (!collection) {
    const names = [...version.collections.keys()].join(', ')
    throw new TypeError(`There is no collection "${name}". Collections: ${names}.`)
  }
  transaction?.requireMember(collection)

  const run = async (
    operation: string,
    place: Omit<CollectionTarget, 'version' | 'collection'>,
    { value: input, options, preconditions, preferences = {}, perform }: Call = {},
  ): Promise<readonly [OperationResult, CollectionDefinition]> => {
    if (!transaction) requireOutside(collection.store, name, operation)
    if (options) {
      const rules = preconditions ? WRITE_RULES : (RULES[operation] ?? CALL_RULES)
      checkOptions(`The options of ${name}.${operation}`, options, rules)
    }
    const value = collection.blobs && hasFiles(input) ? await readFiles(input) : input
    const signal = options?.signal ?? scope.signal ?? neverAborted()
    const target = { version, collection, ...place }
    const method = target.action?.method ?? METHODS[operation] ?? 'GET'
    const request = new ProgramRequest(method, signal)
    const context = Object.assign(new CallContext(runtime, request, base, true), {
      target,
      operation,
      transaction,
      system: scope.system ?? false,
      forClient: scope.forClient ?? false,
      preconditions: preconditions ?? NO_PRECONDITIONS,
      preferences,
      body: value === undefined ? undefined : { value: toJson(value), type: undefined },
      principal: options?.principal ?? scope.principal,
    })
    signal.throwIfAborted()
    try {
      const operate = compileOperation(runtime.api, target, operation, perform)
      if (options?.dryRun && transaction)
        throw new TypeError(`${name}: a dry run is no part of a transaction`)
      const result = await (options?.dryRun ? tryOut(context, operate) : operate(context))
      return [result, context.resultView(collection)]
    } finally {
      await context.discardUploads()
    }
  }

  const runList: ListRunner = async (operation, options, perform) =>
    (await run(operation, { kind: 'collection' }, { options, perform }))[0]

  /** Runs an operation that returns an item. */
  const runItem = async (...call: Parameters<typeof run>): Promise<ProgramItem> => {
    const [{ stored, value }, view] = await run(...call)
    return stored ? toProgramItem(view, stored) : (value as ProgramItem) // only of an action there is none
  }

  /** Runs a change of an item, or an action on it. */
  const write = (
    operation: string,
    target: unknown,
    { value, options }: Pick<Call, 'value'> & { readonly options?: WriteOptions | undefined },
    action?: ActionDefinition,
  ): Promise<ProgramItem> => {
    const { id, preconditions } = parseWriteTarget(collection, target, options)
    const kind = action ? 'action' : 'item'
    const place = { kind, id: normalizeId(collection, id), action } as const
    return runItem(operation, place, { value, options, preconditions })
  }

  /** Changes or deletes all items that match. @returns their number. */
  const writeMany = async (
    operation: FilterOperation,
    filters: object,
    { value, options }: Pick<Call, 'value'> & { readonly options?: ManyOptions | undefined },
  ): Promise<number> => {
    const { transaction: transact, database } = collection.store
    if (!transact || !database)
      throw new TypeError(`${name}: ${operation} needs a store with transactions`)
    const { maxAffected } = options ?? {}
    if (operation === 'deleteMany' && maxAffected === undefined)
      throw new TypeError(`${name}: deleteMany needs { maxAffected }: how many may go at most`)
    const query = readFilters(collection, operation, filters)
    const [{ value: count }] = await run(
      operation,
      { kind: 'collection' },
      {
        value,
        options,
        preferences: maxAffected === undefined ? {} : { 'max-affected': maxAffected },
        perform: call => writeByFilter(call, operation, query),
      },
    )
    return count as number // of items
  }

  const read = async (id: Id, options?: ReadOptions): Promise<ProgramItem> => {
    const place = { kind: 'item', id: normalizeId(collection, id) } as const
    const { include } = options ?? {}
    if (!include) return runItem('read', place, { options })
    const perform: Perform = context => readWithIncluded(context, include)
    return (await run('read', place, { options, perform }))[0].value as ProgramItem // it makes one
  }

  const actions = Object.fromEntries(
    Array.from(collection.actions.values(), action => [
      action.name,
      async (...args: unknown[]) => {
        const target = action.on === 'item' ? args.shift() : undefined
        const value = (action.input && args.shift()) ?? {}
        // The types of the declaration check the arguments.
        const call = { value, options: args[0] as WriteOptions | undefined }
        if (action.on === 'item') return write(action.name, target, call, action)
        return runItem(action.name, { kind: 'action', action }, call)
      },
    ]),
  )

  /** The items have the fields of the query, as its type says. */
  const list = (call: Parameters<typeof createList>[2]) =>
    createList(collection, runList, call) as List<never>

  const resource: Resource<UnknownDef> = {
    list: (query?: object, options?: CallOptions) => list({ operation: 'list', query, options }),
    search(words: string, query?: object, options?: CallOptions) {
      if (collection.search) return list({ operation: SEARCH, words, query, options })
      throw new TypeError(`${name} has no search: name its fields by the option search`)
    },
    // Of a query with `by` it gives groups.
    count: async (query, options) =>
      countMatching(collection, runList, { operation: 'count', query, options }) as Promise<number>,
    read,
    // Of an array it gives one.
    create: ((value: unknown, options?: CreateOptions) =>
      runItem('create', { kind: 'collection' }, { value, options })) as Resource['create'],
    replace: async (target, value, options) => write('replace', target, { value, options }),
    patch: async (target, value, options) => write('patch', target, { value, options }),
    delete: async (target, options) => write('delete', target, { options }),
    patchMany: (filters, value, options) => writeMany('patchMany', filters, { value, options }),
    deleteMany: (filters, options) => writeMany('deleteMany', filters, { options }),
    async change(target, change, options) {
      const { id } = parseWriteTarget(collection, target, { unconditional: true })
      for (let attempt = 1; ; attempt++) {
        const item = await read(id, options)
        const value: unknown = await change(item)
        try {
          return await write('patch', item, { value, options })
        } catch (error) {
          if (!(error instanceof ConflictError) || attempt === MAX_CHANGES) throw error
        }
        // A random wait, so that the same writers do not meet again.
        const wait = Math.random() * Math.min(MAX_WAIT_MS, 2 ** attempt)
        await new Promise(resolve => setTimeout(resolve, wait))
      }
    },
    actions,
  }
  // No action may have the name of a method.
  const calls = { ...actions, ...resource }
  return transaction ? trackCalls(calls, name, transaction.calls) : calls
}

/** The methods of operations that change something. */
const METHODS: Readonly<Record<string, string>> = {
  create: 'POST',
  replace: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  patchMany: 'PATCH',
  deleteMany: 'DELETE',
}
