// The meaning of an element without a `type` attribute, by its field. Writer and reader share it: the
// reader fills in what the writer leaves out.

import { memoize } from '../../base/memoize.ts'
import type { Json } from '../../base/values.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import { parseScalars } from '../../schema/scalars.ts'

/** The values of the `type` attribute; null is `nil="true"` instead. */
export type Type = 'string' | 'number' | 'boolean' | 'object' | 'array'

const TYPES: Readonly<Partial<Record<Field['kind'], Type>>> = {
  string: 'string',
  date: 'string',
  'date-time': 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
  record: 'object',
}

export interface XmlShape {
  readonly field: Field
  /** The type of every element of this shape; absent for `any` and most unions. */
  readonly only: Type | undefined
  /** Whether text without a `type` is a string; otherwise the field parses it. */
  readonly takesText: boolean
  /** The type of an element that contains elements and has no `type`. */
  readonly structure: 'object' | 'array'
  /** Finds the shape of an object's or record's property. */
  readonly property: (name: string) => XmlShape
  /** Finds the shape of an array's element. */
  readonly element: () => XmlShape
}

const ANY: Field = { kind: 'any', nullable: true, optional: true }
/** Shapes by their fields, which are of the definition: one that refers to itself ends so. */
const findShape = memoize(createShape)

/** Finds the shape of a field, or of any value. */
export function shapeOf(field: Field = ANY): XmlShape {
  return findShape(field)
}

/** Finds the shape of an object with these properties. */
export const objectShape = memoize((properties: Fields) =>
  createShape({ kind: 'object', nullable: false, optional: false, properties }),
)

/** Whether a value needs a `type` attribute to be read back as it is. */
export function needsType(value: Json, type: Type, shape: XmlShape): boolean {
  const { field, only } = shape
  if (only !== undefined) {
    if (type !== only) return true
    if (typeof value !== 'number' || field.kind === 'number') return false
    if (field.kind === 'integer') return !Number.isSafeInteger(value)
    return !parseScalars(String(value), field).includes(value)
  }
  if (type === 'string') return !shape.takesText
  if (type === 'number' || type === 'boolean') return true
  const size = Array.isArray(value) ? value.length : Object.keys(Object(value)).length
  return size === 0 || type !== shape.structure
}

function createShape(field: Field): XmlShape {
  const options = optionsOf(field)
  const types = new Set(options.map(({ kind }) => TYPES[kind]))
  const [first] = types
  return {
    field,
    only: types.size === 1 ? first : undefined,
    takesText: options.some(
      ({ kind, choices }) => kind === 'any' || (kind === 'string' && !choices),
    ),
    structure: types.has('array') && !types.has('object') ? 'array' : 'object',
    property: name => shapeOf(unite(options.map(option => findProperty(option, name)))),
    element: () =>
      shapeOf(unite(options.map(({ kind, element }) => (kind === 'array' ? element : undefined)))),
  }
}

function optionsOf(field: Field): readonly Field[] {
  if (field.kind !== 'union' || !field.options?.length) return [field]
  return field.options.flatMap(optionsOf)
}

function findProperty(field: Field, name: string): Field | undefined {
  return field.properties?.get(name) ?? (field.kind === 'record' ? field.element : undefined)
}

/** Unites the fields that a union's options have under one name. */
function unite(fields: readonly (Field | undefined)[]): Field | undefined {
  const options = [...new Set(fields.filter(field => field !== undefined))]
  if (options.length <= 1) return options[0]
  return { kind: 'union', nullable: true, optional: true, options }
}
