// What the controls of a form hold: of an item, of a new one, or what was sent and refused. Made so
// that a form sent back untouched leaves the item as it is.

import { AS_PARAMETER, readHints } from '../formats/form-hints.ts'
import { IF_MATCH_PARAMETER, METHOD_PARAMETER } from '../http/method-override.ts'
import { isDate } from '../schema/dates.ts'
import type { Field, Fields } from '../schema/fields.ts'
import { hasOneType, parseScalars } from '../schema/scalars.ts'
import { type Item, isObject, type Json } from '../schema/values.ts'

/** How a control is to be read: as it stands, or as a mark says (form-marks.ts). */
export type Reading = 'plain' | 'text' | 'lines' | 'json'

export interface FormState {
  /** What the control of a path holds, as text. */
  text(path: string): string
  reading(path: string): Reading
  /** The marks to send along, by path. */
  readonly marks: ReadonlyMap<string, ReadonlySet<string>>
}

/** Names that no control can have: of a path they would be another path, or they mean something else. */
const UNREACHABLE = /[.[\]\r\n]|^$|^(?:__proto__|constructor|prototype)$/
const CONTROLS: ReadonlySet<string> = new Set([METHOD_PARAMETER, IF_MATCH_PARAMETER, AS_PARAMETER])

export function isReachable(name: string): boolean {
  return !UNREACHABLE.test(name) && !CONTROLS.has(name)
}

/** Whether an object's properties have controls of their own. */
export function isGroup(field: Field): field is Field & Required<Pick<Field, 'properties'>> {
  return (
    field.kind === 'object' &&
    field.open !== true &&
    field.properties !== undefined &&
    [...field.properties].every(([name, property]) => isReachable(name) && property.kind !== 'blob')
  )
}

/** The paths of the controls of these fields, in their order on a page. */
export function pathsOfControls(fields: Fields, state: FormState, prefix = ''): string[] {
  return [...fields].flatMap(([name, field]) => {
    if (!isReachable(name)) return []
    const path = prefix + name
    const group = isGroup(field) && state.reading(path) !== 'json'
    return group ? pathsOfControls(field.properties, state, `${path}.`) : [path]
  })
}

/**
 * The state of a form for an item, or for a new one.
 * @param patches whether what a form leaves out stays as it is, as with PATCH; else it is removed.
 */
export function stateOf(fields: Fields = new Map(), item?: Item, patches = false): FormState {
  const texts = new Map<string, string>()
  const marks = new Map<string, Set<string>>()
  const mark = (path: string, word: string) =>
    marks.set(path, (marks.get(path) ?? new Set()).add(word))
  const common = { reading: 'plain', patches, creates: !item } as const

  /** Whether a form sent untouched says anything of an object. */
  function isGiven(path: string): boolean {
    return [...texts].some(
      ([at, text]) =>
        at.startsWith(`${path}.`) &&
        (text !== '' || !['absent', 'null'].some(word => marks.get(at)?.has(word))),
    )
  }

  function fill(properties: Fields, values: Item, prefix: string, within: boolean): void {
    for (const [name, field] of properties) {
      if (!isReachable(name)) continue
      const path = prefix + name
      const value = getOwnValue(values, name)
      if (field.kind === 'blob') {
        // The file that is there is kept by its address: without that there is none.
        const url = `${path}_url`
        const file = value === undefined ? getOwnValue(values, url) : value
        const address = patches && field.optional && isObject(value) ? path : url
        if (blankOf(field, file, { ...common, within }) === 'null') mark(address, 'null')
        continue
      }
      const fits = value === undefined || value === null || fitsGroup(value, field)
      if (isGroup(field) && fits) {
        const maybe = field.optional || field.nullable
        fill(field.properties, isObject(value) ? value : {}, `${path}.`, within || maybe)
        // An object that its controls leave nothing of is none; not where they hold nothing as it is.
        const emptied = !isObject(value) || isGiven(path)
        if (emptied && blankOf(field, value, { ...common, within }) === 'null') mark(path, 'null')
        continue
      }
      const reading = readingOf(field, value)
      texts.set(path, value === undefined || value === null ? '' : print(value, reading))
      if (reading !== 'plain') mark(path, reading)
      const blank = blankOf(field, value, { ...common, reading, within })
      if (blank) mark(path, blank)
    }
  }
  fill(fields, item ?? {}, '', false)
  return made(texts, marks)
}

/** The state of a form that was sent: exactly what it held. */
export function stateOfSent(fields: Fields, sent: Sent): FormState {
  const texts = textsOf(sent)
  const own = sent.some(([name]) => name === AS_PARAMETER)
  return made(texts, own ? readHints(stringsOf(sent)) : stateOf(fields).marks)
}

/** The texts of a form that was sent, without what it says of itself. */
export function valuesSent(sent: Sent): [name: string, text: string][] {
  return [...textsOf(sent)].filter(([name]) => !CONTROLS.has(name))
}

type Sent = readonly (readonly [name: string, part: unknown])[]

function textsOf(sent: Sent): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, part] of stringsOf(sent)) {
    const known = texts.get(name)
    texts.set(name, known === undefined ? part : `${known}\n${part}`)
  }
  return texts
}

function stringsOf(sent: Sent): (readonly [name: string, part: string])[] {
  return sent.flatMap(([name, part]) => (typeof part === 'string' ? [[name, part] as const] : []))
}

function getOwnValue(values: Item, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function made(
  texts: ReadonlyMap<string, string>,
  marks: ReadonlyMap<string, ReadonlySet<string>>,
): FormState {
  return {
    marks,
    text: path => texts.get(path) ?? '',
    reading(path) {
      const words = marks.get(path)
      return (['json', 'lines', 'text'] as const).find(word => words?.has(word)) ?? 'plain'
    },
  }
}

/** Whether the controls of its properties can hold an object: it has no others, and they leave something of it. */
function fitsGroup(value: Json, { properties }: Field): boolean {
  if (!isObject(value)) return false
  const names = Object.keys(value)
  return names.length > 0 && names.every(name => properties?.has(name))
}

/** A text longer than this gets an area. */
const LONG_TEXT = 120

function readingOf(field: Field, value: Json | undefined): Reading {
  const { kind, element } = field
  if (kind === 'array' && element && hasOneType(element.kind) && !element.nullable) {
    const fits = !Array.isArray(value)
      ? value === undefined || value === null
      : value.every(each => fitsLine(each, element))
    return fits ? 'lines' : 'json'
  }
  if (!hasOneType(kind) && !isText(field)) return 'json'
  if (value === undefined || value === null) return 'plain'
  if (!givesBack(value, field)) return 'json'
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
function givesBack(value: Json, field: Field): boolean {
  if (typeof value === 'object') return false
  if (field.kind === 'date' && !isDate(String(value))) return false
  return parseScalars(String(value), field)[0] === value
}

function fitsLine(value: Json, element: Field): boolean {
  return givesBack(value, element) && value !== '' && !/[\r\n]/.test(String(value))
}

function print(value: Json, reading: Reading): string {
  if (reading === 'json') return JSON.stringify(value, undefined, 2)
  if (reading === 'lines' && Array.isArray(value)) return value.map(String).join('\n')
  return String(value)
}

/** What a blank means, where it is not an empty text or an empty list. */
function blankOf(
  { nullable, optional }: Field,
  value: Json | undefined,
  {
    reading,
    within,
    patches,
    creates,
  }: { reading: Reading; within: boolean; patches: boolean; creates: boolean },
): 'absent' | 'null' | undefined {
  if (value === '') return undefined
  if (Array.isArray(value) && reading === 'lines') return undefined
  if (value === null) return patches ? 'absent' : 'null'
  if (value === undefined) {
    if (creates && nullable && !optional && !within) return 'null'
    return optional || within || !creates ? 'absent' : undefined
  }
  if (!optional && !nullable && !within) return undefined
  if (patches) return 'null'
  return optional || within ? 'absent' : 'null'
}
