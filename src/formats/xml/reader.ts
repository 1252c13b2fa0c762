// XML elements to JSON values, by shapes. fast-xml-parser builds the tree of documents that syntax.ts
// has checked; it neither resolves, trims, renames nor guesses anything.
import { XMLParser } from 'fast-xml-parser'
import { type ErrorType, type Issue, throwIfAny } from '../../errors.ts'
import type { Limits } from '../../http/limits.ts'
import { describeField, type Field } from '../../schema/fields.ts'
import { parseScalars } from '../../schema/scalars.ts'
import type { Item, Json } from '../../schema/values.ts'
import { checkJson, checkName, valueIssue } from '../json-value.ts'
import type { Shape, Type } from './shape.ts'
import { checkXml, isBlank, readAttribute, readText } from './syntax.ts'
import { MEMBER } from './writer.ts'

const TEXT = '#text'
const CDATA = '#cdata'
const ATTRIBUTES = ':@'

const parser = new XMLParser({
  preserveOrder: true,
  textNodeName: TEXT,
  cdataPropName: CDATA,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  htmlEntities: false,
  ignoreDeclaration: true,
  maxNestedTags: Number.MAX_SAFE_INTEGER,
  jPath: false,
  onDangerousProperty: name => name,
})

/** A node of fast-xml-parser: one property with the content, maybe one with the attributes. */
type Node = { readonly [name: string]: string | readonly Node[] | Readonly<Record<string, string>> }

interface Element {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly text: string
  readonly children: readonly Element[]
}

const EMPTY: Element = { name: '', attributes: new Map(), text: '', children: [] }

/**
 * Parses a document to the value of its root element, whatever its name.
 * @param collected gets the issues of single values; without it they are thrown.
 * @param path of the value, for the issues of a part; empty for a whole body.
 * @throws HttpError 400 with the issues, 413 for more than the limits allow.
 */
export function parseXml(
  text: string,
  shape: Shape,
  limits: Limits,
  collected?: Issue[],
  path = '',
): Json {
  checkXml(text, limits)
  // With `preserveOrder` the parser returns a list of nodes, typed `any`.
  const nodes: readonly Node[] = parser.parse(text)
  // A checked document has a root.
  const [root = EMPTY] = nodes.map(toElement).filter(element => element !== undefined)
  const issues = collected ?? []
  const value = readElement(root, shape, path, issues)
  if (!collected) throwIfAny(issues)
  checkJson(value)
  return value
}

function toElement(node: Node): Element | undefined {
  const name = Object.keys(node).find(key => key !== ATTRIBUTES && key !== TEXT && key !== CDATA)
  const content = name === undefined ? undefined : node[name]
  if (name === undefined || !isNodes(content)) return undefined
  const children: Element[] = []
  let text = ''
  for (const part of content) {
    const child = toElement(part)
    if (child) children.push(child)
    else text += toText(part)
  }
  const attributes = new Map<string, string>()
  for (const [key, raw] of Object.entries(node[ATTRIBUTES] ?? {})) {
    attributes.set(key, readAttribute(String(raw)))
  }
  return { name, attributes, text, children }
}

function isNodes(content: Node[string] | undefined): content is readonly Node[] {
  return Array.isArray(content)
}

function toText(node: Node): string {
  const raw = node[TEXT]
  if (typeof raw === 'string') return readText(raw)
  // A node that is neither element nor text is a CDATA section.
  const section = node[CDATA] as readonly Node[]
  return section.map(({ [TEXT]: text }) => String(text)).join('')
}

/** The field of an element with a `type` attribute. */
const PLAIN: Readonly<Record<Type, Field>> = {
  string: { kind: 'string', nullable: false, optional: false },
  number: { kind: 'number', nullable: false, optional: false },
  boolean: { kind: 'boolean', nullable: false, optional: false },
  object: { kind: 'object', nullable: false, optional: false },
  array: { kind: 'array', nullable: false, optional: false },
}

function isType(text: string): text is Type {
  return Object.hasOwn(PLAIN, text)
}

function readElement(element: Element, shape: Shape, path: string, issues: Issue[]): Json {
  const { nil, type, json } = readAttributes(element, path, issues)
  const { text, children } = element
  const fail = (what: string, errorType: ErrorType) => {
    issues.push(valueIssue(path, what, errorType))
    return null
  }
  if (nil) {
    const isEmpty = children.length === 0 && isBlank(text)
    return isEmpty ? null : fail('is nil, and has content', 'invalid_xml')
  }
  if (json) {
    if (children.length === 0) return jsonText(text, path, issues)
    return fail('has an encoding, and elements in it', 'invalid_xml')
  }
  const wanted = type ?? shape.only ?? (children.length > 0 ? shape.structure : undefined)
  if (wanted === 'object' || wanted === 'array') {
    if (!isBlank(text)) {
      const expected = wanted === 'object' ? 'an object' : 'a list'
      return fail(`must be ${expected}: elements, no text between them`, 'invalid_type')
    }
    return wanted === 'object'
      ? readObject(children, shape, path, issues)
      : children.map((child, at) => readElement(child, shape.element(), below(path, at), issues))
  }
  if (children.length > 0)
    return fail(`must be ${describeField(shape.field)}, not elements`, 'invalid_type')
  if (wanted === 'string' || (wanted === undefined && shape.takesText)) return text
  return readScalar(text, type === undefined ? shape.field : PLAIN[type], path, issues)
}

function readObject(
  children: readonly Element[],
  shape: Shape,
  path: string,
  issues: Issue[],
): Item {
  const value: Item = {}
  for (const child of children) {
    const name = memberName(child, path, issues)
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

function memberName({ name, attributes }: Element, path: string, issues: Issue[]): string {
  const given = name === MEMBER ? attributes.get('name') : undefined
  if (given === undefined) return name
  return attributes.get('name-encoding') === 'json'
    ? jsonText(given, below(path, MEMBER), issues)
    : given
}

function readScalar(text: string, field: Field, path: string, issues: Issue[]): Json {
  // The schema's message lists the choices.
  const { choices: _, ...open } = field
  const [value] = parseScalars(text.trim(), open)
  if (value !== undefined) return value
  const got = JSON.stringify(text.slice(0, 64))
  issues.push(valueIssue(path, `must be ${describeField(field)}, not ${got}`, 'invalid_type'))
  return text
}

function readAttributes(
  element: Element,
  path: string,
  issues: Issue[],
): { nil: boolean; type?: Type; json: boolean } {
  const attributes: ReturnType<typeof readAttributes> = { nil: false, json: false }
  for (const [name, value] of element.attributes) {
    if (name === 'nil' || name === 'xsi:nil') {
      attributes.nil = value === 'true' || value === '1'
      if (attributes.nil || value === 'false' || value === '0') continue
    } else if (name === 'type' && isType(value)) {
      attributes.type = value
      continue
    } else if (name === 'encoding' && value === 'json') {
      attributes.json = true
      continue
    } else if (element.name === MEMBER && (name === 'name' || name === 'name-encoding')) {
      if (name === 'name' || value === 'json') continue
    } else if (/^(?:xmlns$|xmlns:|xml:|xsi:)/.test(name)) continue
    const what = `has an unknown attribute: ${name.slice(0, 64)}=${JSON.stringify(value.slice(0, 64))}`
    issues.push(valueIssue(path, what, 'unknown_attribute'))
  }
  return attributes
}

function jsonText(literal: string, path: string, issues: Issue[]): string {
  try {
    const value: unknown = JSON.parse(literal)
    if (typeof value === 'string') return value
  } catch {
    // V8's message quotes the input.
  }
  issues.push(
    valueIssue(path, 'must be a JSON string in quotes, as its encoding says', 'invalid_xml'),
  )
  return ''
}

function below(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}
