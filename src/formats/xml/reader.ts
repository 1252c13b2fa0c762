// XML elements to JSON values, by shapes. fast-xml-parser builds the tree of documents that syntax.ts
// has checked; it neither resolves, trims, renames nor guesses anything.
import type { X2jOptions, XMLParser } from 'fast-xml-parser'
import type { Item, Json } from '../../base/values.ts'
import { type ErrorType, type Issue, quote, throwIfAny } from '../../errors.ts'
import type { Limits } from '../../http/limits.ts'
import { describeField, type Field } from '../../schema/fields.ts'
import { inexactReason, parseScalars } from '../../schema/scalars.ts'
import { checkJson, checkName, valueIssue } from '../json-value.ts'
import type { Type, XmlShape } from './shape.ts'
import { checkXml, isBlank, readText } from './syntax.ts'
import { MEMBER } from './writer.ts'

const TEXT = '#text'
const CDATA = '#cdata'
const ATTRIBUTES = ':@'

const OPTIONS: X2jOptions = {
  preserveOrder: true,
  cdataPropName: CDATA,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  tagValueProcessor: (_, text) => readText(text),
  attributeValueProcessor: (_, text) => readText(text),
  ignoreDeclaration: true,
  maxNestedTags: Number.MAX_SAFE_INTEGER,
  jPath: false,
  onDangerousProperty: name => name,
}

/** The parser, once a body has needed it. */
let parser: Promise<XMLParser> | undefined

/** Imports the parser at the first body: its 40 modules would be a seventh of the start of every process. */
async function loadParser(): Promise<XMLParser> {
  const { XMLParser } = await import('fast-xml-parser')
  return new XMLParser(OPTIONS)
}

/** A node of fast-xml-parser: an element has its content under its name, which comes first. */
type Node = { readonly [name: string]: string | readonly Node[] | Readonly<Record<string, string>> }

interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
  readonly children: readonly Element[]
}

/** What a document is part of. */
interface XmlPart {
  /** The path of its value; empty for a whole body. */
  readonly path?: string
  readonly issues?: Issue[] | undefined
}

/**
 * Parses a document to the value of its root element, whatever its name.
 * @param part takes the issues of single values; without it they are thrown.
 * @throws HttpError 400 with the issues, 413 for more than the limits allow.
 */
export async function parseXml(
  text: string,
  shape: XmlShape,
  limits: Limits,
  part: XmlPart = {},
): Promise<Json> {
  checkXml(text, limits)
  parser ??= loadParser()
  const { children } = toElement({ '': (await parser).parse(text) })
  const { path = '', issues = [] } = part
  const [value = null] = children.map(root => readElement(root, shape, path, issues))
  if (!part.issues) throwIfAny(issues)
  checkJson(value)
  return value
}

function toElement(node: Node): Element {
  const [name = ''] = Object.keys(node)
  const attributes = node[ATTRIBUTES] as Element['attributes'] | undefined // so the parser's options say
  const children: Element[] = []
  let text = ''
  for (const part of nodesOf(node, name)) {
    if (TEXT in part) text += part[TEXT]
    else if (CDATA in part) text += nodesOf(part, CDATA)[0]?.[TEXT]
    else children.push(toElement(part))
  }
  return { name, attributes: attributes ?? {}, text, children }
}

function nodesOf(node: Node, name: string): readonly Node[] {
  return node[name] as readonly Node[] // so `preserveOrder` says of elements and of CDATA
}

const TYPE = /^(?:string|number|boolean|object|array)$/

/** The values of attributes that have a meaning. */
const ATTRIBUTE_VALUES: ReadonlyMap<string, RegExp> = new Map([
  ['nil', /^(?:true|1|false|0)$/],
  ['xsi:nil', /^(?:true|1|false|0)$/],
  ['type', TYPE],
  ['encoding', /^json$/],
])

function checkAttributes(element: Element, path: string, issues: Issue[]): void {
  for (const [name, value] of Object.entries(element.attributes)) {
    if (/^(?:xmlns$|xmlns:|xml:|xsi:(?!nil$))/.test(name)) continue
    if (ATTRIBUTE_VALUES.get(name)?.test(value)) continue
    if (element.name === MEMBER && name === 'name') continue
    const what = `has an unknown attribute: ${name.slice(0, 64)}=${quote(value)}`
    issues.push(valueIssue(path, what, 'unknown_attribute'))
  }
}

function isType(text = ''): text is Type {
  return TYPE.test(text)
}

function readElement(element: Element, shape: XmlShape, path: string, issues: Issue[]): Json {
  checkAttributes(element, path, issues)
  const { text, children, attributes } = element
  const { nil = attributes['xsi:nil'], encoding } = attributes
  const type = isType(attributes.type) ? attributes.type : undefined
  const fail = (what: string, errorType: ErrorType) => {
    issues.push(valueIssue(path, what, errorType))
    return null
  }
  if (nil === 'true' || nil === '1') {
    const isEmpty = children.length === 0 && isBlank(text)
    return isEmpty ? null : fail('is nil, and has content', 'invalid_xml')
  }
  if (encoding === 'json') {
    if (children.length === 0) return parseJsonText(text, path, issues)
    return fail('has an encoding, and elements in it', 'invalid_xml')
  }
  const wanted = type ?? shape.only ?? (children.length > 0 ? shape.structure : undefined)
  if (wanted === 'object' || wanted === 'array') {
    if (!isBlank(text)) {
      const expected = wanted === 'object' ? 'an object' : 'a list'
      return fail(`must be ${expected}: elements, no text between them`, 'invalid_type')
    }
    if (wanted === 'object') return readObject(children, shape, path, issues)
    const elements = shape.element()
    return children.map((child, at) => readElement(child, elements, below(path, at), issues))
  }
  if (children.length > 0)
    return fail(`must be ${describeField(shape.field)}, not elements`, 'invalid_type')
  if (wanted === 'string' || (wanted === undefined && shape.takesText)) return text
  return readScalar(text, type ? { ...shape.field, kind: type } : shape.field, path, issues)
}

function readObject(
  children: readonly Element[],
  shape: XmlShape,
  path: string,
  issues: Issue[],
): Item {
  const value: Item = {}
  for (const child of children) {
    const name = readName(child, path, issues)
    const at = below(path, name)
    checkName(name, at)
    if (Object.hasOwn(value, name)) {
      issues.push(valueIssue(at, 'is given more than once', 'repeated_key'))
      continue
    }
    value[name] = readElement(child, shape.property(name), at, issues)
  }
  return value
}

function readName({ name, attributes }: Element, path: string, issues: Issue[]): string {
  return name === MEMBER && attributes.name !== undefined
    ? parseJsonText(`"${attributes.name}"`, below(path, MEMBER), issues)
    : name
}

function readScalar(text: string, field: Field, path: string, issues: Issue[]): Json {
  // The schema's message lists the choices.
  const { choices: _, ...open } = field
  const trimmed = text.trim()
  const [value] = parseScalars(trimmed, open)
  if (value !== undefined) return value
  const inexact = inexactReason(trimmed, field)
  const what = inexact ?? `must be ${describeField(field)}, not ${quote(text)}`
  issues.push(valueIssue(path, what, inexact === undefined ? 'invalid_type' : 'inexact_number'))
  return text
}

function parseJsonText(literal: string, path: string, issues: Issue[]): string {
  try {
    const value: unknown = JSON.parse(literal)
    if (typeof value === 'string') return value
  } catch {
    // V8's message quotes the input.
  }
  issues.push(valueIssue(path, 'must be a JSON string', 'invalid_xml'))
  return ''
}

/** The longest path that an issue names: a longer one would be copied for each element below it. */
const MAX_PATH = 128

function below(path: string, name: string | number): string {
  if (path.length > MAX_PATH) return path
  return path === '' ? String(name) : `${path}.${name}`
}
