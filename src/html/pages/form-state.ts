// The controls of a form with what they hold: an item, nothing, or a submitted form. A form sent back
// untouched leaves the item as it is.

import { createHash } from 'node:crypto'
import { isDate } from '../../base/dates.ts'
import { getProperty, type Item, isObject, type Json } from '../../base/values.ts'
import { parseControlName, type Reading } from '../../formats/form-values.ts'
import { FORM_PARAMETERS, METHOD_PARAMETER } from '../../http/method-override.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import { hasOneType, isUnreadable } from '../../schema/fields.ts'
import { parseScalars } from '../../schema/scalars.ts'
import type { FormAction, PageView } from './page-view.ts'

/** A control of a form, or the group of controls for an object. */
export interface Control {
  readonly name: string
  /** The dotted path of its field. */
  readonly path: string
  readonly field: Field
  /** What it holds; of a file the address of the present content. */
  readonly text: string
  readonly reading: Reading
  /** The controls of an object's properties. */
  readonly group?: readonly Control[] | undefined
}

/** Names that no control can have: they would be read as another path, or mean something else. */
const UNREACHABLE = /[.[\]\r\n]|^$|^(?:__proto__|constructor|prototype)$/
const PROTOCOL: ReadonlySet<string> = new Set([METHOD_PARAMETER, ...FORM_PARAMETERS])

export function isReachable(name: string): boolean {
  return !UNREACHABLE.test(name) && !PROTOCOL.has(name)
}

/** Whether each property of an object has a control. */
function isGroup(field: Field): field is Field & Required<Pick<Field, 'properties'>> {
  return (
    field.kind === 'object' &&
    field.open !== true &&
    field.properties !== undefined &&
    [...field.properties].every(([name, { kind }]) => isReachable(name) && kind !== 'blob')
  )
}

/** Fills the controls for an item, or for a new one. */
export function fillForm(fields: Fields = new Map(), item: Item = {}, prefix = ''): Control[] {
  return [...fields].flatMap(([name, field]): Control[] => {
    if (!isReachable(name)) return []
    const value = getProperty(item, name) ?? null
    const control = { name, path: prefix + name, field, text: '', reading: 'plain' } as const
    if (field.kind === 'blob') return [{ ...control, text: findAddress(name, item) }]
    if (isGroup(field) && (value === null || fitsGroup(value, field))) {
      const properties = isObject(value) ? value : {}
      return [{ ...control, group: fillForm(field.properties, properties, `${control.path}.`) }]
    }
    const reading = chooseReading(field, value)
    return [{ ...control, reading, text: value === null ? '' : printText(value, reading) }]
  })
}

/** Finds the address of a file, or `''`. */
function findAddress(name: string, item: Item): string {
  const value = item[name]
  const url = item[`${name}_url`] ?? (isObject(value) ? value.url : undefined)
  return typeof url === 'string' ? url : ''
}

/** Restores the controls of an action from the submitted form, or from the query when it reads. */
export function restoreForm(
  { method, fields }: FormAction,
  { submitted, parameters }: PageView,
): Control[] {
  const query = parameters.map(({ name, value }) => [name, value] as const)
  const texts = readTexts(submitted ?? (method === 'GET' ? query : []))
  const restore = (control: Control): Control => {
    const { path, field, group } = control
    const known = texts.get(field.kind === 'blob' ? `${path}_url` : path)
    if (!group) return { ...control, ...known }
    if (known?.reading === 'json') return { ...control, ...known, group: undefined }
    return { ...control, group: group.map(restore) }
  }
  return fillForm(fields).map(restore)
}

/** Prints what controls were filled with: a digest of each text, since a text may be long. */
export function printFilled(controls: readonly Control[]): string {
  const pairs = flatten(controls).map(({ path, text }) => [path, digest(text)] as const)
  return new URLSearchParams(Object.fromEntries(pairs)).toString()
}

/** Lists the controls that hold another text than a form was filled with. @param filled what {@link printFilled} gave. */
export function listChanged(controls: readonly Control[], filled: string): Control[] {
  const digests = new URLSearchParams(filled)
  return flatten(controls).filter(({ path, text }) => digests.get(path) !== digest(text))
}

/** Returns my controls with theirs in the place of those that I have not changed. */
export function keepTheirs(
  mine: readonly Control[],
  theirs: readonly Control[],
  filled: string,
): Control[] {
  return mine.map(control => {
    const other = theirs.find(({ path }) => path === control.path)
    if (!other || listChanged([control], filled).length === 0) return other ?? control
    if (!control.group || !other.group) return control
    return { ...control, group: keepTheirs(control.group, other.group, filled) }
  })
}

/** A browser sends line breaks as CR LF. */
export function toLines(text: string): string {
  return text.replace(/\r\n/g, '\n')
}

function digest(text: string): string {
  return createHash('sha256').update(toLines(text)).digest('base64url').slice(0, 8)
}

/** Lists controls with those in groups, in their order on a page. */
export function flatten(controls: readonly Control[]): Control[] {
  return controls.flatMap(control => (control.group ? flatten(control.group) : [control]))
}

/** Finds the control for the field of an error: its own, or that of the whole list or object. */
export function findControl(
  field: string | undefined,
  controls: readonly Control[],
): Control | undefined {
  const found = controls.find(({ path }) => field === path || field?.startsWith(`${path}.`))
  return found?.group ? (findControl(field, found.group) ?? found) : found
}

function readTexts(
  submitted: NonNullable<PageView['submitted']>,
): Map<string, Pick<Control, 'text' | 'reading'>> {
  const texts = new Map<string, Pick<Control, 'text' | 'reading'>>()
  for (const [name, part] of submitted) {
    if (typeof part !== 'string') continue
    const [path, reading] = parseControlName(name)
    const known = texts.get(path)
    texts.set(path, { reading, text: known ? `${known.text}\n${part}` : part })
  }
  return texts
}

/** Whether the controls of its properties can hold an object: it has no other properties. */
function fitsGroup(value: Json, { properties }: Field): boolean {
  if (!isObject(value)) return false
  const names = Object.keys(value)
  return names.length > 0 && names.every(name => properties?.has(name))
}

/** A longer text gets an area. */
const LONG_TEXT = 120

function chooseReading(field: Field, value: Json): Reading {
  const { kind, element } = field
  if (kind === 'array' && element && hasOneType(element.kind) && !element.nullable) {
    const values = value ?? []
    return Array.isArray(values) && values.every(each => fitsLine(each, element)) ? 'lines' : 'json'
  }
  if (!hasOneType(kind) && !isText(field)) return 'json'
  const isLong = field.long === true && !field.password && !isUnreadable(field)
  if (value === null) return isLong ? 'text' : 'plain'
  if (!isReadBack(value, field)) return 'json'
  if (typeof value !== 'string' || field.choices) return 'plain'
  if (value.includes('\r')) return 'json'
  const free = kind === 'string' || kind === 'union'
  return free && (isLong || value.includes('\n') || value.length > LONG_TEXT) ? 'text' : 'plain'
}

/** Whether all values of a field are texts: of a union, those of its options. */
function isText({ kind, options = [] }: Field): boolean {
  if (kind === 'union') return options.every(isText)
  return kind === 'string' || kind === 'date' || kind === 'date-time'
}

/** Whether the text of a value is read as this value again. */
function isReadBack(value: Json, field: Field): boolean {
  if (typeof value === 'object') return false
  if (field.kind === 'date' && !isDate(String(value))) return false
  return parseScalars(String(value), field)[0] === value
}

function fitsLine(value: Json, element: Field): boolean {
  return isReadBack(value, element) && value !== '' && !/[\r\n]/.test(String(value))
}

function printText(value: Json, reading: Reading): string {
  if (reading === 'json') return JSON.stringify(value, undefined, 2)
  return Array.isArray(value) ? value.join('\n') : String(value)
}
