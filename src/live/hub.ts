// Follows the changes of one store for all streams of it: streams at the same position are told together.

import { takeTurnIfDue, waitForPass } from '../base/turns.ts'
import type { Item } from '../base/values.ts'
import type { Change, ReadChanges, StoreChanges } from '../store/changes.ts'
import type { Id, Stored } from '../store/store.ts'
import { MAX_SET } from '../store/writes.ts'
import type { Shown } from './shown.ts'

/** How often the log is read, in milliseconds, where nobody says that there is something new; after a failure less often. */
const POLL_MS = 100
const PAUSE_MS = 1000

/** How many changes are read at a time, and for how many positions. */
const MAX_CHANGES = 500
const MAX_READS = 8

/** How many streams get a change before other work has its turn. */
const MAX_TOLD = 100

/** What a stream is told: the items that are in its list now, and ids that are not, as JSON without brackets. */
export interface ListUpdate {
  readonly items: string
  readonly removed: string
  /** Its events, which equal streams have in common; kept by the first that prints them. */
  printed?: string
}

/** What has become of an item over several changes. */
interface Net {
  readonly befores: Item[]
  after: Item | undefined
}

/** A stream, as the hub tells it of changes. */
export interface Follower {
  readonly shown: Shown
  /** The ids that it shows, where the store alone can tell what is in the list. */
  readonly ids: Set<Id> | undefined
  /** Where it is: the hub sets it, and a stream that ends or begins anew leaves it. */
  group: Followers | undefined
  /** Begins anew. */
  begin(): void
  /**
   * Tells what has changed up to a position.
   * @param isCurrent whether that is all: then the list is shown.
   */
  tell(update: ListUpdate, position: string, isCurrent: boolean): void
}

/** The streams at one position. */
export type Followers = Set<Follower>

export class Hub {
  readonly report: (error: unknown) => void
  readonly #changes: StoreChanges
  /** By their positions. One that is being read from is not among them: who joins by then may have seen more. */
  readonly #groups = new Map<string, Followers>()
  /** A position that is reached: a stream that begins with the list may go on from there. */
  #reached: string | undefined
  #isRunning = false
  #isRoused = false
  #wake: (() => void) | undefined

  /** @param report is called with failures of the store. */
  constructor(changes: StoreChanges, report: (error: unknown) => void) {
    this.#changes = changes
    this.report = report
  }

  /** How many milliseconds changes have waited for a transaction that goes on. */
  get late(): number {
    return this.#changes.late?.() ?? 0
  }

  async findPosition(): Promise<string> {
    return this.#reached ?? this.#changes.position()
  }

  /** Tells a stream what has changed since a position, and from then on. */
  join(follower: Follower, position: string): void {
    follower.group = new Set([follower])
    this.#put(follower.group, position)
    this.#rouse()
    if (!this.#isRunning) void this.#run()
  }

  #put(group: Followers, position: string): void {
    const there = this.#groups.get(position)
    if (there) for (const each of group) each.group = there.add(each)
    else if (group.size > 0) this.#groups.set(position, group)
  }

  readonly #rouse = (): void => {
    this.#isRoused = true
    this.#wake?.()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    const unlisten = this.#changes.listen?.(this.#rouse)
    let isFailing = false
    while (this.#groups.size > 0) {
      this.#isRoused = false
      try {
        const hasMore = await this.#readAll()
        isFailing = false
        if (!hasMore && !this.#isRoused) await this.#sleep(POLL_MS)
      } catch (error) {
        // Where nobody follows any more, the store may be closed.
        if (!isFailing && this.#groups.size > 0) this.report(error)
        isFailing = true
        await this.#sleep(PAUSE_MS)
      }
      await waitForPass()
    }
    unlisten?.()
    this.#reached = undefined
    this.#isRunning = false
  }

  #sleep(time: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, time)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Reads on for each position. @returns whether there is more to read at once. */
  async #readAll(): Promise<boolean> {
    const groups = [...this.#groups].filter(([, { size }]) => size > 0)
    this.#groups.clear()
    const reads: PromiseSettledResult<boolean>[] = []
    for (let at = 0; at < groups.length; at += MAX_READS) {
      const some = groups.slice(at, at + MAX_READS).map(each => this.#readFrom(...each))
      reads.push(...(await Promise.allSettled(some)))
    }
    for (const each of reads) if (each.status === 'rejected') throw each.reason
    return reads.some(each => each.status === 'fulfilled' && each.value)
  }

  async #readFrom(position: string, group: Followers): Promise<boolean> {
    let next = position
    try {
      const read = await this.#changes.read(position, MAX_CHANGES)
      if (read === 'gone') {
        if (this.#reached === position) this.#reached = undefined
        for (const each of group) each.begin()
        return false
      }
      next = read.position
      if (read.current) this.#reached = next
      await this.#tell(group, read)
      return !read.current && read.changes.length > 0
    } finally {
      this.#put(group, next)
    }
  }

  async #tell(group: Followers, { changes, position, current }: ReadChanges): Promise<void> {
    const net = toNet(changes)
    const updates = new Map<unknown, ListUpdate | undefined>()
    let told = 0
    for (const each of group) {
      const { shown } = each
      const key = shown.matches ? shown.key : each
      if (!updates.has(key)) updates.set(key, await this.#findUpdate(each, net))
      const update = updates.get(key)
      if (!update) each.begin()
      // It may have begun anew meanwhile.
      else if (group.has(each)) each.tell(update, position, current)
      if (++told % MAX_TOLD === 0) await takeTurnIfDue()
    }
  }

  /** @returns `undefined` for a stream that must begin anew. */
  async #findUpdate(each: Follower, net: ReadonlyMap<Id, Net>): Promise<ListUpdate | undefined> {
    try {
      return await findUpdate(each, net)
    } catch (error) {
      this.report(error)
      return undefined
    }
  }
}

function toNet(changes: readonly Change[]): ReadonlyMap<Id, Net> {
  const net = new Map<Id, Net>()
  for (const { id, before, after } of changes) {
    const known = net.get(id) ?? { befores: [], after }
    if (before) known.befores.push(before)
    known.after = after
    net.set(id, known)
  }
  return net
}

/**
 * Finds what a stream sends; `undefined` if it must begin anew, as it is unknown what was in the list. An item was in
 * its list if it was at any time: the list may have been read then.
 */
async function findUpdate(
  follower: Follower,
  net: ReadonlyMap<Id, Net>,
): Promise<ListUpdate | undefined> {
  const { shown, ids } = follower
  const { matches } = shown
  const items: Pick<Stored, 'id' | 'item'>[] = []
  const removed: Id[] = []
  if (matches) {
    const isUnknown = (each: Item | undefined) => each !== undefined && shown.isUnknown(each)
    if ([...net.values()].some(({ befores, after }) => [after, ...befores].some(isUnknown)))
      return undefined
    for (const [id, { befores, after }] of net) {
      if (after && matches(after)) items.push({ id, item: after })
      else if (befores.some(matches)) removed.push(id)
    }
  } else {
    const changed = [...net.keys()]
    for (let at = 0; at < changed.length; at += MAX_SET)
      items.push(...(await shown.find(changed.slice(at, at + MAX_SET))))
    const found = new Set(items.map(({ id }) => id))
    for (const id of found) ids?.add(id)
    removed.push(...changed.filter(id => !found.has(id) && ids?.delete(id)))
  }
  const printed = items.length === 0 ? '' : await shown.print(items)
  return { items: printed, removed: removed.map(id => JSON.stringify(id)).join(',') }
}
