// The values of a form, urlencoded or multipart: pairs of names and texts to the properties of an
// item. The schema's fields decide what a text means, never how it looks.

import { getProperty, type Item, isObject, type Json } from '../base/values.ts'
import { HttpError, type Issue, quote, throwIfAny, toHttpError } from '../errors.ts'
import { FORM_PARAMETERS, METHOD_PARAMETER } from '../http/method-override.ts'
import { describeField, type Field, type Fields, isUnreadable } from '../schema/fields.ts'
import { inexactReason, parseScalars } from '../schema/scalars.ts'
import type { ReadContext } from './format.ts'
import { parseJson, tooManyMembers } from './json.ts'
import { checkJson, checkName } from './json-value.ts'

/** One value of a form: a text, or a part that is JSON already. */
export type FormPart = string | { readonly json: Json }
export type FormPair = readonly [name: string, part: FormPart]

/** A control's name may say how its text is read: `rates:json`, `tags:lines`, `notes:text`. */
export type Reading = 'plain' | 'text' | 'lines' | 'json'

const READING = /^(.+):(text|lines|json)$/

/** Splits the name of a control into its path and reading. */
export function parseControlName(name: string): [path: string, reading: Reading] {
  const [, path, reading] = READING.exec(name) ?? []
  // The pattern has no other readings.
  return path === undefined ? [name, 'plain'] : [path, reading as Reading]
}

export function printControlName(path: string, reading: Reading): string {
  return reading === 'plain' ? path : `${path}:${reading}`
}

type Tree = Map<string, Tree | FormPart[]>

/** What all values of one form share. */
interface Form {
  readonly limits: ReadContext['limits']
  readonly issues: Issue[]
  /** Whether null removes a property, as in a merge patch. */
  readonly isPatch: boolean
}

/**
 * Reads the properties of a form: names to nested objects, texts to values by the schema's fields. An
 * empty control of an optional or nullable field is null or absent, of a write-only one absent.
 * @throws HttpError 400 with every issue, where the context does not collect them; 413 for too much.
 */
export function formValue(
  pairs: readonly FormPair[],
  context: Pick<ReadContext, 'fields' | 'limits' | 'issues' | 'method'>,
): Item {
  const { fields, limits, issues = [], method } = context
  if (pairs.length > limits.parameters) {
    const message = `A form may have at most ${limits.parameters} keys`
    throw new HttpError(413, [{ message, type: 'too_many_keys' }])
  }
  const methods = pairs.flatMap(([name, part]) => (name === METHOD_PARAMETER ? [part] : []))
  const isPatch = [method, ...methods].some(each => /^patch$/i.test(String(each)))
  const tree: Tree = new Map()
  for (const [name, part] of pairs) {
    if (name === METHOD_PARAMETER || (FORM_PARAMETERS.has(name) && !fields?.has(name))) continue
    const issue = plant(tree, name, part, limits.depth)
    if (issue) issues.push(issue)
  }
  const value = readTree(tree, { properties: fields }, '', { limits, issues, isPatch })
  if (!context.issues) throwIfAny(issues)
  checkJson(value)
  return value
}

/** Objects of JSON controls: a patch replaces the present value by them, and does not merge. */
const whole = new WeakSet<object>()

/**
 * Applies a form to an item as a merge patch. An empty control leaves an empty value as it is, and
 * null is the value of a field that must be present.
 */
export function mergeForm(target: Json | undefined, patch: Json, fields?: Fields): Json {
  if (!isObject(patch) || whole.has(patch)) return patch
  const merged: Item = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    const field = fields?.get(name)
    const known = getProperty(merged, name)
    if (value !== null) merged[name] = mergeForm(known, value, field?.properties)
    else if (field && known !== undefined && isBlank(known)) continue
    else if (field?.nullable && !field.optional) merged[name] = null
    else delete merged[name]
  }
  return merged
}

/** Whether the controls of a value are empty. */
function isBlank(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) ? Object.values(value).every(isBlank) : value === null || value === ''
}

/** Splits `a.b`, `a[b]` and `a[b][]` into names; `[]` at the end marks one value of a list. */
export function namesOf(name: string): string[] {
  return name
    .replace(/\[\]$/, '')
    .replace(/\[([^[\]]*)\]/g, '.$1')
    .split('.')
}

function plant(tree: Tree, name: string, part: FormPart, depth: number): Issue | undefined {
  const field = name.slice(0, 128)
  const names = namesOf(name)
  if (names.length > depth) {
    const message = `${field} is nested deeper than ${depth} levels`
    return { message, field, type: 'too_deep' }
  }
  for (const each of names) checkName(each, field)
  const [last = ''] = names.splice(-1)
  const message = `${field} is given both as a value and as an object`
  const conflict: Issue = { message, field, type: 'conflicting_keys' }
  let branch = tree
  for (const each of names) {
    const next = branch.get(each) ?? new Map()
    if (Array.isArray(next)) return conflict
    branch.set(each, next)
    branch = next
  }
  const parts = branch.get(last) ?? []
  if (!Array.isArray(parts)) return conflict
  parts.push(part)
  branch.set(last, parts)
  return undefined
}

/** The fields below a node: named ones, or one for every name of a record. */
interface Owner {
  readonly properties?: Fields | undefined
  readonly element?: Field
}

function readTree(tree: Tree, { properties, element }: Owner, prefix: string, form: Form): Item {
  const value: Item = {}
  const find = (name: string) => element ?? properties?.get(name)
  for (const [key, node] of tree) {
    const [base, suffix] = parseControlName(key)
    const [name, reading]: [string, Reading] =
      !find(key) && find(base) ? [base, suffix] : [key, 'plain']
    const field = find(name) ?? findBlob(name, properties)
    const path = prefix + name
    // The control of a write-only value is empty where nobody has typed a new one.
    if (field && isUnreadable(field) && isEmpty(node, field)) continue
    // A plain control of a list is one of its elements.
    const isElement = field?.kind === 'array' && reading === 'plain'
    const isOmitted =
      field && (field.optional || field.nullable) && !isElement && isEmpty(node, field)
    const property = isOmitted
      ? emptyValue(field, form.isPatch)
      : readNode(node, { field, path, reading }, form)
    if (property === undefined) continue
    if (Object.hasOwn(value, name)) form.issues.push(repeated(path, 2))
    value[name] = property
  }
  return value
}

/** Finds the binary property of an address: `photo` of `photo_url`. */
function findBlob(name: string, fields: Fields | undefined): Field | undefined {
  const field = name.endsWith('_url') ? fields?.get(name.slice(0, -'_url'.length)) : undefined
  return field?.kind === 'blob' ? { ...field, kind: 'string' } : undefined
}

/** Whether a control is empty, or the controls of all properties of an object. */
function isEmpty(node: Tree | FormPart[], { properties }: Partial<Field> = {}): boolean {
  if (Array.isArray(node)) return node.length === 1 && node[0] === ''
  const isWhole = node.size === properties?.size
  return (
    isWhole &&
    [...node].every(([key, each]) => isEmpty(each, properties?.get(parseControlName(key)[0])))
  )
}

/** Null removes an optional property by a patch; elsewhere absence lets its default come in. */
function emptyValue({ optional }: Field, isPatch: boolean): null | undefined {
  return optional && !isPatch ? undefined : null
}

/** A control of a form: what it is for, and how its text is read. */
interface FormControl {
  readonly field: Field | undefined
  readonly path: string
  readonly reading: Reading
}

function readNode(node: Tree | FormPart[], control: FormControl, form: Form): Json | undefined {
  if (Array.isArray(node)) return readParts(node, control, form)
  const { field, path } = control
  if (field?.kind === 'array' && [...node.keys()].every(name => /^\d{1,9}$/.test(name))) {
    const elements = [...node].sort(([one], [other]) => Number(one) - Number(other))
    // A patch replaces a list as a whole: within it null removes nothing.
    const within = { ...form, isPatch: false }
    return elements.flatMap(([name, element]) => {
      const part: FormControl = { field: field.element, path: `${path}.${name}`, reading: 'plain' }
      const value = readNode(element, part, within)
      return value === undefined ? [] : [value]
    })
  }
  return readTree(node, field ?? {}, `${path}.`, form)
}

function readParts(
  parts: readonly FormPart[],
  { field, path, reading }: FormControl,
  form: Form,
): Json | undefined {
  const [only = ''] = parts
  const single = parts.length === 1
  if (reading === 'json' && single && typeof only === 'string') return readJson(only, path, form)
  if (field?.kind === 'array') {
    if (single && typeof only === 'object') {
      const { json } = only
      if (Array.isArray(json) || (json === null && field.nullable)) return json
    }
    const texts = reading === 'lines' && typeof only === 'string' ? toLines(only, form) : parts
    return texts.flatMap(part => {
      const value = readPart(part, field.element, path, form)
      return value === undefined ? [] : [value]
    })
  }
  if (!single) form.issues.push(repeated(path, parts.length))
  const isText = reading === 'text' && typeof only === 'string'
  return readPart(isText ? toLineFeeds(only) : only, field, path, form)
}

function repeated(path: string, times: number): Issue {
  const message = `${path} is given ${times} times; give it once`
  return { message, field: path, type: 'repeated_key' }
}

/** Browsers send line breaks as CR LF. */
function toLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

function toLines(text: string, { limits }: Form): string[] {
  const lines = toLineFeeds(text).split('\n').filter(Boolean)
  if (lines.length > limits.members) throw tooManyMembers(limits.members)
  return lines
}

function readJson(text: string, path: string, { limits, issues }: Form): Json | undefined {
  try {
    const value = parseJson(text, limits.depth, limits.members, path)
    if (isObject(value)) whole.add(value)
    return value
  } catch (error) {
    const refusal = toHttpError(error)
    if (refusal.status !== 400) throw refusal
    const { message, errors } = refusal
    const [first] = errors
    issues.push(
      first?.type === 'inexact_number'
        ? { message, field: first.field ?? path, type: 'inexact_number' }
        : {
            message: `${path} ${message.replace(/^The body /, '')}`,
            field: path,
            type: 'invalid_json',
          },
    )
    return undefined
  }
}

/** An empty text is no value where the field is no text: absent, or null where it may be. */
function readPart(
  part: FormPart,
  field: Field | undefined,
  path: string,
  { issues }: Form,
): Json | undefined {
  if (typeof part !== 'string') return part.json
  if (!field) return part
  const values = parseScalars(part, field)
  if (values[0] !== undefined) return values[0]
  if (part === '' && (field.nullable || field.optional)) return emptyValue(field, false)
  if (part === '') {
    issues.push({ message: `${path} is required`, field: path, type: 'required' })
    return part
  }
  // The schema has a better message for an enumeration.
  if (field.choices || field.kind === 'any') return part
  const inexact = inexactReason(part, field)
  const what = inexact ?? `must be ${describeField(field)}, not ${quote(part)}`
  const type = inexact === undefined ? 'invalid_type' : 'inexact_number'
  issues.push({ message: `${path} ${what}`, field: path, type })
  return part
}
