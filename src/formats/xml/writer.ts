// JSON values to XML elements, by shapes.
import { findDigits, withDigits } from '../../base/exact-numbers.ts'
import { memoize } from '../../base/memoize.ts'
import { type Item, isObject, type Json } from '../../base/values.ts'
import { needsType, type Type, type XmlShape } from './shape.ts'
import { isElementName, printJsonText, printText } from './syntax.ts'

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** The name of an array's elements. */
const ELEMENT = 'item'
/** The element of a property whose name no element can have. */
export const MEMBER = 'member'

/** Prints a document with a root of this name. */
export function printDocument(name: string, shape: XmlShape, value: Json): string {
  return DECLARATION + compileElement(name, shape)(value)
}

/** Prints a document whose root has an element for each item. */
export function printList(
  name: string,
  itemName: string,
  shape: XmlShape,
  items: readonly Item[],
): string {
  const { open, close } = printTags(name)
  const write = compileElement(itemName, shape)
  let text = `${DECLARATION}${open}>`
  for (const item of items) text += write(item)
  return text + close
}

/** Prints the element of a value. */
type ElementWriter = (value: Json) => string

/** Compiles the writer of an element. */
function compileElement(name: string, shape: XmlShape): ElementWriter {
  const { open, close } = printTags(name)
  const plain = `${open}>`
  const content = compileContent(shape)
  return given => {
    const value = withDigits(given)
    const type = typeOf(value)
    if (type === undefined) return `${open} nil="true"/>`
    const start = needsType(value, type, shape) ? `${open} type="${type}">` : plain
    if (typeof value === 'string') {
      if (type === 'number') return start + findDigits(value) + close
      const text = printText(value)
      if (text !== undefined) return start + text + close
      return `${start.slice(0, -1)} encoding="json">${printJsonText(value)}${close}`
    }
    if (Array.isArray(value)) return start + content.array(value) + close
    return start + (isObject(value) ? content.object(value) : value) + close
  }
}

/** Finds the type of a value; `undefined` for null, and for NaN and infinities, which JSON prints as null. */
function typeOf(value: Json): Type | undefined {
  if (value === null) return undefined
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  if (typeof value === 'string' && findDigits(value) !== undefined) return 'number'
  if (type === 'number') return Number.isFinite(value) ? 'number' : undefined
  if (type === 'string' || type === 'boolean' || type === 'object') return type
  throw new TypeError(`XML cannot print a ${type}`)
}

interface ContentWriter {
  array(values: readonly Json[]): string
  object(value: Item): string
}

/** Compiles the writer of the content of an array or an object, once for each shape. */
const compileContent = memoize((shape: XmlShape): ContentWriter => {
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

function listNames({ field }: XmlShape): string[] {
  const objects = [field, ...(field.options ?? [])]
  return objects.flatMap(({ properties }) => [...(properties?.keys() ?? [])])
}

/**
 * Prints the tags of an element, the first without its end: `<color` and `</color>`; `<member name="a b"`
 * for a name that XML does not allow, with the escapes of JSON.
 */
function printTags(name: string): { open: string; close: string } {
  if (isElementName(name)) return { open: `<${name}`, close: `</${name}>` }
  const text = printJsonText(name).slice(1, -1).replaceAll('"', '&quot;')
  return { open: `<${MEMBER} name="${text}"`, close: `</${MEMBER}>` }
}
