// `application/x-www-form-urlencoded` (WHATWG URL §5): each key one property, nesting as
// `model.name=` or `model[name]=`, lists as a repeated key, `tags[]=` or `tags[0]=`; typed by the schema.
import { HttpError, type Mistake, refuse } from '../errors.ts'
import {
  expectation,
  type Field,
  type Fields,
  type Item,
  isObject,
  type Json,
  scalarsOf,
} from '../fields.ts'
import { parseParameters } from '../http.ts'
import { type FormPair, type Part, unmark } from './form-marks.ts'
import {
  checkJson,
  checkName,
  decodeText,
  type Format,
  type ReadContext,
  readBytes,
} from './format.ts'

export const form: Format = {
  name: 'form',
  extensions: [],
  types: ['application/x-www-form-urlencoded'],
  form: true,
  async read(body, context) {
    const text = decodeText(await readBytes(body, context), context.parameters.get('charset'))
    const parameters = parseParameters(text)
    if (!parameters) {
      throw new HttpError(400, [
        { message: 'The body has an escape that is no UTF-8', type: 'invalid_encoding' },
      ])
    }
    return formValue(
      parameters.map(({ name, value }) => [name, value]),
      context,
    )
  },
  receive: (parsed, context) => formValue(flatten(parsed, ''), context),
}

/** What a host's parser made of a form, as pairs again. */
function flatten(value: unknown, name: string): [string, string][] {
  if (Array.isArray(value)) {
    return value.flatMap((element, at) =>
      flatten(element, isObject(element) ? `${name}.${at}` : name),
    )
  }
  if (isObject(value)) {
    return Object.entries(value).flatMap(([key, member]) =>
      flatten(member, name ? `${name}.${key}` : key),
    )
  }
  return [[name, String(value)]]
}

export type { Part } from './form-marks.ts'

type Tree = Map<string, Tree | Part[]>

/**
 * The properties of a form: names to nested objects, texts to values by the schema's fields.
 * @throws HttpError 400 with every mistake: an ill-typed text, a name that is both a value and an object.
 */
export function formValue(
  pairs: readonly FormPair[],
  { fields, limits, sent }: Pick<ReadContext, 'fields' | 'limits' | 'sent'>,
): Item {
  if (pairs.length > limits.parameters) {
    throw new HttpError(413, [
      { message: `A form may have at most ${limits.parameters} keys`, type: 'too_many_keys' },
    ])
  }
  const mistakes: Mistake[] = []
  sent?.(pairs)
  const tree: Tree = new Map()
  const meant = unmark(pairs, { fields, depth: limits.depth }, mistakes)
  for (const [name, part] of meant) plant(tree, name, part, limits.depth, mistakes)
  const value = treeValue(tree, fields, '', mistakes)
  refuse(mistakes)
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

function plant(tree: Tree, name: string, part: Part, depth: number, mistakes: Mistake[]): void {
  const names = namesOf(name)
  const field = name.slice(0, 128)
  if (names.length > depth) {
    mistakes.push({
      message: `${field} is nested deeper than ${depth} levels`,
      field,
      type: 'too_deep',
    })
    return
  }
  let branch = tree
  const last = names.pop() ?? ''
  for (const each of [...names, last]) checkName(each, field)
  for (const each of names) {
    const next = branch.get(each) ?? new Map()
    if (Array.isArray(next)) {
      mistakes.push({
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
    mistakes.push({
      message: `${field} is given both as a value and as an object`,
      field,
      type: 'conflicting_keys',
    })
    return
  }
  branch.set(last, [...parts, part])
}

function treeValue(
  tree: Tree,
  fields: Fields | undefined,
  path: string,
  mistakes: Mistake[],
): Item {
  const value: Item = {}
  for (const [name, node] of tree) {
    const member = nodeValue(node, fields?.get(name), path + name, mistakes)
    if (member !== undefined) value[name] = member
  }
  return value
}

function nodeValue(
  node: Tree | Part[],
  field: Field | undefined,
  path: string,
  mistakes: Mistake[],
): Json | undefined {
  if (Array.isArray(node)) return partsValue(node, field, path, mistakes)
  if (field?.kind === 'array' && [...node.keys()].every(name => /^\d{1,9}$/.test(name))) {
    const elements = [...node].sort(([one], [other]) => Number(one) - Number(other))
    return elements.flatMap(([name, element]) => {
      const value = nodeValue(element, field.element, `${path}.${name}`, mistakes)
      return value === undefined ? [] : [value]
    })
  }
  const members =
    field?.kind === 'record' && field.element ? recordFields(node, field.element) : field?.members
  return treeValue(node, members, `${path}.`, mistakes)
}

function recordFields(tree: Tree, element: Field): Fields {
  return new Map([...tree.keys()].map(name => [name, element]))
}

function partsValue(
  parts: readonly Part[],
  field: Field | undefined,
  path: string,
  mistakes: Mistake[],
): Json | undefined {
  if (field?.kind === 'array') {
    const [only] = parts
    if (parts.length === 1 && typeof only === 'object' && Array.isArray(only.json)) return only.json
    return parts.flatMap(part => {
      const value = partValue(part, field.element, path, mistakes)
      return value === undefined ? [] : [value]
    })
  }
  const [part] = parts
  if (part === undefined) return undefined
  if (parts.length > 1) {
    mistakes.push({
      message: `${path} is given ${parts.length} times; give it once`,
      field: path,
      type: 'repeated_key',
    })
  }
  return partValue(part, field, path, mistakes)
}

/** An empty text is no value where the field is no text: absent, or null where it may be. */
function partValue(
  part: Part,
  field: Field | undefined,
  path: string,
  mistakes: Mistake[],
): Json | undefined {
  if (typeof part !== 'string') return part.json
  if (!field) return part
  const values = scalarsOf(part, field)
  if (values[0] !== undefined) return values[0]
  if (part === '' && (field.nullable || field.optional)) return field.nullable ? null : undefined
  // An enumeration's own message, and a missing parent, are better told by the schema.
  if (field.choices || field.kind === 'any') return part
  const message = `${path} must be ${expectation(field)}, not ${JSON.stringify(part.slice(0, 64))}`
  mistakes.push({ message, field: path, type: 'invalid_type' })
  return undefined
}
