// Follows the changes of one store for all streams of it: streams at the same position are told together.

import { takeTurnIfDue, waitForPass } from '../base/turns.ts'
import type { Item } from '../base/values.ts'
import type { Change, StoreChanges } from '../store/changes.ts'
import type { Id, Stored } from '../store/store.ts'
import { MAX_SET } from '../store/writes.ts'
import type { Shown } from './shown.ts'

/** How often the log is read, in milliseconds, where nobody says that there is something new; after a failure less often. */
const POLL_MS = 100
const PAUSE_MS = 1000

/** How many changes are read at a time, and for how many positions. */
const MAX_CHANGES = 500
const MAX_READS = 8

/** What a stream is told: the items that are in its list now, and ids that are not, as JSON without brackets. */
export interface ListUpdate {
  readonly items: string
  readonly removed: string
}

const NO_UPDATE: ListUpdate = { items: '', removed: '' }

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
  readonly ended: boolean
  seat: Seat | undefined
  /** Begins anew. */
  begin(): void
  /**
   * Tells what has changed up to a position.
   * @param isCurrent whether that is all: then the list is shown.
   */
  tell(update: ListUpdate, position: string, isCurrent: boolean): void
}

/** The place of a stream at a position; it has another one when it has moved on, or begun anew. */
export interface Seat {
  readonly follower: Follower
  readonly position: string
}

export class Hub {
  readonly report: (error: unknown) => void
  readonly #changes: StoreChanges
  readonly #groups = new Map<string, Set<Seat>>()
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
    this.#seat(follower, position)
    this.#rouse()
    if (!this.#isRunning) void this.#run()
  }

  leave({ seat }: Follower): void {
    if (!seat) return
    const group = this.#groups.get(seat.position)
    if (group?.delete(seat) && group.size === 0) this.#groups.delete(seat.position)
  }

  #seat(follower: Follower, position: string): Seat {
    this.leave(follower)
    const seat = { follower, position }
    follower.seat = seat
    const group = this.#groups.get(position) ?? new Set()
    this.#groups.set(position, group.add(seat))
    return seat
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
    const positions = [...this.#groups.keys()]
    const more: boolean[] = []
    for (let at = 0; at < positions.length; at += MAX_READS) {
      const some = positions.slice(at, at + MAX_READS)
      more.push(...(await Promise.all(some.map(position => this.#readFrom(position)))))
    }
    return more.includes(true)
  }

  async #readFrom(position: string): Promise<boolean> {
    // Before the read: for who joins later it may not reach what its list has.
    const seats = [...(this.#groups.get(position) ?? [])]
    const read = await this.#changes.read(position, MAX_CHANGES)
    const isTaken = (seat: Seat) => seat.follower.seat === seat && !seat.follower.ended
    if (read === 'gone') {
      if (this.#reached === position) this.#reached = undefined
      for (const seat of seats) if (isTaken(seat)) seat.follower.begin()
      return false
    }
    const { changes, position: next, current } = read
    if (current) this.#reached = next
    const moved = seats
      .filter(isTaken)
      .map(({ follower }) => (next === position ? follower.seat : this.#seat(follower, next)))
    const net = toNet(changes)
    const updates = new Map<string, ListUpdate>()
    for (const seat of moved) {
      if (!seat || !isTaken(seat)) continue
      const { shown } = seat.follower
      const known = net.size === 0 ? NO_UPDATE : shown.matches && updates.get(shown.key)
      const update = known ?? (await findUpdate(seat.follower, net))
      if (!update) {
        seat.follower.begin()
        continue
      }
      updates.set(shown.key, update)
      // It may have begun anew meanwhile.
      if (isTaken(seat)) seat.follower.tell(update, next, current)
      await takeTurnIfDue()
    }
    return !current && changes.length > 0
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
 * Finds what a stream is told; `undefined` if it must begin anew, as it is unknown what was in the list. An item was in
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
