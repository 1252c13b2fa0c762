/** Remembers what a function gives for an object, for as long as that object lives. */
export function memoize<Key extends object, Result>(
  build: (key: Key) => Result & {},
): (key: Key) => Result {
  // The one way to remember by an object: see the users for why each does.
  const results = new WeakMap<Key, Result>()
  return key => {
    const known = results.get(key)
    if (known !== undefined) return known
    const result = build(key)
    results.set(key, result)
    return result
  }
}
