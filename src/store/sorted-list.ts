// A sorted list in chunks: adding, removing, and finding the position of any value cost a few
// microseconds at 100,000 entries, where one long array would move half of itself.

/** A chunk is halved when it grows beyond this. */
const CHUNK = 512

/** Negative for entries before a place, zero at it, positive after it; it must grow with the entries. */
export type Probe<T> = (entry: T) => number

export class SortedList<T> {
  readonly #compare: (one: T, other: T) => number
  #chunks: T[][] = []
  /** The position of each chunk's first entry; absent after a change until it is needed. */
  #starts: number[] | undefined
  #size = 0

  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#size
  }

  /** Adds an entry; its place among equal entries is not defined. */
  add(entry: T): void {
    this.#size++
    const last = this.#chunks.at(-1)
    const end = last?.at(-1)
    // Ids and dates grow: a list that grows at its end leaves full chunks behind.
    if (!last || end === undefined || this.#compare(end, entry) <= 0) {
      if (last && last.length < CHUNK) last.push(entry)
      else {
        this.#chunks.push([entry])
        this.#starts = undefined
      }
      return
    }
    this.#starts = undefined
    const probe = (other: T) => this.#compare(other, entry)
    const [at, chunk] = this.#findChunk(probe)
    chunk?.splice(firstNotBelow(chunk, probe), 0, entry)
    if (chunk && chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2))
  }

  /** Removes the entry that compares as equal; does nothing without one. */
  remove(entry: T): void {
    const probe = (other: T) => this.#compare(other, entry)
    const [at, chunk] = this.#findChunk(probe)
    const position = chunk ? firstNotBelow(chunk, probe) : 0
    const found = chunk?.[position]
    if (!chunk || found === undefined || probe(found) !== 0) return
    chunk.splice(position, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
    this.#starts = undefined
    this.#size--
  }

  /** Counts the entries before a place. */
  rank(probe: Probe<T>): number {
    const [at, chunk] = this.#findChunk(probe)
    return chunk ? this.#start(at) + firstNotBelow(chunk, probe) : 0
  }

  /** The entry at a position from 0. */
  at(position: number): T | undefined {
    const chunk = this.#locate(position)
    return this.#chunks[chunk]?.[position - this.#start(chunk)]
  }

  /** Copies the entries from a position up to another (exclusive), or the same backwards. */
  slice(from: number, to: number, backward = false): T[] {
    const end = Math.min(to, this.#size)
    const entries: T[] = []
    for (let at = this.#locate(from), position = from; position < end; at++) {
      const start = this.#start(at)
      const part = this.#chunks[at]?.slice(position - start, end - start) ?? []
      if (entries.length === 0 && start + (this.#chunks[at]?.length ?? 0) >= end) {
        return backward ? part.reverse() : part
      }
      for (const entry of part) entries.push(entry)
      position += part.length
    }
    return backward ? entries.reverse() : entries
  }

  /** Walks the same entries as {@link slice}, without a copy. */
  *walk(from: number, to: number, backward = false): Generator<T> {
    const end = Math.min(to, this.#size)
    const step = BATCH * (backward ? -1 : 1)
    for (let at = backward ? end : from; backward ? at > from : at < end; at += step) {
      yield* backward
        ? this.slice(Math.max(from, at - BATCH), at, true)
        : this.slice(at, Math.min(end, at + BATCH))
    }
  }

  #start(chunk: number): number {
    return this.#listStarts()[chunk] ?? 0
  }

  #listStarts(): readonly number[] {
    if (this.#starts) return this.#starts
    let position = 0
    this.#starts = this.#chunks.map(({ length }) => {
      position += length
      return position - length
    })
    return this.#starts
  }

  /** The chunk that holds a position. */
  #locate(position: number): number {
    const starts = this.#listStarts()
    return Math.max(0, firstNotBelow(starts, start => (start <= position ? -1 : 1)) - 1)
  }

  /** The first chunk whose last entry is not before the place; the last chunk where all are. */
  #findChunk(probe: Probe<T>): [at: number, chunk: T[] | undefined] {
    const at = firstNotBelow(this.#chunks, chunk => probe(chunk.at(-1) as T)) // no chunk is empty
    const within = Math.max(0, Math.min(at, this.#chunks.length - 1))
    return [within, this.#chunks[within]]
  }
}

/** How many entries a walk copies at a time. */
const BATCH = 64

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
