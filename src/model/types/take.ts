// The items that are handed out to jobs: the types of `take`.
import type { Def, DefItem } from './collection-types.ts'

/** How many items a job takes, and for how long it has each. */
export interface TakeOptions {
  /** The maximum of items. Default: all that are free. */
  readonly limit?: number | undefined
  /** How long an item is yours after a crash, in seconds. While your loop runs the lease is renewed. Default 60. */
  readonly lease?: number | undefined
  /** How often an item may be taken. After that it is left out, and `onPoison` names it. It needs `attempts`. Default: any number. */
  readonly maxAttempts?: number | undefined
  /** Ends the loop before the next item: it throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** The jobs of a collection, if its declaration has `lease`. */
export type TakeOf<D extends Def> = [D['lease']] extends [never] ? unknown : Takes<D>

export interface Takes<D extends Def> {
  /**
   * Takes one item after the other, each for you alone until its lease ends: on several servers, too. Delete the item, or
   * patch it, when its work is done. If the body throws or breaks, the item is free at once; after a crash, when its lease
   * ends. If you lost the lease, `delete(item)` and `patch(item)` throw a `ConflictError` (409). No hook runs, and
   * `updated_at` stays.
   * @throws TypeError without `asSystem()`, and in a transaction.
   * @example
   * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
   * import { z } from 'zod'
   * const schema = z.object({ text: z.string(), taken_until: z.iso.datetime().optional() })
   * const mails = defineCollection({ name: 'mails', schema, store: memoryStore(), lease: 'taken_until' })
   * const api = defineApi({ collections: { mails } })
   * for await (const mail of api.asSystem().collection('mails').take({ limit: 10 })) {
   *   console.log(mail.text)
   *   await api.collection('mails').delete(mail)
   * }
   */
  take(options?: TakeOptions): AsyncIterable<DefItem<D>>
}
