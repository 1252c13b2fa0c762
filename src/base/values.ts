// JSON values: what they are, whether two are equal, how texts are ordered.

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** An item as stored and printed: a JSON object. */
export type Item = { [name: string]: Json }

export type Scalar = string | number | boolean

/** A value, or a promise where something has to wait. */
export type Awaitable<T> = T | Promise<T>

/** Continues with a value, at once unless it is a promise: an `await` would cost every read a turn. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Reads an own property; `undefined` of what is not an object. */
export function getProperty(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** Returns an item without these properties. */
export function omit(item: Item, names: ReadonlySet<string>): Item {
  if (names.size === 0) return item
  const rest: Item = {}
  // Not by `fromEntries`: lists do this for each item.
  for (const [name, value] of Object.entries(item)) if (!names.has(name)) rest[name] = value
  return rest
}

/** The names of an object that has no others. */
export function namesOf<Name extends string>(object: Readonly<Record<Name, unknown>>): Name[] {
  return Object.keys(object) as Name[] // a constant of ours: its keys are all of them
}

export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

export function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Copies a JSON value at every depth. `structuredClone` takes seven times as long, which a create with a hook shows
 * (`npx tsx bench/added.ts`).
 */
export function cloneJson<Value extends Json>(value: Value): Value
export function cloneJson(value: Json): Json {
  if (Array.isArray(value)) return value.map(cloneJson)
  if (!isObject(value)) return value
  const copy: Item = {}
  for (const name of Object.keys(value)) copy[name] = cloneJson(value[name] as Json) // its own
  return copy
}

/** Freezes a JSON value at every depth, so that no program changes what a store holds. */
export function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const property of Object.values(value)) freezeDeep(property)
  Object.freeze(value)
}

/** Whether two JSON values are the same; the order of an object's properties does not count. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, at) => sameJson(value, other[at]))
  }
  if (!isObject(one) || !isObject(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every(name => Object.hasOwn(other, name) && sameJson(one[name], other[name]))
  )
}

/**
 * Compares texts by Unicode code point, as SQLite's `BINARY` and PostgreSQL's `"C"` do; JavaScript's
 * own `<` compares UTF-16 units and puts U+1F600 before U+FF5E.
 */
export function compareText(one: string, other: string): number {
  if (one === other) return 0
  const length = Math.min(one.length, other.length)
  let at = 0
  // A common beginning of long texts is skipped in pieces.
  while (at + PIECE < length && one.slice(at, at + PIECE) === other.slice(at, at + PIECE))
    at += PIECE
  for (; at < length; at++) {
    const a = one.charCodeAt(at)
    const b = other.charCodeAt(at)
    if (a !== b) return surrogatesLast(a) - surrogatesLast(b)
  }
  return one.length - other.length
}

const PIECE = 512

function surrogatesLast(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text is a UUID, in either case (RFC 9562 §4). */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
