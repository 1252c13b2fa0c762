// Several changes as one: the steps are collected, and sent as one request.
import type { Def, DefChanges, DefInput, DefItem, IdOf } from '../model/types/collection-types.ts'
import type { ByClient, CallOptions } from '../model/types/resource.ts'
import { notAnAnswer } from './errors.ts'
import { isObject } from './query.ts'
import { type ClientState, createProxy, findSources, isList, toSegment } from './resource.ts'

/** A step of a batch. Its `id` stands for the id of its item: in a reference of a later step, or as its target. */
export interface BatchStep<T> {
  readonly id: T extends { readonly id: infer I } ? I : never
  /** For types alone. */
  readonly item?: T
}

/** Options of a step that changes an item. */
export interface StepOptions {
  /** The version that the item must have. Default: any. */
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
  /** Whether it is only tried: the answer is what would be, and nothing is kept. Default false. */
  readonly dryRun?: boolean | undefined
}

/**
 * Does all steps, or none. It is repeated safely by its key.
 * @param build calls the steps; it gives those whose items are wanted.
 * @throws HttpError of the first step that fails: its issues have the number of the step.
 */
export type Batch<Named extends Readonly<Record<string, { readonly def: Def }>>> = <
  const S extends readonly BatchStep<unknown>[],
>(
  build: (steps: BatchSteps<Named>) => S,
  options?: BatchOptions,
) => Promise<{ readonly [N in keyof S]: S[N] extends BatchStep<infer T> ? T : never }>

type BatchSteps<Named extends Readonly<Record<string, { readonly def: Def }>>> = {
  readonly [N in keyof Named]: BatchResource<ByClient<Named[N]['def']>>
}

type Untyped = Readonly<Record<string, unknown>>

/** @param root of the version. */
export function createBatch(root: string, state: ClientState) {
  return async (
    build: (steps: object) => readonly object[],
    { signal, dryRun }: BatchOptions = {},
  ): Promise<readonly unknown[]> => {
    const sent: Untyped[] = []
    const places = new Map<object, readonly [at: number, name: string]>()
    const add = (name: string, method: string, id: unknown, more?: Untyped) => {
      const as = `s${sent.length}`
      const step = { id: `{${as}}` }
      const path = id === undefined ? `/${name}` : `/${name}/${toPathId(id, name)}`
      places.set(step, [sent.length, name])
      sent.push({ method, path, ...(method !== 'DELETE' && { as }), ...more })
      return step
    }
    const steps = createProxy<object>({}, name => ({
      create: (body: unknown) => add(name, 'POST', undefined, { body }),
      read: (id: unknown) => add(name, 'GET', id ?? ''),
      replace: (id: unknown, body: unknown, { ifMatch }: StepOptions = {}) =>
        add(name, 'PUT', id ?? '', { body, 'if-match': ifMatch }),
      patch: (id: unknown, body: unknown, { ifMatch }: StepOptions = {}) =>
        add(name, 'PATCH', id ?? '', { body, 'if-match': ifMatch }),
      delete: (id: unknown, { ifMatch }: StepOptions = {}) =>
        add(name, 'DELETE', id ?? '', { 'if-match': ifMatch }),
    }))
    const wanted = build(steps)
    const reply = await state.send({
      method: 'POST',
      url: `${root}/batch`,
      place: 'batch',
      headers: { prefer: dryRun ? 'tx=rollback' : undefined },
      body: sent,
      signal,
    })
    const { value } = reply
    if (!isList(value) || value.length !== sent.length) throw notAnAnswer(reply)
    return wanted.map(step => {
      const [at, name] = places.get(step) ?? []
      if (at === undefined || name === undefined)
        throw new TypeError('A batch gives what its own steps gave')
      const { body, etag } = value[at] ?? {}
      if (!isObject(body)) throw notAnAnswer(reply)
      if (typeof etag === 'string') findSources(state, name).set(body, etag)
      return body
    })
  }
}

/** The name of an earlier step stays as it is. */
function toPathId(id: unknown, name: string): string {
  return /^\{s\d+\}$/.test(String(id)) ? String(id) : toSegment(id, name)
}
