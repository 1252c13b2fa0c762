// Lines of work that wait for each other: one for each key of an owner.

export class Lines<Key> {
  /** By owner, then by key, as long as a call waits. */
  readonly #lines = new WeakMap<object, Map<Key, Promise<void>>>()

  /**
   * Does work when all earlier work of the key has ended.
   * @param patience in milliseconds: then it no longer waits. Default: no limit.
   */
  run<T>(owner: object, key: Key, work: () => Promise<T>, patience?: number): Promise<T> {
    const ends = this.#lines.get(owner) ?? new Map<Key, Promise<void>>()
    this.#lines.set(owner, ends)
    const earlier = ends.get(key) ?? Promise.resolve()
    const mine = (patience === undefined ? earlier : waitAtMost(patience, earlier)).then(work)
    const end = () => {
      if (ends.get(key) === settled) ends.delete(key)
    }
    const settled: Promise<void> = mine.then(end, end)
    ends.set(key, settled)
    return mine
  }
}

async function waitAtMost(milliseconds: number, ended: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([ended, over])
  clearTimeout(timer)
}
