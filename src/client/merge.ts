// Merge patches (RFC 7396), as programs show and make them.
import { isObject } from './query-string.ts'

/** Applies a merge patch (RFC 7396) for display: a null stays. */
export function merge(value: unknown, changes: unknown): unknown {
  if (!isObject(changes) || Array.isArray(changes)) return changes
  const merged: Record<string, unknown> = isObject(value) ? { ...value } : {}
  for (const [name, change] of Object.entries(changes)) merged[name] = merge(merged[name], change)
  return merged
}

/** Makes the merge patch for properties that may have changed. One that is absent has not; `undefined` removes one. */
export function compare(before: unknown, after: object): Readonly<Record<string, unknown>> {
  const changes: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(after)) {
    const known = Object(before)[name]
    if (JSON.stringify(value) === JSON.stringify(known)) continue
    changes[name] = isObject(known) && isObject(value) ? compare(known, value) : (value ?? null)
  }
  return changes
}
