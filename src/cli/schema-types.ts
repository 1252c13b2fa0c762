// JSON Schema as types of TypeScript: an interface for each component, all else in place.

import {
  findReference,
  getBelow,
  isObject,
  type JsonObject,
  listEntries,
  listTexts,
  resolve,
  toList,
} from './json.ts'
import { CommandError } from './output/command-error.ts'
import { printComment, printLiteral, printName, type TypeNames } from './output/source-text.ts'

/** How deep a type may be that is printed in one piece. */
const MAX_DEPTH = 20

/** The most items of a tuple: the type checker has such a maximum too. */
const MAX_TUPLE = 100

/** The most characters of all types, where those within others count again. */
const MAX_TEXT = 2 ** 25

/** What a client may give for a file: itself, Base64, or the address of one to keep. */
const FILE = 'Blob | { data: string } | { url: string }'

/** Where a type is printed. */
interface SchemaPlace {
  readonly depth: number
  /** Whether it is a part of the named type above it, and not below a property of it: it must not be that type itself. */
  readonly isPart: boolean
}

/** The type of a component. While it is open it is being printed. */
interface NamedType {
  readonly name: string
  readonly schema: JsonObject
  state: 'waiting' | 'open' | 'done'
}

/** Prints the types of schemas, and declares those of components. */
export class SchemaTypes {
  /** The declarations of all types that were printed by their names. */
  readonly declarations: string[] = []
  private readonly document: JsonObject
  private readonly names: TypeNames
  private readonly leavesOut: (schema: unknown) => boolean
  private readonly named = new Map<string, NamedType>()
  private readonly waiting: NamedType[] = []
  private nullable: ReadonlySet<string> = new Set()
  private left = MAX_TEXT

  /** @param leavesOut whether a property that is not required is no part of an item. */
  constructor(document: JsonObject, names: TypeNames, leavesOut: (schema: unknown) => boolean) {
    this.document = document
    this.names = names
    this.leavesOut = leavesOut
  }

  /** Prints the type of a schema, and declares what it names. @param nullable the files that may be null. */
  print(schema: unknown, nullable: readonly string[] = []): string {
    this.nullable = new Set(nullable)
    const text = this.printType(schema, { depth: 0, isPart: false })
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) this.declare(next, 0)
    return text
  }

  private printType(schema: unknown, place: SchemaPlace): string {
    const text = this.printAny(schema, place)
    this.left -= text.length
    if (this.left < 0) throw new CommandError('The types of this document would be too large')
    return text
  }

  private printAny(schema: unknown, { depth, isPart }: SchemaPlace): string {
    if (!isObject(schema)) return schema === false ? 'never' : 'unknown'
    if (depth > MAX_DEPTH) return 'unknown'
    if ('$ref' in schema) return this.printNamed(schema, { depth, isPart })
    if ('const' in schema) return printLiteral(schema.const)
    if (Array.isArray(schema.enum)) return toUnion(schema.enum.map(printLiteral))
    const own = this.printOwn(schema, depth)
    const options = [...toList(schema.oneOf), ...toList(schema.anyOf)]
    const part = { depth: depth + 1, isPart }
    const union = toUnion(options.map(option => this.printType(option, part)))
    // Unions of many parts would be multiplied.
    const all = toList(schema.allOf)
    const wholes = all.every(each => isPlain(resolve(this.document, each)))
      ? all.map(each => this.printType(each, part))
      : ['unknown']
    const parts = [own, options.length > 0 && union, ...wholes].filter(each => each !== false)
    return parts.length > 1 ? parts.map(inBrackets).join(' & ') : (parts[0] ?? 'unknown')
  }

  /** Prints the type of what a schema says besides others that it combines. */
  private printOwn(schema: JsonObject, depth: number): string | false {
    const { type } = schema
    if (Array.isArray(type)) {
      const types = [...new Set(listTexts(type))]
      return toUnion(
        types.map(each => this.printOwn({ ...schema, type: each }, depth) || 'unknown'),
      )
    }
    if (type === 'string') return schema.format === 'binary' ? FILE : 'string'
    if (type === 'integer' || type === 'number') return 'number'
    if (type === 'boolean' || type === 'null') return type
    if (type === 'array') return this.printArray(schema, depth)
    if (type === 'object' || 'properties' in schema) {
      const lines = this.listProperties(schema, depth)
      return lines.length === 0 ? '{}' : `{ ${lines.map(([line]) => line).join('; ')} }`
    }
    return false
  }

  private printArray({ items, prefixItems, minItems }: JsonObject, depth: number): string {
    const below = { depth: depth + 1, isPart: false }
    const each = isObject(items) ? this.printType(items, below) : 'unknown'
    if (!Array.isArray(prefixItems) || prefixItems.length > MAX_TUPLE)
      return `${inBrackets(each)}[]`
    const least = typeof minItems === 'number' ? minItems : prefixItems.length
    const first = prefixItems.map((item, at) => {
      const text = inBrackets(this.printType(item, below))
      return at < least ? text : `${text}?`
    })
    return `[${[...first, ...(isObject(items) ? [`...${inBrackets(each)}[]`] : [])].join(', ')}]`
  }

  /** Lists the properties of an object, each with its comment. */
  private listProperties(schema: JsonObject, depth: number): [line: string, comment: unknown][] {
    const required = new Set(toList(schema.required))
    const others = schema.additionalProperties
    const keys = [...new Set(listTexts(getBelow(schema, 'propertyNames', 'enum')))]
    const properties =
      keys.length > 0 ? keys.map(key => [key, others] as const) : listEntries(schema.properties)
    const lines = properties
      .filter(([name, property]) => required.has(name) || !this.leavesOut(property))
      .map(([name, property]): [string, unknown] => {
        const isThere = required.has(name)
        const types = [this.printType(property, { depth: depth + 1, isPart: false })]
        // Whether a file may be null no form says.
        if (types[0] === FILE && this.nullable.has(name)) types.push('null')
        if (!isThere) types.push('undefined')
        const line = `${printName(name)}${isThere ? '' : '?'}: ${types.join(' | ')}`
        return [line, getBelow(property, 'description')]
      })
    const isOpen = others !== undefined && others !== false && keys.length === 0
    if (!isOpen && ('properties' in schema || keys.length > 0)) return lines
    // The declared properties need not be like the others.
    const isRecord = lines.length === 0 && isOpen
    const type = isRecord ? this.printType(others, { depth: depth + 1, isPart: false }) : 'unknown'
    return [...lines, [`[key: string]: ${type}`, undefined]]
  }

  private printNamed(schema: JsonObject, { depth, isPart }: SchemaPlace): string {
    const reference = findReference(schema)
    const target = resolve(this.document, schema)
    if (reference === undefined || !isObject(target)) return 'unknown'
    const type = this.named.get(reference) ?? this.name(reference, target)
    if (!isPart || isPlain(target)) return type.name
    // The parts of a type come before it: so it is seen whether they lead back to it.
    this.declare(type, depth + 1)
    return type.state === 'open' ? 'unknown' : type.name
  }

  private name(reference: string, schema: JsonObject): NamedType {
    const type: NamedType = { name: this.names.give(reference), schema, state: 'waiting' }
    this.named.set(reference, type)
    this.waiting.push(type)
    return type
  }

  private declare(type: NamedType, depth: number): void {
    if (type.state !== 'waiting') return
    type.state = 'open'
    this.declarations.push(this.printDeclaration(type.name, type.schema, depth))
    type.state = 'done'
  }

  private printDeclaration(name: string, schema: JsonObject, depth: number): string {
    const head = `${printComment(schema.description)}export `
    if (!isPlain(schema))
      return `${head}type ${name} = ${this.printType(schema, { depth, isPart: true })}`
    const lines = this.listProperties(schema, depth).map(
      ([line, comment]) => `${printComment(comment, '  ')}  ${line}\n`,
    )
    return `${head}interface ${name} {\n${lines.join('')}}`
  }
}

/** Whether a schema is that of an object, and combines no others: it makes an interface. */
function isPlain(schema: unknown): schema is JsonObject {
  return (
    isObject(schema) &&
    (schema.type === 'object' || (schema.type === undefined && 'properties' in schema)) &&
    !['$ref', 'const', 'enum', 'oneOf', 'anyOf', 'allOf'].some(word => word in schema)
  )
}

function toUnion(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'never'
}

function inBrackets(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type
}
