// Forms of what can be done: a typed control for every field, the issues at the fields they are of.
// They work without a script: `_method` says what a POST stands for.
import type { ErrorEntry } from '../errors.ts'
import { AS_PARAMETER } from '../formats/form-hints.ts'
import type { FormAction } from '../formats/page-view.ts'
import { IF_MATCH_PARAMETER, METHOD_PARAMETER } from '../http/method-override.ts'
import { describeField, type Field, type Fields } from '../schema/fields.ts'
import { type Item, isObject } from '../schema/values.ts'
import {
  type FormState,
  isGroup,
  isReachable,
  pathsOfControls,
  type Reading,
} from './form-state.ts'
import { type Markup, markup, raw } from './markup.ts'

/** A form to print. */
export interface FormOptions {
  readonly action: FormAction
  readonly state: FormState
  readonly errors: readonly ErrorEntry[]
  /** The text of its button. */
  readonly button: string
  readonly danger?: boolean
  readonly quiet?: boolean
  /** The item that it changes, for the addresses of the files it has. */
  readonly item?: Item | undefined
  /** The entity tag that the item must still have. */
  readonly tag?: string | undefined
}

/** What the printing of one form's controls shares. */
interface Drawing extends FormOptions {
  /** What the ids of its controls begin with. */
  readonly id: string
  readonly fields: Fields
  /** The first control with a issue: it gets the focus. */
  readonly focus: string | undefined
}

export function printForm(options: FormOptions): Markup {
  const { action, state, button, danger, quiet, tag } = options
  const { method, href, fields = new Map() } = action
  const reads = method === 'GET'
  // Files come last: where one is refused, everything else has been read.
  const files = [...fields].filter(([, { kind }]) => kind === 'blob')
  const ordered = new Map([...fields].filter(([, { kind }]) => kind !== 'blob').concat(files))
  const focus = firstMistake(options, ordered)
  const drawing: Drawing = { ...options, id: action.name, fields, focus }
  return markup`<form method="${reads ? 'get' : 'post'}" action="${href}"${action.kind === 'change' && OWN_VALUES}${files.length > 0 && raw(' enctype="multipart/form-data"')}>
${method !== 'GET' && method !== 'POST' && hidden(METHOD_PARAMETER, method)}
${!reads && tag !== undefined && hidden(IF_MATCH_PARAMETER, tag)}
${fields.size > 0 && printMarks(state)}
${fields.size > 0 && markup`<div class="fields">${controls(drawing, ordered, '', true)}</div>`}
<p><button${danger && raw(' class="danger"')}${quiet && raw(' class="quiet"')}>${button}</button></p>
</form>`
}

/**
 * What a browser fills in again when one comes back may be of an older version than the entity tag
 * beside it: it would be written over the newer one.
 */
const OWN_VALUES = raw(' autocomplete="off"')

export function hidden(name: string, value: string): Markup {
  return markup`<input type="hidden" name="${name}" value="${value}">`
}

function printMarks({ marks }: FormState): Markup | undefined {
  const lines = [...marks].flatMap(([path, words]) => [...words].map(word => `${word} ${path}`))
  return lines.length === 0 ? undefined : hidden(AS_PARAMETER, lines.join('\n'))
}

/** The id of a control, in links from the list of issues too. */
export function controlId(form: string, path: string): string {
  return `${form}-${path.replace(/[^\w.-]/g, '_')}`
}

/** The path of the control that a issue belongs to: its own, or that of a whole list or object. */
export function controlOf(
  field: string | undefined,
  fields: Fields = new Map(),
): string | undefined {
  if (field === undefined) return undefined
  const [first = '', ...rest] = field.split('.')
  const known = fields.get(first)
  if (!known || !isReachable(first)) return undefined
  if (!isGroup(known)) return first
  const below = controlOf(rest.join('.') || undefined, known.properties)
  return below === undefined ? first : `${first}.${below}`
}

/** The first control of a form that has a issue of its own, or of the object that it is in. */
function firstMistake({ errors, state }: FormOptions, fields: Fields): string | undefined {
  if (errors.length === 0) return undefined
  const wrong = errors.map(({ field }) => controlOf(field, fields))
  return pathsOfControls(fields, state).find(path =>
    wrong.some(each => each === path || (each !== undefined && path.startsWith(`${each}.`))),
  )
}

function controls(drawing: Drawing, fields: Fields, prefix: string, whole: boolean): Markup[] {
  return [...fields].flatMap(([name, field]) => {
    if (!isReachable(name)) return []
    const path = prefix + name
    if (!isGroup(field) || drawing.state.reading(path) === 'json') {
      return [control(drawing, { name, path, field, required: whole && !maybe(field) })]
    }
    const inner = controls(drawing, field.properties, `${path}.`, whole && !maybe(field))
    return [
      markup`<fieldset id="${controlId(drawing.id, path)}"><legend>${name}${maybe(field) && OPTIONAL}</legend>${mistakesAt(drawing, path)}${inner}</fieldset>`,
    ]
  })
}

function maybe({ optional, nullable }: Field): boolean {
  return optional || nullable
}

const OPTIONAL = raw(' <span class="hint">optional</span>')

interface Control {
  readonly name: string
  readonly path: string
  readonly field: Field
  readonly required: boolean
}

function mistakesAt(drawing: Drawing, path: string): Markup | undefined {
  const found = mistakesOf(drawing, path)
  if (found.length === 0) return undefined
  const id = `${controlId(drawing.id, path)}-issue`
  return markup`<p class="issue" id="${id}">${found.map(({ message }) => markup`<span>${message}</span>`)}</p>`
}

function mistakesOf({ errors, fields }: Drawing, path: string): readonly ErrorEntry[] {
  return errors.filter(({ field }) => controlOf(field, fields) === path)
}

function control(drawing: Drawing, given: Control): Markup {
  const { name, path, field, required } = given
  const id = controlId(drawing.id, path)
  const issues = mistakesAt(drawing, path)
  const reading = drawing.state.reading(path)
  const hint = hintOf(field, reading)
  const described = [hint && `${id}-hint`, issues && `${id}-issue`].filter(Boolean).join(' ')
  const attributes = markup` id="${id}" name="${path}"${required && !allowsBlank(field, drawing, path) && raw(' required')}${issues && raw(' aria-invalid="true"')}${drawing.focus === path && raw(' autofocus')}${described !== '' && markup` aria-describedby="${described}"`}`
  const wide = reading !== 'plain' || field.kind === 'blob'
  return markup`<div class="field${wide && ' wide'}"><label for="${id}">${name}${!required && OPTIONAL}</label>
${input(drawing, given, reading, attributes)}
${hint && markup`<p class="hint" id="${id}-hint">${hint}</p>`}${issues}</div>`
}

/**
 * A required text may be empty where it is so already, a list may have no elements, and a file may be
 * the present one.
 */
function allowsBlank({ kind }: Field, drawing: Drawing, path: string): boolean {
  const { state, item } = drawing
  if (state.reading(path) === 'lines') return true
  if (kind === 'blob') return presentFile(drawing, path) !== ''
  return kind === 'string' && item !== undefined && state.text(path) === ''
}

function input(drawing: Drawing, { path, field }: Control, reading: Reading, attributes: Markup) {
  const text = drawing.state.text(path)
  if (field.kind === 'blob') return fileInput(drawing, path, field, attributes)
  if (reading !== 'plain') return area(text, reading, attributes)
  const choices = choicesOf(field)
  if (choices) return select(choices, text, attributes)
  switch (field.kind) {
    case 'integer':
      return markup`<input type="number" step="1" value="${text}"${attributes}>`
    case 'number':
      return markup`<input type="number" step="any" value="${text}"${attributes}>`
    case 'date':
      return markup`<input type="date" value="${text}"${attributes}>`
    case 'date-time':
      return markup`<input type="text" inputmode="text" placeholder="2026-01-31T12:00:00Z" value="${text}"${attributes}>`
    default:
      return markup`<input type="text" value="${text}"${attributes}>`
  }
}

/** A browser drops the first line break of an area: one more goes before a text. */
function area(text: string, reading: Reading, attributes: Markup): Markup {
  const rows = Math.min(16, Math.max(3, text.split('\n').length + 1))
  const code = reading === 'json' && raw(' class="code" spellcheck="false"')
  return markup`<textarea rows="${rows}"${code}${attributes}>
${text}</textarea>`
}

/** The values that a field can have and how they are called, where they are few. */
export function choicesOf({ kind, choices }: Field): ReadonlyMap<string, string> | undefined {
  if (kind === 'boolean' && !choices) return YES_OR_NO
  return choices && new Map(choices.map(choice => [String(choice), String(choice)]))
}

const YES_OR_NO: ReadonlyMap<string, string> = new Map([
  ['true', 'yes'],
  ['false', 'no'],
])

export function select(
  choices: ReadonlyMap<string, string>,
  chosen: string,
  attributes: Markup,
): Markup {
  // What was sent and refused stays to be seen.
  const all = chosen === '' || choices.has(chosen) ? [...choices] : [...choices, [chosen, chosen]]
  return markup`<select${attributes}><option value="">–</option>${all.map(
    ([value = '', label]) =>
      markup`<option value="${value}"${value === chosen && raw(' selected')}>${label}</option>`,
  )}</select>`
}

/** The address of the file that is there already, or `''`. */
function presentFile({ item, state }: Drawing, path: string): string {
  const own = item?.[`${path}_url`] ?? (isObject(item?.[path]) ? item[path].url : undefined)
  return typeof own === 'string' ? own : state.text(`${path}_url`)
}

/** A file; the one that the item has already is kept by sending its address along. */
function fileInput(drawing: Drawing, path: string, field: Field, attributes: Markup) {
  const { accept } = field
  const kept = presentFile(drawing, path)
  const keep = `${path}_url`
  return markup`<input type="file"${accept && markup` accept="${accept.join(',')}"`}${attributes}>
${
  kept !== '' &&
  (maybe(field)
    ? markup`<label class="check"><input type="checkbox" name="${keep}" value="${kept}" checked> keep the present file</label>`
    : hidden(keep, kept))
}`
}

function hintOf(field: Field, reading: Reading): string | undefined {
  if (reading === 'lines') {
    const { element } = field
    return element?.kind === 'string' && !element.choices
      ? 'one on each line'
      : `one on each line: ${element && describeField(element)}`
  }
  if (reading === 'json') return field.kind === 'string' ? 'JSON: a text in quotes' : 'JSON'
  if (field.kind === 'date-time') return 'date and time, UTC or with an offset'
  if (field.kind === 'union') return describeField(field)
  return field.kind === 'blob' && field.accept ? field.accept.join(', ') : undefined
}
