// A document as it came: nothing in it is what it should be before it was looked at.

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Gives the value at a path, by own properties alone; `undefined` where there is none. */
export function getBelow(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const name of path) {
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, name)
    found = isThere ? (found as Record<string | number, unknown>)[name] : undefined // it is its own
  }
  return found
}

export function listEntries(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : []
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function listTexts(value: unknown): readonly string[] {
  return toList(value).filter(each => typeof each === 'string')
}

const COMPONENT = /^#\/components\/([^/]+)\/([^/]+)$/
/** The most references that follow each other. */
const MAX_REFERENCES = 30

/** Gives the name of the component that an object refers to. */
export function findReference(value: unknown): string | undefined {
  return COMPONENT.exec(String(getBelow(value, '$ref')))?.[2]
}

/** Follows the references of a value; `undefined` where they lead nowhere. */
export function resolve(document: JsonObject, value: unknown): unknown {
  let found = value
  for (let count = 0; count < MAX_REFERENCES; count++) {
    const reference = getBelow(found, '$ref')
    if (reference === undefined) return found
    const [, kind = '', name = ''] = COMPONENT.exec(String(reference)) ?? []
    found = getBelow(document, 'components', kind, name)
  }
  return undefined
}
