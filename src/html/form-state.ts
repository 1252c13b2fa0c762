// What the controls of a form hold: an item, the blanks of a new one, or a submitted form. A form sent
// back untouched leaves the item as it is.
import { parseControlName, printControlName, type Reading } from '../formats/form-values.ts'
import type { FormAction, PageView } from '../formats/page-view.ts'
import { IF_MATCH_PARAMETER, METHOD_PARAMETER } from '../http/method-override.ts'
import { isDate } from '../schema/dates.ts'
import type { Field, Fields } from '../schema/fields.ts'
import { hasOneType, parseScalars } from '../schema/scalars.ts'
import { getProperty, type Item, isObject, type Json } from '../schema/values.ts'

interface Control {
  readonly text: string
  readonly reading: Reading
}

/** The controls of a form by the path of their field. */
export type FormState = ReadonlyMap<string, Control>

const EMPTY: Control = { text: '', reading: 'plain' }

export function getControl(state: FormState, path: string): Control {
  return state.get(path) ?? EMPTY
}

/** Names that no control can have: they would be read as another path, or mean something else. */
const UNREACHABLE = /[.[\]\r\n]|^$|^(?:__proto__|constructor|prototype)$/
const PROTOCOL: ReadonlySet<string> = new Set([METHOD_PARAMETER, IF_MATCH_PARAMETER])

export function isReachable(name: string): boolean {
  return !UNREACHABLE.test(name) && !PROTOCOL.has(name)
}

/** Whether each property of an object has a control. */
export function isGroup(field: Field): field is Field & Required<Pick<Field, 'properties'>> {
  return (
    field.kind === 'object' &&
    field.open !== true &&
    field.properties !== undefined &&
    [...field.properties].every(([name, { kind }]) => isReachable(name) && kind !== 'blob')
  )
}

/** Lists the paths of the controls of these fields, in their order on a page. */
export function listControls(fields: Fields, state: FormState, prefix = ''): string[] {
  return [...fields].flatMap(([name, field]) => {
    if (!isReachable(name)) return []
    const path = prefix + name
    const group = isGroup(field) && getControl(state, path).reading !== 'json'
    return group ? listControls(field.properties, state, `${path}.`) : [path]
  })
}

/** Fills the controls for an item, or for a new one. */
export function fillForm(fields: Fields = new Map(), item: Item = {}): FormState {
  return new Map(fillFields(fields, item, ''))
}

function fillFields(fields: Fields, item: Item, prefix: string): [string, Control][] {
  return [...fields].flatMap(([name, field]): [string, Control][] => {
    if (!isReachable(name) || field.kind === 'blob') return []
    const path = prefix + name
    const value = getProperty(item, name) ?? null
    if (isGroup(field) && (value === null || fitsGroup(value, field)))
      return fillFields(field.properties, isObject(value) ? value : {}, `${path}.`)
    const reading = chooseReading(field, value)
    return [[path, { reading, text: value === null ? '' : printText(value, reading) }]]
  })
}

/** Restores the controls of a submitted form. */
export function restoreForm(fields: Fields, submitted: Submitted): FormState {
  return new Map([...fillForm(fields), ...readControls(submitted)])
}

/** Restores the input of an action from the submitted form, or from the query when it reads. */
export function restoreAction(
  { method, fields = new Map() }: FormAction,
  { submitted, parameters }: PageView,
): FormState {
  const query = parameters.map(({ name, value }) => [name, value] as const)
  return restoreForm(fields, submitted ?? (method === 'GET' ? query : []))
}

/** The values of a submitted form, by the paths of their fields. */
export function listSubmitted(submitted: Submitted): [path: string, text: string][] {
  return [...readControls(submitted)].flatMap(([path, { text }]): [string, string][] =>
    PROTOCOL.has(path) ? [] : [[path, text]],
  )
}

type Submitted = readonly (readonly [name: string, part: unknown])[]

function readControls(submitted: Submitted): FormState {
  const controls = new Map<string, Control>()
  for (const [name, part] of submitted) {
    if (typeof part !== 'string') continue
    const [path, reading] = parseControlName(name)
    const known = controls.get(path)
    controls.set(path, { reading, text: known ? `${known.text}\n${part}` : part })
  }
  return controls
}

export function controlName(state: FormState, path: string): string {
  return printControlName(path, getControl(state, path).reading)
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
  if (value === null) return 'plain'
  if (!isReadBack(value, field)) return 'json'
  if (typeof value !== 'string' || field.choices) return 'plain'
  if (value.includes('\r')) return 'json'
  const free = kind === 'string' || kind === 'union'
  return free && (value.includes('\n') || value.length > LONG_TEXT) ? 'text' : 'plain'
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
