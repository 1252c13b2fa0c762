// JSON values to XML elements, by shapes.
import { memoize } from '../../schema/memoize.ts'
import { type Item, isObject, type Json } from '../../schema/values.ts'
import { needsType, type Shape, type Type } from './shape.ts'
import { isElementName, printAttribute, printJsonText, printText } from './syntax.ts'

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** The name of an array's elements. */
const ELEMENT = 'item'
/** The element of a property whose name no element can have. */
export const MEMBER = 'member'

/** Prints a document with a root of this name. */
export function printDocument(name: string, shape: Shape, value: Json): string {
  return DECLARATION + compileElement(name, shape)(value)
}

/** Prints a document whose root has an element for each item. */
export function printList(
  name: string,
  itemName: string,
  shape: Shape,
  items: readonly Item[],
): string {
  const { open, close } = printTags(name)
  const write = compileElement(itemName, shape)
  let text = `${DECLARATION}${open}>`
  for (const item of items) text += write(item)
  return text + close
}

/** The tags of an element, the first without its end: `<color`, `</color>`. */
interface Tags {
  readonly open: string
  readonly close: string
}

/** Prints the element of a value. */
type ElementWriter = (value: Json) => string

/** Compiles the writer of an element; the commonest values take the shortest way. */
function compileElement(name: string, shape: Shape): ElementWriter {
  const tags = printTags(name)
  const { close } = tags
  const open = `${tags.open}>`
  const content = compileContent(shape)
  const any: ElementWriter = value => print(value, shape, tags, content)
  switch (shape.only) {
    case 'string':
      return value => {
        const text = typeof value === 'string' ? printText(value) : undefined
        return text === undefined ? any(value) : open + text + close
      }
    case 'number': {
      const { kind } = shape.field
      const fits =
        kind === 'integer'
          ? Number.isSafeInteger
          : kind === 'number'
            ? Number.isFinite
            : () => false
      return value => (fits(value) ? open + value + close : any(value))
    }
    case 'object':
      return value => (isObject(value) ? open + content.object(value) + close : any(value))
    default:
      return any
  }
}

function print(value: Json, shape: Shape, { open, close }: Tags, content: ContentWriter): string {
  const type = typeOf(value)
  if (type === undefined) return `${open} nil="true"/>`
  const start = needsType(value, type, shape) ? `${open} type="${type}"` : open
  if (typeof value === 'string') {
    const text = printText(value)
    if (text === undefined) return `${start} encoding="json">${printJsonText(value)}${close}`
    return `${start}>${text}${close}`
  }
  if (typeof value !== 'object' || value === null) return `${start}>${value}${close}`
  return `${start}>${Array.isArray(value) ? content.array(value) : content.object(value)}${close}`
}

/** Finds the type of a value; `undefined` for null, and for NaN and infinities, which JSON prints as null. */
function typeOf(value: Json): Type | undefined {
  if (value === null) return undefined
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  if (type === 'number') return Number.isFinite(value) ? 'number' : undefined
  if (type === 'string' || type === 'boolean' || type === 'object') return type
  throw new TypeError(`XML cannot print a ${type}`)
}

interface ContentWriter {
  array(values: readonly Json[]): string
  object(value: Item): string
}

/** Compiles the writer of the content of an array or an object, once for each shape. */
const compileContent = memoize((shape: Shape): ContentWriter => {
  const properties = new Map(
    listNames(shape).map(name => [name, compileElement(name, shape.property(name))]),
  )
  let element: ElementWriter | undefined
  return {
    array(values) {
      // Lazily: the elements of an `any` are an `any` again.
      element ??= compileElement(ELEMENT, shape.element())
      let text = ''
      for (const value of values) text += element(value)
      return text
    },
    object(value) {
      let text = ''
      for (const name of Object.keys(value)) {
        const property = value[name]
        if (property === undefined) continue
        const write = properties.get(name) ?? compileElement(name, shape.property(name))
        text += write(property)
      }
      return text
    },
  }
})

function listNames({ field }: Shape): string[] {
  const objects = [field, ...(field.options ?? [])]
  return objects.flatMap(({ properties }) => [...(properties?.keys() ?? [])])
}

/** Prints `<color`, or `<member name="…"` for a name that XML does not allow. */
function printTags(name: string): Tags {
  if (isElementName(name)) return { open: `<${name}`, close: `</${name}>` }
  const attribute = printAttribute(name)
  const given =
    attribute === undefined
      ? `name="${printJsonText(name).replaceAll('"', '&quot;')}" name-encoding="json"`
      : `name="${attribute}"`
  return { open: `<${MEMBER} ${given}`, close: `</${MEMBER}>` }
}
