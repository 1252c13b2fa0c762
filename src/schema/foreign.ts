// Members of an item that its schema does not know, since another version of its collection declares
// them: set aside while the schema checks a change, and put back.
import { type Field, getPropertyField, hasParts } from './fields.ts'
import { elementsBefore } from './keeping.ts'
import { hasOneType } from './scalars.ts'
import { getProperty, type Item, isObject, type Json, sameJson } from './values.ts'

/**
 * A value without what is foreign to the schema and stays as it is: a strict one would refuse it.
 * @param field what the schema takes.
 * @param output what it gives.
 */
export function withoutForeign(
  current: Json | undefined,
  next: Json,
  field: Field | undefined,
  output: Field | undefined,
): Json {
  if (!hasParts(field)) return next
  if (Array.isArray(next)) {
    if (!hasParts(field.element)) return next
    const before = elementsBefore(current, next)
    return next.map((each, at) => withoutForeign(before[at], each, field.element, output?.element))
  }
  if (!isObject(current) || !isObject(next)) return next
  const own = Object.entries(next)
    .filter(
      ([name, value]) =>
        !isForeign(current, name, field, output) || !sameJson(value, current[name] ?? null),
    )
    .map(([name, value]) => [
      name,
      withoutForeign(
        getProperty(current, name),
        value,
        getPropertyField(field, name),
        getPropertyField(output, name),
      ),
    ])
  return Object.fromEntries(own)
}

/** What a schema gave of a patched value, and what {@link withoutForeign} had taken from that. */
export function withForeign(
  current: Json | undefined,
  patched: Json | undefined,
  given: Json,
  field: Field | undefined,
  output: Field | undefined,
): Json {
  if (!hasParts(field)) return given
  if (Array.isArray(patched) && Array.isArray(given)) {
    if (!hasParts(field.element)) return given
    const element = [field.element, output?.element] as const
    const before = elementsBefore(current, patched)
    return given.map((each, at) => {
      const wanted = patched[at] ?? null
      // A schema may have put the elements in another order: one is told by what was sent of it.
      const same = holds(each, withoutForeign(before[at], wanted, ...element))
      return same ? withForeign(before[at], wanted, each, ...element) : each
    })
  }
  if (!isObject(current) || !isObject(patched) || !isObject(given)) return given
  const whole = { ...given }
  for (const [name, value] of Object.entries(patched)) {
    if (isForeign(current, name, field, output)) whole[name] = value
    else if (Object.hasOwn(given, name))
      whole[name] = withForeign(
        getProperty(current, name),
        value,
        given[name] ?? null,
        getPropertyField(field, name),
        getPropertyField(output, name),
      )
  }
  return whole
}

/** Whether a value is another one, but for properties that a schema added to it. */
function holds(value: Json | undefined, other: Json | undefined): boolean {
  if (Array.isArray(value) && Array.isArray(other))
    return value.length === other.length && value.every((each, at) => holds(each, other[at]))
  if (isObject(value) && isObject(other))
    return Object.entries(other).every(([name, each]) => holds(getProperty(value, name), each))
  return value === other
}

/** Whether a property that an item has is of another version of its collection. */
function isForeign(
  current: Item,
  name: string,
  field: Field | undefined,
  output: Field | undefined,
): boolean {
  return Object.hasOwn(current, name) && !knows(field, name) && !knows(output, name)
}

/** Whether a field may have a property of this name, as far as it tells. */
function knows(field: Field | undefined, name: string): boolean {
  if (field?.options)
    return field.options.some(option => !hasOneType(option.kind) && knows(option, name))
  return !field?.properties || field.open === true || field.properties.has(name)
}
