// Operations called in process: the same path as a request takes, from its values onwards.

import { toJson } from '../formats/json-value.ts'
import type { Limits } from '../http/limits.ts'
import type { Parameter } from '../http/message.ts'
import { toFilterTexts } from '../http/value-list.ts'
import type { CallOptions, Calls, ListParameters, VersionDefinition } from '../model/definition.ts'
import { type CollectionTarget, normalizeId, SEARCH, type Target } from '../model/routes.ts'
import { RESERVED } from '../query.ts'
import type { Id } from '../store/store.ts'
import type { Call } from './call.ts'
import { perform } from './perform.ts'
import { createUploads } from './uploads.ts'

/** What calls of one version share. */
export interface CallContext {
  readonly version: VersionDefinition
  readonly limits: Limits
  readonly href: (target: Target) => string
  /** Options in force where a call gives none. */
  readonly defaults?: CallOptions
}

/** A signal that never fires, for calls without one. Made by the first: Workers make none while they load. */
let never: AbortSignal | undefined

/** @throws TypeError where the version has no such collection. */
export function createCalls(context: CallContext, name: string): Calls {
  const { version, limits, href, defaults = {} } = context
  const collection = version.collections.get(name)
  if (!collection) {
    const names = [...version.collections.keys()].join(', ')
    throw new TypeError(`There is no collection "${name}"; there are ${names}`)
  }

  const run = async (
    operation: string,
    target: Omit<CollectionTarget, 'version' | 'collection'>,
    {
      value,
      parameters = {},
      options = {},
    }: { value?: unknown; parameters?: ListParameters; options?: CallOptions | undefined },
  ): Promise<unknown> => {
    never ??= new AbortController().signal
    const signal = options.signal ?? defaults.signal ?? never
    const principal = options.principal ?? defaults.principal
    const call: Call = {
      target: { version, collection, ...target },
      operation,
      method: target.action?.method ?? METHODS[operation] ?? 'POST',
      parameters: parametersOf(parameters, collection.shape.identity.name),
      body: value === undefined ? undefined : { value: toJson(value), type: undefined },
      preconditions: {},
      inProcess: true,
      preferences: {},
      range: undefined,
      idempotencyKey: undefined,
      uploads: createUploads(collection, {
        limit: limits.upload,
        // A program waits as long as its signal lets it.
        time: Number.POSITIVE_INFINITY,
        signal: () => signal,
        digests: false,
      }),
      variant: '',
      streams: false,
      principal,
      caller: { signal },
      limits,
      href,
      collection: (other, given = {}) => {
        const handed = { principal: given.principal ?? principal, signal: given.signal ?? signal }
        return createCalls({ ...context, defaults: handed }, other)
      },
    }
    signal.throwIfAborted()
    return (await perform(call)).result
  }
  const item = (id: Id) => ({ kind: 'item', id: normalizeId(collection, id) }) as const

  const calls = {
    list: (parameters?: ListParameters, options?: CallOptions) =>
      run(
        'q' in (parameters ?? {}) && collection.search ? SEARCH : 'list',
        { kind: 'collection' },
        { ...(parameters && { parameters }), options },
      ),
    count: (parameters?: ListParameters, options?: CallOptions) =>
      run('count', { kind: 'count' }, { ...(parameters && { parameters }), options }),
    read: (id: Id, options?: CallOptions) => run('read', item(id), { options }),
    create: (value: unknown, options?: CallOptions) =>
      run('create', { kind: 'collection' }, { value, options }),
    replace: (id: Id, value: unknown, options?: CallOptions) =>
      run('replace', item(id), { value, options }),
    patch: (id: Id, value: unknown, options?: CallOptions) =>
      run('patch', item(id), { value, options }),
    delete: (id: Id, options?: CallOptions) => run('delete', item(id), { options }),
    act: (
      action: string,
      { id, input, ...options }: CallOptions & { id?: Id | undefined; input?: unknown } = {},
    ) => {
      const known = collection.actions.get(action)
      if (!known) throw new TypeError(`${name} has no action "${action}"`)
      if ((known.on === 'item') !== (id !== undefined)) {
        throw new TypeError(
          `The action ${action} is of ${known.on === 'item' ? 'an item: it needs' : 'the collection: it takes no'} id`,
        )
      }
      const target = { ...(id !== undefined && item(id)), kind: 'action', action: known } as const
      return run(action, target, { value: input ?? {}, options })
    },
  }
  // Each operation's result is what `Calls` says of it: operations.ts makes them.
  return calls as Calls
}

const METHODS: Readonly<Record<string, string>> = {
  list: 'GET',
  search: 'GET',
  count: 'GET',
  read: 'GET',
  replace: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
}

/**
 * Lists of `fields` and `sort` are joined by commas; any other list is a parameter given several times.
 * An empty one of a filter is fulfilled by no item, as no item is without an id.
 */
function parametersOf(parameters: ListParameters, id: string): Parameter[] {
  return Object.entries(parameters).flatMap(([name, given]) => {
    const texts = toFilterTexts(name, given)
    if (name === 'fields' || name === 'sort') return [parameter(name, texts.join(','))]
    const filters = !RESERVED.has(name) && !/\[(?:nin|ne)\]$/.test(name)
    if (filters && texts.length === 0) return [parameter(`${id}[exists]`, 'false')]
    return texts.map(text => parameter(name, text))
  })
}

function parameter(name: string, value: string): Parameter {
  return { name, value, raw: `${encodeURIComponent(name)}=${encodeURIComponent(value)}` }
}
