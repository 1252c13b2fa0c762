// Operations called in process: the same path as a request takes, from its values onwards.

import { toJson } from '../formats/json-value.ts'
import type { HttpRequest } from '../http/message.ts'
import type { Parameter } from '../http/parameters.ts'
import { toFilterTexts } from '../http/value-list.ts'
import type { CallOptions, Calls, ListParameters } from '../model/definition.ts'
import { type CollectionTarget, normalizeId, SEARCH } from '../model/routes.ts'
import { RESERVED } from '../query.ts'
import type { Id } from '../store/store.ts'
import { type CallScope, RequestContext } from './context.ts'
import { compilePerform } from './perform.ts'
import { createUploads } from './uploads.ts'

/** Stands in for a request: a program waits as long as its signal lets it. */
class ProgramRequest implements HttpRequest {
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

/** A signal that never fires, for calls without one. Made by the first: Workers make none while they load. */
let never: AbortSignal | undefined

interface CallInput {
  readonly value?: unknown
  readonly parameters?: ListParameters | undefined
  readonly options?: CallOptions | undefined
}

/** @throws TypeError where the version has no such collection. */
export function createCalls(scope: CallScope, name: string): Calls {
  const { runtime, version, base, defaults = {} } = scope
  const collection = version.collections.get(name)
  if (!collection) {
    const names = [...version.collections.keys()].join(', ')
    throw new TypeError(`There is no collection "${name}". Collections: ${names}.`)
  }

  const run = async <Result>(
    operation: string,
    place: Omit<CollectionTarget, 'version' | 'collection'>,
    { value, parameters = {}, options = {} }: CallInput,
  ): Promise<Result> => {
    never ??= new AbortController().signal
    const signal = options.signal ?? defaults.signal ?? never
    const target = { version, collection, ...place }
    const method = target.action?.method ?? METHODS[operation] ?? 'GET'
    const request = new ProgramRequest(method, signal)
    const context = Object.assign(new RequestContext(runtime, request, base, true), {
      target,
      operation,
      parameters: toParameters(parameters, collection.shape.identity.name),
      body: value === undefined ? undefined : { value: toJson(value), type: undefined },
      principal: options.principal ?? defaults.principal,
      uploads: createUploads(collection, {
        limit: runtime.api.limits.upload,
        time: Number.POSITIVE_INFINITY,
        signal: () => signal,
        digests: false,
      }),
    })
    signal.throwIfAborted()
    const result = await compilePerform(target, operation)(context)
    return result.value as Result // it is what `Calls` says of the operation
  }
  const item = (id: Id) => ({ kind: 'item', id: normalizeId(collection, id) }) as const

  return {
    list: (parameters, options) => {
      const operation = parameters && 'q' in parameters && collection.search ? SEARCH : 'list'
      return run(operation, { kind: 'collection' }, { parameters, options })
    },
    count: (parameters, options) => run('count', { kind: 'count' }, { parameters, options }),
    read: (id, options) => run('read', item(id), { options }),
    create: (value, options) => run('create', { kind: 'collection' }, { value, options }),
    replace: (id, value, options) => run('replace', item(id), { value, options }),
    patch: (id, value, options) => run('patch', item(id), { value, options }),
    delete: (id, options) => run('delete', item(id), { options }),
    act(action, { id, input, ...options } = {}) {
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
}

/** The methods of operations that change something. */
const METHODS: Readonly<Record<string, string>> = {
  create: 'POST',
  replace: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
}

/**
 * Lists of `fields` and `sort` are joined by commas; any other list is a parameter given several times.
 * An empty one of a filter is fulfilled by no item, as no item is without an id.
 */
function toParameters(parameters: ListParameters, id: string): Parameter[] {
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
