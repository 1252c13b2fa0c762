// `application/x-www-form-urlencoded` (WHATWG URL §5): each key one property, nesting as
// `model.name=` or `model[name]=`, lists as a repeated key, `tags[]=` or `tags[0]=`; typed by the schema.
import { HttpError, type Issue, throwIfAny } from '../errors.ts'
import { type Parameter, parseParameters, printParameters } from '../http/message.ts'
import { describeField, type Field, type Fields } from '../schema/fields.ts'
import { parseScalars } from '../schema/scalars.ts'
import { type Item, isObject, type Json } from '../schema/values.ts'
import { type FormPair, type Part, stripHints, tooManyKeys } from './form-hints.ts'
import {
  checkJson,
  checkName,
  decodeText,
  type Format,
  type ReadContext,
  readBytes,
} from './format.ts'

/** `application/x-www-form-urlencoded`, read only: the fields of forms. */
export const form: Format = {
  name: 'form',
  extensions: [],
  types: ['application/x-www-form-urlencoded'],
  form: true,
  read: async (body, context) => formValue(pairs(await readPairs(body, context)), context),
  receive: (parsed, context) => formValue(pairs(parsedPairs(parsed)), context),
}

/**
 * The pairs of a form as they were sent.
 * @throws HttpError 400 for an escape that is no UTF-8, 413 for too many bytes.
 */
export async function readPairs(
  body: AsyncIterable<Uint8Array>,
  context: Pick<ReadContext, 'limits' | 'length' | 'parameters'>,
): Promise<Parameter[]> {
  const text = decodeText(await readBytes(body, context), context.parameters.get('charset'))
  const parameters = parseParameters(text)
  if (parameters) return parameters
  const message = 'The body has an escape that is no UTF-8; write a percent sign as %25'
  throw new HttpError(400, [{ message, type: 'invalid_encoding' }])
}

/** @throws HttpError 413 for more pairs than the limit, 400 for a text that is refused everywhere. */
export function checkPairs(
  parameters: readonly Parameter[],
  limits: Pick<ReadContext['limits'], 'parameters'>,
): void {
  if (parameters.length > limits.parameters) throw tooManyKeys(limits)
  checkJson(parameters.map(({ name, value }) => [name, value]))
}

/** What a host's parser made of a form, as pairs again. */
export function parsedPairs(parsed: unknown, name = ''): Parameter[] {
  if (Array.isArray(parsed)) {
    return parsed.flatMap((element, at) =>
      parsedPairs(element, isObject(element) ? `${name}[${at}]` : name),
    )
  }
  if (isObject(parsed)) {
    return Object.entries(parsed).flatMap(([key, property]) =>
      parsedPairs(property, name ? `${name}[${key}]` : key),
    )
  }
  const value = String(parsed)
  return [{ name, value, raw: printParameters([[name, value]]) }]
}

function pairs(parameters: readonly Parameter[]): FormPair[] {
  return parameters.map(({ name, value }) => [name, value])
}

export type { Part } from './form-hints.ts'

type Tree = Map<string, Tree | Part[]>

/**
 * The properties of a form: names to nested objects, texts to values by the schema's fields.
 * @throws HttpError 400 with every issue, where the context does not take them: an ill-typed text, a
 * name that is both a value and an object.
 */
export function formValue(
  pairs: readonly FormPair[],
  { fields, limits, issues: taken }: Pick<ReadContext, 'fields' | 'limits' | 'issues'>,
): Item {
  if (pairs.length > limits.parameters) throw tooManyKeys(limits)
  const issues = taken ?? []
  const tree: Tree = new Map()
  const meant = stripHints(pairs, { fields, limits }, issues)
  for (const [name, part] of meant) plant(tree, name, part, limits.depth, issues)
  const value = treeValue(tree, fields, '', issues)
  if (!taken) throwIfAny(issues)
  checkJson(value)
  return value
}

/** `a.b`, `a[b]` and `a[b][]` as names; `[]` at the end says that the value is one of a list. */
export function namesOf(name: string): string[] {
  return name
    .replace(/\[\]$/, '')
    .replace(/\[([^[\]]*)\]/g, '.$1')
    .split('.')
}

function plant(tree: Tree, name: string, part: Part, depth: number, issues: Issue[]): void {
  const names = namesOf(name)
  const field = name.slice(0, 128)
  if (names.length > depth) {
    issues.push({
      message: `${field} is nested deeper than ${depth} levels`,
      field,
      type: 'too_deep',
    })
    return
  }
  let branch = tree
  const [last = ''] = names.splice(-1)
  for (const each of [...names, last]) checkName(each, field)
  for (const each of names) {
    const next = branch.get(each) ?? new Map()
    if (Array.isArray(next)) {
      issues.push({
        message: `${field} is given both as a value and as an object`,
        field,
        type: 'conflicting_keys',
      })
      return
    }
    branch.set(each, next)
    branch = next
  }
  const parts = branch.get(last) ?? []
  if (!Array.isArray(parts)) {
    issues.push({
      message: `${field} is given both as a value and as an object`,
      field,
      type: 'conflicting_keys',
    })
    return
  }
  parts.push(part)
  branch.set(last, parts)
}

function treeValue(tree: Tree, fields: Fields | undefined, path: string, issues: Issue[]): Item {
  const value: Item = {}
  for (const [name, node] of tree) {
    const property = nodeValue(node, fields?.get(name), path + name, issues)
    if (property !== undefined) value[name] = property
  }
  return value
}

function nodeValue(
  node: Tree | Part[],
  field: Field | undefined,
  path: string,
  issues: Issue[],
): Json | undefined {
  if (Array.isArray(node)) return partsValue(node, field, path, issues)
  if (field?.kind === 'array' && [...node.keys()].every(name => /^\d{1,9}$/.test(name))) {
    const elements = [...node].sort(([one], [other]) => Number(one) - Number(other))
    return elements.flatMap(([name, element]) => {
      const value = nodeValue(element, field.element, `${path}.${name}`, issues)
      return value === undefined ? [] : [value]
    })
  }
  const properties =
    field?.kind === 'record' && field.element
      ? recordFields(node, field.element)
      : field?.properties
  return treeValue(node, properties, `${path}.`, issues)
}

function recordFields(tree: Tree, element: Field): Fields {
  return new Map([...tree.keys()].map(name => [name, element]))
}

function partsValue(
  parts: readonly Part[],
  field: Field | undefined,
  path: string,
  issues: Issue[],
): Json | undefined {
  if (field?.kind === 'array') {
    const [only] = parts
    if (parts.length === 1 && typeof only === 'object') {
      const { json } = only
      if (Array.isArray(json) || (json === null && field.nullable)) return json
    }
    return parts.flatMap(part => {
      const value = partValue(part, field.element, path, issues)
      return value === undefined ? [] : [value]
    })
  }
  const [part = ''] = parts
  if (parts.length > 1) {
    issues.push({
      message: `${path} is given ${parts.length} times; give it once`,
      field: path,
      type: 'repeated_key',
    })
  }
  return partValue(part, field, path, issues)
}

/** An empty text is no value where the field is no text: absent, or null where it may be. */
function partValue(
  part: Part,
  field: Field | undefined,
  path: string,
  issues: Issue[],
): Json | undefined {
  if (typeof part !== 'string') return part.json
  if (!field) return part
  const values = parseScalars(part, field)
  if (values[0] !== undefined) return values[0]
  if (part === '' && (field.nullable || field.optional)) return field.nullable ? null : undefined
  // An enumeration's own message, and a missing parent, are better told by the schema.
  if (field.choices || field.kind === 'any') return part
  const message = `${path} must be ${describeField(field)}, not ${JSON.stringify(part.slice(0, 64))}`
  issues.push({ message, field: path, type: 'invalid_type' })
  return part
}
