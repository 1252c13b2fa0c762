// Lists called in process: all items that match in constant memory, or one page of them.

import { picker } from '../../base/paths.ts'
import { type Awaitable, isObject } from '../../base/values.ts'
import { type Issue, throwIfAny } from '../../errors.ts'
import type { CollectionDefinition } from '../../model/types/definition.ts'
import type { CallOptions, List, Page } from '../../model/types/resource.ts'
import { checkOptions, type Rule, show, wholeFrom } from '../../options.ts'
import { isGroupParameter, readGroupQuery } from '../../query/groups.ts'
import { listParameters, type ParameterName } from '../../query/list-parameters.ts'
import { WHERE } from '../../query/where.ts'
import type { ParsedQuery } from '../../query.ts'
import type { Stored } from '../../store/store.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'
import { findProgramReader, parameter, toPlain, toPlainFilters } from '../calls/program-filters.ts'
import { type ProgramItem, toProgramItem } from '../calls/program-items.ts'
import { asksForGroups, countBy } from '../reads/count-by.ts'
import { prepareIncludes, readIncluded } from '../reads/include.ts'
import { chooseTotalMode, count } from '../reads/list.ts'
import { prepareQuery } from '../reads/query.ts'
import { requireFilter } from '../writes/by-filter.ts'
import { findBeside, findStart, type ListStart, printNext, readCursor } from './list-starts.ts'
import { toProgramNested } from './nested-items.ts'

/** Runs a list operation with its hooks; `perform` does its work. */
export type ListRunner = (
  operation: string,
  options: CallOptions | undefined,
  perform: Perform,
) => Promise<OperationResult>

/** The arguments of a list call. */
interface ListCall {
  readonly operation: string
  /** The words of a search. */
  readonly words?: string
  readonly query?: object | undefined
  readonly options?: CallOptions | undefined
}

/** The maximum of items that are read at once; a longer list is read in batches. */
const MAX_AT_ONCE = 1000

/** The most items of an array where the call does not say. */
const DEFAULT_MAX = 10_000

/** The parameters for the grammar of queries, and those for the place in the list. */
const READ = [...listParameters('bounds', 'orders', 'shows')]
const PLACE = [...listParameters('sizes', 'places')]
const NAMES: ReadonlySet<string> = new Set([...READ, ...PLACE, WHERE])

/** Reads the query of a call. @throws TypeError for an invalid filter; HttpError 400 as for a client. */
function readCallQuery(
  collection: CollectionDefinition,
  { words, query = {} }: ListCall,
): ParsedQuery {
  const { name } = collection
  const values: Readonly<Record<string, unknown>> = { ...query }
  const texts = READ.flatMap(each =>
    values[each] === undefined ? [] : [parameter(each, String(toPlain(values[each])))],
  )
  if (words !== undefined) texts.push(parameter('q', words))
  const filters = Object.entries(values).filter(([key]) => !NAMES.has(key))
  const issues: Issue[] = []
  const read = findProgramReader(collection)(texts, issues, {
    query: toPlainFilters(Object.fromEntries(filters), `${name}: `),
    where: toPlainFilters(Object(values.where ?? {}), `${name}: where.`),
  })
  throwIfAny(issues)
  return read
}

const WHOLE = wholeFrom(0)

/** Reads a limit or an offset. @throws TypeError */
function readCount(query: object | undefined, name: 'limit' | 'offset'): number | undefined {
  const value: unknown = query && Reflect.get(query, name)
  if (value === undefined || (typeof value === 'number' && WHOLE.fits(value))) return value
  throw new TypeError(`${name} must be ${WHOLE.wanted}, not ${String(value)}`)
}

/** Reads where a list begins and ends: each parameter that says so, or this does not compile. @throws TypeError */
function readPlace(query: object | undefined) {
  return {
    limit: readCount(query, 'limit'),
    offset: readCount(query, 'offset'),
    cursor: readCursor(query),
  } satisfies Record<ParameterName<'places' | 'sizes'>, unknown>
}

/** Counts the items that match, or their groups. */
export async function countMatching(
  collection: CollectionDefinition,
  run: ListRunner,
  call: ListCall,
): Promise<unknown> {
  if (asksForGroups(collection, Object.keys(call.query ?? {})))
    return countGroupsOf(collection, run, call)
  refuseParameters(collection, call)
  const { value } = await run(call.operation, call.options, context =>
    count(context, readCallQuery(collection, call)),
  )
  return value
}

/** Counts the groups of the items that match. */
async function countGroupsOf(
  collection: CollectionDefinition,
  run: ListRunner,
  { query, ...call }: ListCall,
): Promise<unknown> {
  const entries = Object.entries(query ?? {})
  const parameters = entries
    .filter(([name, value]) => isGroupParameter(name) && value !== undefined)
    // A list as it is in a query: of nothing it is an empty text.
    .map(([name, value]) => parameter(name, String(value)))
  const filters = Object.fromEntries(entries.filter(([name]) => !isGroupParameter(name)))
  const { value } = await run(call.operation, call.options, context => {
    const issues: Issue[] = []
    // What a principal may not read it may not group by.
    const { queryFields, groups } = context.resultView(collection)
    const wanted = readGroupQuery(parameters, queryFields, groups, issues)
    throwIfAny(issues)
    return countBy(context, readCallQuery(collection, { ...call, query: filters }), wanted)
  })
  return value
}

/** Parameters that say nothing of which items there are. */
const UNSELECTING = [...listParameters('orders', 'shows', 'sizes', 'places')]

/** @throws TypeError for what selects no items. */
function refuseParameters(collection: CollectionDefinition, call: ListCall): void {
  requireObject(collection, call)
  const { name } = collection
  const { operation, query = {} } = call
  const other = UNSELECTING.find(each => Object.hasOwn(query, each))
  if (other === undefined) return
  throw new TypeError(
    `${name}: ${operation} takes no ${other}. To filter by that field, write { where: { ${other}: … } }`,
  )
}

/** @throws TypeError */
function requireObject({ name }: CollectionDefinition, { operation, query = {} }: ListCall): void {
  if (isObject(query)) return
  throw new TypeError(`${name}: ${operation} needs an object, not ${show(query)}`)
}

/** Reads the filters of a write to all items that match. @throws HttpError 400 where they can leave none out. */
export function readFilters(
  collection: CollectionDefinition,
  operation: string,
  filters: object,
): ParsedQuery {
  const call = { operation, query: filters }
  refuseParameters(collection, call)
  const query = readCallQuery(collection, call)
  requireFilter(query, `{ ${collection.shape.identity.name}: { exists: true } }`)
  return query
}

/** A part of a list, read. */
interface ListPart extends ListStart {
  readonly query: ParsedQuery
  readonly stored: readonly Stored[]
  readonly items: readonly ProgramItem[]
  readonly more: boolean
  readonly total?: number | undefined
}

/**
 * Creates a list: it reads when it is used.
 * @throws TypeError for a limit or an offset that is no whole number.
 */
export function createList(
  collection: CollectionDefinition,
  run: ListRunner,
  call: ListCall,
): List<ProgramItem> {
  return new ProgramList(collection, run, call)
}

interface ArrayOptions {
  readonly max?: number | undefined
}

/** `Infinity` is a number of items too. */
const MAX: Rule = {
  wanted: 'a number from 0',
  fits: value => typeof value === 'number' && value >= 0,
}
const ARRAY_RULES = { max: MAX }

class ProgramList implements List<ProgramItem> {
  readonly #collection: CollectionDefinition
  readonly #run: ListRunner
  readonly #call: ListCall
  readonly #limit: number | undefined
  readonly #offset: number | undefined
  readonly #cursor: string | undefined

  constructor(collection: CollectionDefinition, run: ListRunner, call: ListCall) {
    this.#collection = collection
    this.#run = run
    this.#call = call
    requireObject(collection, call)
    const { limit, offset, cursor } = readPlace(call.query)
    this.#limit = limit
    this.#offset = offset
    this.#cursor = cursor
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ProgramItem, void, undefined> {
    const limit = this.#limit
    if (limit !== undefined && limit <= MAX_AT_ONCE) {
      yield* (await this.#readPart(limit)).items
      return
    }
    if (this.#cursor !== undefined) return yield* this.#iterateParts()
    const collection = this.#collection
    const { toItems, batches } = await this.#perform((context, query) => ({
      query,
      toItems: createItemMapper(context, query),
      batches: context.storeOf(collection).stream(query, context.storeOptions),
    }))
    let left = limit ?? Number.POSITIVE_INFINITY
    let skipping = this.#offset ?? 0
    for await (const batch of batches) {
      const wanted = batch.slice(skipping, skipping + left)
      skipping = Math.max(0, skipping - batch.length)
      left -= wanted.length
      yield* await toItems(wanted)
      if (left === 0) return
    }
  }

  async page(): Promise<Page<ProgramItem>> {
    const { name, maxLimit, defaultLimit } = this.#collection
    const size = this.#limit ?? defaultLimit
    if (size <= maxLimit) return this.#readPage(size)
    throw new TypeError(
      `A page of ${name} has at most ${maxLimit} items (maxLimit). For more, use \`for await\` or toArray()`,
    )
  }

  async first(): Promise<ProgramItem | undefined> {
    return this.#limit === 0 ? undefined : (await this.#readPart(1)).items[0]
  }

  async toArray(options: ArrayOptions = {}) {
    checkOptions(`${this.#collection.name}: toArray`, options, ARRAY_RULES)
    const { max = DEFAULT_MAX } = options
    const items: ProgramItem[] = []
    for await (const item of this) {
      if (items.length >= max) {
        throw new RangeError(
          `There are more than ${max} ${this.#collection.name}. Use \`for await\`, a limit, or toArray({ max: … })`,
        )
      }
      items.push(item)
    }
    return items
  }

  /** Runs the operation; its `after` hook gets the items that `read` gives. */
  async #perform<
    T extends { readonly query: ParsedQuery; readonly items?: readonly ProgramItem[] },
  >(read: (context: OperationContext, query: ParsedQuery) => Awaitable<T>): Promise<T> {
    const call = this.#call
    let result: T | undefined
    await this.#run(call.operation, call.options, async context => {
      const query = await prepareQuery(context, readCallQuery(this.#collection, call))
      result = await read(context, query)
      return { status: 200, headers: [], value: result.items && [...result.items] }
    })
    return result as T // the operation has run, or thrown
  }

  /** @param at where it begins, or how many items to read from the start. */
  #readPart(at: ListStart | number, wantsTotal = false): Promise<ListPart> {
    return this.#perform(async (context, query) => {
      const { slice, position } = typeof at === 'number' ? this.#start(query, at) : at
      const store = context.storeOf(this.#collection)
      const mode = wantsTotal ? chooseTotalMode(context, query) : 'none'
      const page = await store.list(query, slice, mode, context.storeOptions)
      const items = await createItemMapper(context, query)(page.items)
      return { ...page, query, slice, position, stored: page.items, items }
    })
  }

  #start(query: ParsedQuery, limit: number): ListStart {
    if (this.#cursor !== undefined) return findStart(this.#collection, query, this.#cursor, limit)
    const offset = this.#offset ?? 0
    return { slice: { limit, offset }, position: offset }
  }

  /** Reads part by part: stores stream whole lists alone. */
  async *#iterateParts(): AsyncGenerator<ProgramItem, void, undefined> {
    let left = this.#limit ?? Number.POSITIVE_INFINITY
    for (let at: ListStart | number | undefined = MAX_AT_ONCE; at && left > 0; ) {
      const part: ListPart = await this.#readPart(at)
      yield* part.items.slice(0, left)
      left -= part.items.length
      at = findBeside(this.#collection, part, false)
    }
  }

  async #readPage(at: ListStart | number): Promise<Page<ProgramItem>> {
    const part = await this.#readPart(at, true)
    const readBeside = async (backward: boolean) => {
      const start = findBeside(this.#collection, part, backward)
      const page = start && (await this.#readPage(start))
      return page && page.items.length > 0 ? page : undefined
    }
    return {
      items: part.items,
      total: part.total,
      cursor: printNext(this.#collection, part),
      next: () => readBeside(false),
      previous: () => readBeside(true),
    }
  }
}

/**
 * Creates a function that prepares items for a program: whole, or only the fields of the query, with what they include.
 */
function createItemMapper(
  context: OperationContext,
  query: ParsedQuery,
): (batch: readonly Stored[]) => Awaitable<readonly ProgramItem[]> {
  const collection = context.resultView(context.target.collection)
  const { fields, include } = query
  if (include) {
    const levels = prepareIncludes(context, include)
    return async batch => {
      const { nested } = await readIncluded(context, levels, batch, query)
      return nested.map(each => toProgramNested(collection, each, levels))
    }
  }
  const pick = fields && picker(fields)
  return batch => batch.map(stored => toProgramItem(collection, stored, pick?.(stored.item)))
}
