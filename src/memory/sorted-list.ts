// A sorted list in chunks: adding, removing, and finding the position of any value cost a few
// microseconds at 100,000 entries, where one long array would move half of itself.

/** A chunk is halved when it grows beyond this. */
const CHUNK = 512

/** Entries and their keys, at the same positions: most comparisons read no more than a key. */
interface Chunk<K, T> {
  readonly keys: K[]
  readonly entries: T[]
}

/** For how many keys the place of the latest entry is known. */
const FEW_KEYS = 64

/** The position behind an entry. */
interface LatestPlace<K, T> {
  chunk: Chunk<K, T>
  next: number
}

/** Negative for entries before a place, zero at it, positive after it; it must grow with the entries. */
export type Probe<K, T> = (key: K, entry: T) => number

export class SortedList<K, T> {
  #chunks: Chunk<K, T>[] = []
  /** The position of each chunk's first entry; absent after a change until it is needed. */
  #starts: number[] | undefined
  /** Where the latest entry of each of few keys was added: as ids grow, the next one of the key belongs behind it. */
  readonly #latest = new Map<K, LatestPlace<K, T>>()

  /** Adds an entry at its place; its position among equal entries is not defined. */
  add(key: K, entry: T, place: Probe<K, T>): void {
    const last = this.#chunks.at(-1)
    // Ids and dates grow: a list that grows at its end leaves full chunks behind.
    if (!last || probeAt(last, last.keys.length - 1, place) <= 0) {
      if (last && last.keys.length < CHUNK) {
        last.keys.push(key)
        last.entries.push(entry)
      } else {
        this.#chunks.push({ keys: [key], entries: [entry] })
        this.#starts = undefined
      }
      return
    }
    this.#starts = undefined
    const latest = this.#findLatest(key, last)
    if (!isBetween(latest, place)) {
      latest.chunk = this.#findChunk(place)[1] ?? last
      latest.next = firstNotBelow(latest.chunk, place)
    }
    const { chunk } = latest
    chunk.keys.splice(latest.next, 0, key)
    chunk.entries.splice(latest.next++, 0, entry)
    if (chunk.keys.length <= CHUNK) return
    const half = { keys: chunk.keys.splice(CHUNK / 2), entries: chunk.entries.splice(CHUNK / 2) }
    this.#chunks.splice(this.#chunks.indexOf(chunk) + 1, 0, half)
  }

  /** Finds the place behind the latest entry of a key, if it is known; it may have moved since. */
  #findLatest(key: K, chunk: Chunk<K, T>): LatestPlace<K, T> {
    const known = this.#latest.get(key)
    if (known) return known
    const first = { chunk, next: 0 }
    if (this.#latest.size < FEW_KEYS) this.#latest.set(key, first)
    return first
  }

  /** Removes the entry at a place; does nothing without one. */
  remove(place: Probe<K, T>): void {
    const [at, chunk] = this.#findChunk(place)
    const position = chunk ? firstNotBelow(chunk, place) : 0
    if (!chunk || position === chunk.keys.length || probeAt(chunk, position, place) !== 0) return
    chunk.keys.splice(position, 1)
    chunk.entries.splice(position, 1)
    if (chunk.keys.length === 0) this.#chunks.splice(at, 1)
    this.#starts = undefined
  }

  /** Puts an entry with the same key in the place of another. */
  replace(entry: T, place: Probe<K, T>): void {
    const [, chunk] = this.#findChunk(place)
    if (chunk) chunk.entries[firstNotBelow(chunk, place)] = entry
  }

  /** Counts the entries before a place. */
  rank(probe: Probe<K, T>): number {
    const [at, chunk] = this.#findChunk(probe)
    return chunk ? this.#start(at) + firstNotBelow(chunk, probe) : 0
  }

  /**
   * Creates a function that copies the first entries at a place. It is called with places no two of which are equal; one
   * that follows the last is found without a search.
   */
  createReader(): (place: Probe<K, T>, limit: number) => T[] {
    let at = 0
    let chunk = this.#chunks[0]
    let position = 0
    return (place, limit) => {
      const follows = chunk && position < chunk.keys.length && probeAt(chunk, position, place) === 0
      if (!follows) {
        ;[at, chunk] = this.#findChunk(place)
        position = chunk ? firstNotBelow(chunk, place) : 0
      }
      const found: T[] = []
      while (chunk) {
        if (position === chunk.keys.length) {
          at++
          chunk = this.#chunks[at]
          position = 0
        } else if (found.length === limit || probeAt(chunk, position, place) !== 0) break
        else found.push(chunk.entries[position++] as T) // there is one
      }
      return found
    }
  }

  /** The entry at a position from 0. */
  at(position: number): T | undefined {
    const chunk = this.#locate(position)
    return this.#chunks[chunk]?.entries[position - this.#start(chunk)]
  }

  /** Copies the entries from a position up to another (exclusive), or the same backwards. */
  slice(from: number, to: number, backward = false): T[] {
    const parts: T[][] = []
    for (let at = this.#locate(from); at < this.#chunks.length && this.#start(at) < to; at++) {
      const start = this.#start(at)
      const entries = this.#chunks[at]?.entries ?? []
      parts.push(entries.slice(Math.max(0, from - start), to - start))
    }
    const [only = []] = parts
    // One call: a million entries are copied in some milliseconds.
    const copied = parts.length > 1 ? only.concat(...parts.slice(1)) : only
    return backward ? copied.reverse() : copied
  }

  /** Walks the same entries as {@link slice}, a few copied at a time. */
  *walk(from: number, to: number, backward = false): Generator<T> {
    for (let passed = 0; passed < to - from; passed += BATCH) {
      const end = to - passed
      const start = from + passed
      yield* backward
        ? this.slice(Math.max(from, end - BATCH), end, true)
        : this.slice(start, Math.min(to, start + BATCH))
    }
  }

  #start(chunk: number): number {
    return this.#listStarts()[chunk] ?? 0
  }

  #listStarts(): readonly number[] {
    if (this.#starts) return this.#starts
    let position = 0
    this.#starts = this.#chunks.map(({ keys }) => {
      position += keys.length
      return position - keys.length
    })
    return this.#starts
  }

  /** The chunk that holds a position. */
  #locate(position: number): number {
    const starts = this.#listStarts()
    return Math.max(0, search(starts.length, at => (starts[at] ?? 0) <= position) - 1)
  }

  /** The first chunk whose last entry is not before the place; the last chunk where all are. */
  #findChunk(place: Probe<K, T>): [at: number, chunk: Chunk<K, T> | undefined] {
    const chunks = this.#chunks
    const isBefore = (at: number) => {
      const chunk = chunks[at] as Chunk<K, T> // `search` asks for no other
      return probeAt(chunk, chunk.keys.length - 1, place) < 0
    }
    // Where all are before it the last chunk is found without a look at it.
    const at = search(chunks.length - 1, isBefore)
    return [at, chunks[at]]
  }
}

/** How many entries a walk copies at a time. */
const BATCH = 64

/** @param at within the chunk. */
function probeAt<K, T>({ keys, entries }: Chunk<K, T>, at: number, place: Probe<K, T>): number {
  return place(keys[at] as K, entries[at] as T)
}

/** Whether an entry belongs there: an empty chunk may be no part of the list any more. */
function isBetween<K, T>({ chunk, next }: LatestPlace<K, T>, place: Probe<K, T>): boolean {
  const isWithin = next > 0 && next < chunk.keys.length
  return isWithin && probeAt(chunk, next - 1, place) < 0 && probeAt(chunk, next, place) > 0
}

function firstNotBelow<K, T>(chunk: Chunk<K, T>, place: Probe<K, T>): number {
  return search(chunk.keys.length, at => probeAt(chunk, at, place) < 0)
}

/** Finds the first position below `high` that is not before a place; `high` where all are. */
function search(high: number, isBefore: (at: number) => boolean): number {
  let low = 0
  let end = high
  while (low < end) {
    const middle = (low + end) >> 1
    if (isBefore(middle)) low = middle + 1
    else end = middle
  }
  return low
}
