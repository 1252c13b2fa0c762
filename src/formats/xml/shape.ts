// What an element means where it does not say so itself: decided by the field alone, and asked by
// writer and reader alike, so that what one leaves out the other fills in.
import { isDeepStrictEqual } from 'node:util'
import type { Field, Fields } from '../../schema/fields.ts'
import { parseScalars } from '../../schema/scalars.ts'
import type { Json } from '../../schema/values.ts'

/** The values of the `type` attribute; null has `nil="true"` instead. */
export type Type = 'string' | 'number' | 'boolean' | 'object' | 'array'

export interface Shape {
  readonly field: Field
  /** What every element of this shape is; absent where the field leaves it open: `any`, unions. */
  readonly only: Type | undefined
  /** Whether a text without a `type` is just that text; else it is what the field makes of it. */
  readonly takesText: boolean
  /** What an element with elements in it is, where it has no `type`. */
  readonly structure: 'object' | 'array'
  /** The shape of an object's or record's property. */
  readonly property: (name: string) => Shape
  /** The shape of an array's element. */
  readonly element: () => Shape
  /** The shape that its elements are read by, where that is another. */
  readonly taken?: Shape
}

const NONE: Fields = new Map()
const ANY: Field = { kind: 'any', nullable: true, optional: true }
const shapes = new WeakMap<Field, Shape>()
const roots = new WeakMap<Fields, Shape>()

/** The shape of a field; without one, of anything. */
export function shapeOf(field: Field = ANY): Shape {
  const known = shapes.get(field)
  if (known) return known
  const shape = makeShape(field)
  shapes.set(field, shape)
  return shape
}

/** The shape of an object with these properties. */
export function objectShape(fields: Fields): Shape {
  const known = roots.get(fields)
  if (known) return known
  const shape = shapeOf({ kind: 'object', nullable: false, optional: false, properties: fields })
  roots.set(fields, shape)
  return shape
}

const pairs = new WeakMap<Shape, WeakMap<Shape, Shape>>()

/** A shape to write by, where another reads: equal but for the properties that the two know differently. */
export function readBy(shape: Shape, taken: Shape): Shape {
  const others = pairs.get(shape) ?? new WeakMap<Shape, Shape>()
  pairs.set(shape, others)
  const known = others.get(taken)
  if (known) return known
  const pair: Shape = fits(shape.field, taken.field)
    ? shape
    : {
        ...shape,
        taken,
        property: name => readBy(shape.property(name), taken.property(name)),
        element: () => readBy(shape.element(), taken.element()),
      }
  others.set(taken, pair)
  return pair
}

/** Whether what is written by one field is read the same by another. */
function fits(one: Field, other: Field): boolean {
  if (one === other) return true
  if (one.kind !== other.kind || !isDeepStrictEqual(one.choices, other.choices)) return false
  if (!isDeepStrictEqual(one.options, other.options)) return false
  const others = partsOf(other)
  return [...partsOf(one)].every(([name, part]) => fits(part, others.get(name) ?? ANY))
}

/** The properties of a field, or what it holds under any name. */
function partsOf({ element, properties = NONE }: Field): Fields {
  return element ? new Map([['', element]]) : properties
}

/** Whether a value must be marked with its type, because the shape alone would read it as another. */
export function needsType(value: Json, type: Type, shape: Shape): boolean {
  if (shape.taken && needsType(value, type, shape.taken)) return true
  const { field, only } = shape
  if (only !== undefined) {
    if (type !== only) return true
    if (typeof value !== 'number' || field.kind === 'number') return false
    return !parseScalars(String(value), field).includes(value)
  }
  if (type === 'string') return !shape.takesText
  if (type === 'number' || type === 'boolean') return true
  const size = Array.isArray(value) ? value.length : Object.keys(Object(value)).length
  return size === 0 || type !== shape.structure
}

function makeShape(field: Field): Shape {
  const options = optionsOf(field)
  const types = new Set(options.map(typeOf))
  const [first] = types
  const properties = new Map<string, Shape>()
  let element: Shape | undefined
  return {
    field,
    only: types.size === 1 ? first : undefined,
    takesText: options.some(
      ({ kind, choices }) => kind === 'any' || (kind === 'string' && !choices),
    ),
    structure: types.has('array') && !types.has('object') ? 'array' : 'object',
    property(name) {
      const known = properties.get(name)
      if (known) return known
      const shape = shapeOf(eitherOf(options.map(option => findProperty(option, name))))
      // Names that the schema does not list come from clients: they must not pile up.
      if (options.some(option => option.properties?.has(name))) properties.set(name, shape)
      return shape
    },
    element() {
      element ??= shapeOf(
        eitherOf(options.map(option => (option.kind === 'array' ? option.element : undefined))),
      )
      return element
    },
  }
}

function optionsOf(field: Field): readonly Field[] {
  if (field.kind !== 'union' || !field.options?.length) return [field]
  return field.options.flatMap(optionsOf)
}

function typeOf({ kind }: Field): Type | undefined {
  switch (kind) {
    case 'string':
    case 'date':
    case 'date-time':
      return 'string'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
    case 'array':
      return kind
    case 'object':
    case 'record':
      return 'object'
    default:
      return undefined
  }
}

function findProperty(field: Field, name: string): Field | undefined {
  return field.properties?.get(name) ?? (field.kind === 'record' ? field.element : undefined)
}

/** One field that stands for several: the fields that a union's options have under one name. */
function eitherOf(fields: readonly (Field | undefined)[]): Field | undefined {
  const given = [...new Set(fields.filter(field => field !== undefined))]
  if (given.length <= 1) return given[0]
  return { kind: 'union', nullable: true, optional: true, options: given }
}
