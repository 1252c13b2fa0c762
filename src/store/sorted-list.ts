// A sorted list in chunks: adding, removing, and the position of any value cost a few microseconds
// at 100,000 entries, where one long array would move half of itself.

/** A chunk is halved when it grows beyond this. */
const CHUNK = 512

/** Below zero for entries before a place, zero for those at it, above for those after; it must not go back. */
export type Probe<T> = (entry: T) => number

export class SortedList<T> {
  readonly #compare: (one: T, other: T) => number
  #chunks: T[][] = []
  #size = 0

  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#size
  }

  /** Adds an entry; where it stands among equal ones is not said. */
  add(entry: T): void {
    this.#size++
    const last = this.#chunks.at(-1)
    const end = last?.at(-1)
    // Ids and dates grow: a list that grows at its end leaves full chunks behind.
    if (!last || end === undefined || this.#compare(end, entry) <= 0) {
      if (last && last.length < CHUNK) last.push(entry)
      else this.#chunks.push([entry])
      return
    }
    const probe = (other: T) => this.#compare(other, entry)
    const [at, chunk] = this.#chunkOf(probe)
    chunk?.splice(firstNotBelow(chunk, probe), 0, entry)
    if (chunk && chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2))
  }

  /** Removes the entry that compares as equal; does nothing where there is none. */
  remove(entry: T): void {
    const probe = (other: T) => this.#compare(other, entry)
    const [at, chunk] = this.#chunkOf(probe)
    const position = chunk ? firstNotBelow(chunk, probe) : 0
    const found = chunk?.[position]
    if (!chunk || found === undefined || probe(found) !== 0) return
    chunk.splice(position, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
    this.#size--
  }

  /** How many entries stand before a place. */
  rank(probe: Probe<T>): number {
    const [at, chunk] = this.#chunkOf(probe)
    let before = chunk ? firstNotBelow(chunk, probe) : 0
    let left = at
    for (const { length } of this.#chunks) {
      if (left-- === 0) break
      before += length
    }
    return before
  }

  /** The entry at a position from 0. */
  at(position: number): T | undefined {
    const [chunk, within] = this.#locate(position)
    return this.#chunks[chunk]?.[within]
  }

  /** The entries from a position up to another (exclusive), or the same backwards. */
  *slice(from: number, to: number, backward = false): Generator<T> {
    let left = Math.min(to, this.#size) - from
    if (left <= 0) return
    const step = backward ? -1 : 1
    let [at, within] = this.#locate(backward ? from + left - 1 : from)
    let chunk = this.#chunks[at]
    for (; left > 0 && chunk; left--) {
      yield chunk[within] as T // a place within the chunk
      within += step
      if (within >= 0 && within < chunk.length) continue
      at += step
      chunk = this.#chunks[at]
      within = backward ? (chunk?.length ?? 0) - 1 : 0
    }
  }

  #locate(position: number): [chunk: number, within: number] {
    let left = position
    let at = 0
    for (const { length } of this.#chunks) {
      if (left < length) return [at, left]
      left -= length
      at++
    }
    return [at, 0]
  }

  /** The first chunk whose last entry is not before the place; the last chunk where all are. */
  #chunkOf(probe: Probe<T>): [at: number, chunk: T[] | undefined] {
    const last = this.#chunks.length - 1
    let low = 0
    let high = Math.max(last, 0)
    while (low < high) {
      const middle = (low + high) >> 1
      const end = this.#chunks[middle]?.at(-1)
      if (end !== undefined && probe(end) < 0) low = middle + 1
      else high = middle
    }
    return [low, this.#chunks[low]]
  }
}

function firstNotBelow<T>(entries: readonly T[], probe: Probe<T>): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    // Always within the array: low <= middle < high <= length.
    if (probe(entries[middle] as T) < 0) low = middle + 1
    else high = middle
  }
  return low
}
