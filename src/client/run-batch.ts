// A batch: collects several changes as steps, and sends them in one request.
import type { Def, DefChanges, DefInput, DefItem, IdOf } from '../model/types/collection-types.ts'
import type { ByClient, CallOptions } from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { notAnAnswer } from './errors.ts'
import {
  type ClientState,
  COLLECTION,
  type CollectionPlace,
  printPath,
  remember,
  stateOf,
} from './place.ts'
import { isObject } from './query-string.ts'
import { isList } from './reads.ts'
import { createProxy } from './resource.ts'

/** A step of a batch. Its `id` stands for the id of its item: in a reference of a later step, or as its target. */
export interface BatchStep<T> {
  readonly id: T extends { readonly id: infer I } ? I : never
  /** Only for types. */
  readonly item?: T
}

/** Options of a step that changes an item. */
export interface StepOptions {
  /** The version that the item must have: `versionOf` an item that was read by itself, not in a list. Default: no condition. */
  readonly version?: string | undefined
  /** The entity tag that the item must have. */
  readonly ifMatch?: string | undefined
}

/** What a step does with one collection. Targets are ids. */
export interface BatchResource<D extends Def> {
  /** Creates an item. */
  create(item: DefInput<D>): BatchStep<DefItem<D>>
  /** Reads an item, with the changes of the steps before. */
  read(id: IdOf<D>): BatchStep<DefItem<D>>
  /** Replaces all values of an item. */
  replace(id: IdOf<D>, item: DefInput<D>, options?: StepOptions): BatchStep<DefItem<D>>
  /** Applies a JSON Merge Patch to an item. */
  patch(id: IdOf<D>, changes: DefChanges<D>, options?: StepOptions): BatchStep<DefItem<D>>
  /** Deletes an item and gives its last values. */
  delete(id: IdOf<D>, options?: StepOptions): BatchStep<DefItem<D>>
}

/** Options of a batch. */
export interface BatchOptions extends CallOptions {
  /** Dry run: the items are those that the batch would give, and the server undoes all changes. Default false. */
  readonly dryRun?: boolean | undefined
}

/** The steps of a batch, by collection. */
export type BatchSteps<Named> = {
  readonly [N in keyof Named]: Named[N] extends { readonly def: infer D extends Def }
    ? BatchResource<ByClient<D>>
    : never
}

/** The items of the steps that a batch gives. */
export type BatchItems<S extends readonly BatchStep<unknown>[]> = {
  readonly [N in keyof S]: S[N] extends BatchStep<infer T> ? T : never
}

/** A step that has written. */
export interface WrittenStep extends CollectionPlace {
  readonly method: string
  readonly item: Untyped
}

type Untyped = Readonly<Record<string, unknown>>

/** @param onDone is called with each step that has written. */
export async function runBatch<Named, const S extends readonly BatchStep<unknown>[]>(
  client: ClientOf<Named>,
  build: (steps: BatchSteps<Named>) => S,
  { dryRun, ...options }: BatchOptions = {},
  onDone?: (step: WrittenStep) => void,
): Promise<BatchItems<S>> {
  const state = stateOf(client, 'batch')
  const { steps, sent, places, placeOf } = collectSteps(state.ids)
  const wanted = build(steps as BatchSteps<Named>) // the types of the collections describe these
  const reply = await state.send('POST', 'batch', {
    headers: { prefer: dryRun ? 'tx=rollback' : undefined },
    body: sent,
    options,
  })
  const { value } = reply
  if (!isList(value) || value.length !== sent.length) throw notAnAnswer(reply)
  const read = ([at, place]: StepPlace) => {
    const { body, etag } = value[at] ?? {}
    if (!isObject(body)) throw notAnAnswer(reply)
    remember(body, place, String(etag ?? ''))
    return body
  }
  const items = wanted.map(step => read(placeOf(step)))
  if (onDone)
    for (const place of places.values()) {
      const method = String(sent[place[0]]?.method)
      if (method !== 'GET') onDone({ ...place[1], method, item: read(place) })
    }
  return items as never // each has the type of its step
}

/** The position of a step in its batch, and its collection. */
type StepPlace = readonly [at: number, place: CollectionPlace]

/** Collects the steps that a program calls, as they are sent. */
function collectSteps(ids: ClientState['ids']) {
  const sent: Untyped[] = []
  const places = new Map<object, StepPlace>()

  const add = (
    place: CollectionPlace,
    method: string,
    id: unknown,
    body?: unknown,
    options?: StepOptions,
  ) => {
    const at = sent.length
    const step = { id: `{s${at}}` }
    const { name } = place
    // A reference to an earlier step is sent as it is.
    const isStep = /^\{s\d+\}$/.test(String(id))
    const path = isStep ? `${name}/${id}` : printPath(id, place)
    sent.push({
      method,
      path: `/${path}`,
      ...(method !== 'DELETE' && { as: `s${at}` }),
      body,
      'if-match': options?.version === undefined ? options?.ifMatch : tagIn(options.version, path),
    })
    places.set(step, [at, place])
    return step
  }
  const steps = createProxy<object>({}, name => {
    const place = { name, id: ids[name] ?? 'id' }
    return {
      create: (body: unknown) => add(place, 'POST', COLLECTION, body),
      read: (id: unknown) => add(place, 'GET', id),
      replace: (id: unknown, body: unknown, options?: StepOptions) =>
        add(place, 'PUT', id, body, options),
      patch: (id: unknown, body: unknown, options?: StepOptions) =>
        add(place, 'PATCH', id, body, options),
      delete: (id: unknown, options?: StepOptions) => add(place, 'DELETE', id, undefined, options),
    }
  })
  const placeOf = (step: object) => {
    const found = places.get(step)
    if (!found) throw new TypeError('A batch gives what its own steps gave')
    return found
  }
  return { steps, sent, places, placeOf }
}

/** Finds the entity tag in the version of an item. @throws TypeError for that of an item of a list, and of another item */
function tagIn(version: string, path: string): string {
  const [tag, of, hash] = version.split(' ')
  if (tag && of === path && !hash) return tag
  throw new TypeError(
    `A step needs the version of ${path} as it was read or written, not ${version}. Items of a list have no version: read it first`,
  )
}
