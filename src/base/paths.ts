// Dotted paths into an item: parses one, reads its value, picks several.
import { keepDigits, withDigits } from './exact-numbers.ts'
import { getProperty, type Item, isObject, type Json } from './values.ts'

/** `model.name` as `['model', 'name']`. */
export type Path = readonly string[]

export function toPath(dotted: string): Path {
  return dotted.split('.')
}

/** Reads the value at a path; `undefined` where the item or a parent lacks it. */
export function getValue(item: Json | undefined, path: Path): Json | undefined {
  let value = item
  for (const name of path) value = getProperty(value, name)
  return value
}

/**
 * Compiles a picker of paths: it copies exactly those properties, in the order in which they are named. A path
 * wins over paths below it; a parent that the item lacks is left out.
 */
export function picker(paths: readonly Path[]): (item: Item) => Item {
  const below = new Map<string, Path[]>()
  for (const [name, ...rest] of paths) {
    if (name !== undefined) below.set(name, [...(below.get(name) ?? []), rest])
  }
  const pickers = Array.from(below, ([name, parts]) => {
    const whole = parts.some(part => part.length === 0)
    return [name, whole ? undefined : picker(parts)] as const
  })
  return item => {
    const picked: Item = {}
    for (const [name, pick] of pickers) {
      const value = getProperty(item, name)
      if (value === undefined) continue
      if (!pick || value === null) picked[name] = value
      else if (isObject(value)) picked[name] = pickExact(value, pick)
    }
    return picked
  }
}

/** What is picked keeps the digits of its numbers. */
function pickExact(value: Item, pick: (item: Item) => Item): Item {
  const picked = pick(value)
  const exact = withDigits(value)
  if (exact !== value && isObject(exact)) keepDigits(picked, pick(exact))
  return picked
}
