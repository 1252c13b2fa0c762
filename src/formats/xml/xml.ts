// `application/xml` (RFC 7303). Properties are elements of their names, an array's elements `<item>`; a
// list has the collection's name, its items theirs. The fields decide what an element means. Where
// they cannot, or a stored value differs from them, attributes do:
//   nil="true"               null
//   type="number"            string, number, boolean, object or array
//   encoding="json"          a text that XML cannot carry, as a JSON string: "bell\u0007"
//   <member name="a b">      a name that no element can have, with the escapes of JSON
import type { ErrorEntry } from '../../errors.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import type { Format, Representation } from '../format.ts'
import { readText } from '../read-body.ts'
import { parseXml } from './reader.ts'
import { objectShape, shapeOf, type XmlShape } from './shape.ts'
import { printDocument, printList } from './writer.ts'

/** `application/xml`, written and read by the schema; `.xml`. */
export const xml: Format = {
  name: 'xml',
  extensions: ['xml'],
  types: ['application/xml', 'text/xml'],
  answersInKind: true,
  write: printXml,
  read: async (body, context) =>
    parseXml(await readText(body, context), rootShape(context.fields), context.limits, context),
}

const text: Field = { kind: 'string', nullable: false, optional: false }
const ERROR: Fields = new Map<keyof ErrorEntry, Field>([
  ['message', text],
  ['code', { ...text, kind: 'integer' }],
  ['field', { ...text, optional: true }],
  ['type', { ...text, optional: true }],
])

function printXml(representation: Representation): string {
  switch (representation.kind) {
    case 'item': {
      const { name, fields, data } = representation
      return printDocument(name, objectShape(fields), data)
    }
    case 'document': {
      const { name, fields, data } = representation
      return printDocument(name, rootShape(fields), data)
    }
    case 'list': {
      const { name, itemName, fields, data } = representation
      return printList(name, itemName, objectShape(fields), data)
    }
    case 'errors': {
      const entries = representation.errors.map(entry => ({ ...entry }))
      return printList('errors', 'error', objectShape(ERROR), entries)
    }
    default:
      throw new TypeError(`XML cannot print ${representation.kind}`)
  }
}

function rootShape(fields: Fields | undefined): XmlShape {
  return fields ? objectShape(fields) : shapeOf()
}
