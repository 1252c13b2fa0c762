// Forms for operations and actions: a typed control for every field, with the issues of its value.
// They need no script: `_method` names the method that a POST stands for.
import type { ErrorEntry } from '../errors.ts'
import type { Reading } from '../formats/form-values.ts'
import type { FieldChoices, FormAction, PageView } from '../formats/page-view.ts'
import { getHeader } from '../http/message.ts'
import { IF_MATCH_PARAMETER, METHOD_PARAMETER } from '../http/method-override.ts'
import { describeField, type Field, type Fields } from '../schema/fields.ts'
import { type Item, isObject } from '../schema/values.ts'
import {
  controlName,
  type FormState,
  fillForm,
  getControl,
  isGroup,
  isReachable,
  listControls,
} from './form-state.ts'
import { type Markup, markup, type Part, raw, toLocalPath } from './markup.ts'

export interface FormOptions {
  readonly action: FormAction
  /** What the controls hold. Default: the values of `item`, or nothing. */
  readonly state?: FormState
  /** The issues of the submitted form. */
  readonly errors?: readonly ErrorEntry[]
  /** The text of the button. Default: by the kind of the action. */
  readonly button?: string | undefined
  /** The item to change, for its values and the addresses of its files. */
  readonly item?: Item | undefined
  /** The entity tag that the item must still have. */
  readonly tag?: string | undefined
}

/** What the controls of one form share. */
interface Drawing extends FormOptions {
  readonly state: FormState
  readonly fields: Fields
  /** The first control with an issue gets the focus. */
  readonly focus: string | undefined
}

export function printForm(options: FormOptions): Markup {
  const { action, item, tag, state = fillForm(action.fields, item), errors = [] } = options
  const { name, kind, method, href, fields = new Map() } = action
  const reads = method === 'GET'
  const { button = { create: 'Create', change: 'Save', delete: 'Delete', action: name }[kind] } =
    options
  // Files come last: when one is refused, everything else has been read.
  const files = [...fields].filter(([, field]) => field.kind === 'blob')
  const ordered = new Map([...fields].filter(([, field]) => field.kind !== 'blob').concat(files))
  const drawing = { ...options, state, fields, focus: findFirstInvalid(errors, state, ordered) }
  const look = kind === 'delete' ? 'danger' : kind === 'action' && fields.size === 0 && 'quiet'
  return markup`<form method="${reads ? 'get' : 'post'}" action="${href}"${kind === 'change' && OWN_VALUES}${files.length > 0 && raw(' enctype="multipart/form-data"')}>
${!reads && method !== 'POST' && hidden(METHOD_PARAMETER, method)}
${!reads && tag !== undefined && hidden(IF_MATCH_PARAMETER, tag)}
${fields.size > 0 && markup`<div class="fields">${printControls(drawing, ordered, '', true)}</div>`}
<p><button${look && markup` class="${look}"`}>${button}</button></p>
</form>`
}

/** Values that a browser restores may be older than the entity tag beside them. */
const OWN_VALUES = raw(' autocomplete="off"')

export function hidden(name: string, value: string): Markup {
  return markup`<input type="hidden" name="${name}" value="${value}">`
}

/** The id of a control; links from the list of errors use it too. */
export function controlId(form: string, path: string): string {
  return `${form}-${path.replace(/[^\w.-]/g, '_')}`
}

/** Finds the control of an error's field: its own, or that of the whole list or object. */
export function findControl(
  field: string | undefined,
  fields: Fields = new Map(),
): string | undefined {
  if (field === undefined) return undefined
  const [first = '', ...rest] = field.split('.')
  const known = fields.get(first)
  if (!known || !isReachable(first)) return undefined
  if (!isGroup(known)) return first
  const below = findControl(rest.join('.') || undefined, known.properties)
  return below === undefined ? first : `${first}.${below}`
}

function findFirstInvalid(
  errors: readonly ErrorEntry[],
  state: FormState,
  fields: Fields,
): string | undefined {
  const wrong = errors.flatMap(({ field }) => findControl(field, fields) ?? [])
  return listControls(fields, state).find(path =>
    wrong.some(each => each === path || path.startsWith(`${each}.`)),
  )
}

function printControls(
  drawing: Drawing,
  fields: Fields,
  prefix: string,
  required: boolean,
): Markup[] {
  return [...fields].flatMap(([name, field]) => {
    if (!isReachable(name)) return []
    const path = prefix + name
    const needed = required && !mayBeEmpty(field) && !isKept(drawing, field)
    if (!isGroup(field) || getControl(drawing.state, path).reading === 'json')
      return [printControl(drawing, { name, path, field, required: needed })]
    const inner = printControls(drawing, field.properties, `${path}.`, needed)
    return [
      markup`<fieldset id="${controlId(drawing.action.name, path)}"><legend>${name}${mayBeEmpty(field) && OPTIONAL}</legend>${printIssues(drawing, path)}${inner}</fieldset>`,
    ]
  })
}

/** Whether an empty control leaves the value as it is. */
function isKept({ action }: Drawing, { role }: Field): boolean {
  return role === 'writeOnly' && action.kind === 'change'
}

function mayBeEmpty({ optional, nullable }: Field): boolean {
  return optional || nullable
}

const OPTIONAL = raw(' <span class="hint">optional</span>')

interface Control {
  readonly name: string
  readonly path: string
  readonly field: Field
  readonly required: boolean
}

function printIssues({ errors = [], fields, action }: Drawing, path: string): Markup | undefined {
  const issues = errors.filter(({ field }) => findControl(field, fields) === path)
  if (issues.length === 0) return undefined
  return markup`<p class="issue" id="${controlId(action.name, path)}-issue">${issues.map(({ message }) => markup`<span>${message}</span>`)}</p>`
}

function printControl(drawing: Drawing, control: Control): Markup {
  const { name, path, field, required } = control
  const { state } = drawing
  const id = controlId(drawing.action.name, path)
  const issues = printIssues(drawing, path)
  const { reading } = getControl(state, path)
  const hint = isKept(drawing, field) ? 'empty: unchanged' : describeControl(field, reading)
  const described = [hint && `${id}-hint`, issues && `${id}-issue`].filter(Boolean).join(' ')
  const attributes = markup` id="${id}" name="${controlName(state, path)}"${required && !allowsBlank(drawing, control) && raw(' required')}${issues && raw(' aria-invalid="true"')}${drawing.focus === path && raw(' autofocus')}${described !== '' && markup` aria-describedby="${described}"`}`
  const wide = reading !== 'plain' || field.kind === 'blob'
  return markup`<div class="field${wide && ' wide'}"><label for="${id}">${name}${!required && OPTIONAL}</label>
${printInput(drawing, control, reading, attributes)}
${hint && markup`<p class="hint" id="${id}-hint">${hint}</p>`}${issues}</div>`
}

/** A text that is empty already, a list without elements and the present file satisfy `required`. */
function allowsBlank(drawing: Drawing, { path, field: { kind } }: Control): boolean {
  const { text, reading } = getControl(drawing.state, path)
  if (kind === 'blob') return findPresentFile(drawing, path) !== ''
  return reading === 'lines' || (kind === 'string' && drawing.item !== undefined && text === '')
}

function printInput(
  drawing: Drawing,
  { path, field }: Control,
  reading: Reading,
  attributes: Markup,
): Markup {
  const { text } = getControl(drawing.state, path)
  if (field.kind === 'blob') return printFileInput(drawing, path, field, attributes)
  if (reading !== 'plain') return printArea(text, reading, attributes)
  const parents = drawing.action.choices?.get(path)
  if (parents)
    return printParentInput(parents, text, attributes, controlId(drawing.action.name, path))
  const choices = listChoices(field)
  if (choices) return printSelect(choices, text, attributes)
  const type = field.role === 'writeOnly' ? PASSWORD : (INPUTS[field.kind] ?? raw(' type="text"'))
  return markup`<input${type} value="${text}"${attributes}>`
}

/** The types of inputs; other kinds have a text. */
const INPUTS: Partial<Readonly<Record<Field['kind'], Markup>>> = {
  integer: raw(' type="number" step="1"'),
  number: raw(' type="number" step="any"'),
  date: raw(' type="date"'),
  'date-time': raw(' type="text" inputmode="text" placeholder="2026-01-31T12:00:00Z"'),
}

const PASSWORD = raw(' type="password" autocomplete="new-password"')

/** Prints a select of all parents, or where there are many an input that suggests the first ones. */
export function printParentInput(
  { labels, more, name, href }: FieldChoices,
  text: string,
  attributes: Markup,
  id: string,
): Markup {
  if (!more) return printSelect(labels, text, attributes)
  return markup`<input type="text" list="${id}-list" value="${text}"${attributes}><datalist id="${id}-list">${[...labels].map(([value = '', label]) => markup`<option value="${value}">${label}</option>`)}</datalist>
<p class="hint">An id, or one of the first ${labels.size}. <a href="${toLocalPath(href)}" target="_blank">All ${name}</a></p>`
}

/** A browser drops the first line break of an area: one more goes before the text. */
function printArea(text: string, reading: Reading, attributes: Markup): Markup {
  const rows = Math.min(16, Math.max(3, text.split('\n').length + 1))
  const code = reading === 'json' && raw(' class="code" spellcheck="false"')
  return markup`<textarea rows="${rows}"${code}${attributes}>
${text}</textarea>`
}

/** Lists the values of an enumeration or a boolean with their labels. */
export function listChoices({ kind, choices }: Field): ReadonlyMap<string, string> | undefined {
  if (kind === 'boolean' && !choices) return YES_OR_NO
  return choices && new Map(choices.map(choice => [String(choice), String(choice)]))
}

const YES_OR_NO: ReadonlyMap<string, string> = new Map([
  ['true', 'yes'],
  ['false', 'no'],
])

export function printSelect(
  choices: ReadonlyMap<string, string>,
  chosen: string,
  attributes: Markup,
): Markup {
  // An invalid value that was submitted stays visible.
  const all = chosen === '' || choices.has(chosen) ? [...choices] : [...choices, [chosen, chosen]]
  return markup`<select${attributes}><option value="">–</option>${all.map(
    ([value = '', label]) =>
      markup`<option value="${value}"${value === chosen && raw(' selected')}>${label}</option>`,
  )}</select>`
}

/** The address of the present file, or `''`. */
function findPresentFile({ item, state }: Drawing, path: string): string {
  const url = item?.[`${path}_url`] ?? (isObject(item?.[path]) ? item[path].url : undefined)
  return typeof url === 'string' ? url : getControl(state, `${path}_url`).text
}

/** Sending the address of the present file keeps it; sending it empty removes the file. */
function printFileInput(drawing: Drawing, path: string, field: Field, attributes: Markup): Markup {
  const { accept } = field
  const present = findPresentFile(drawing, path)
  const address = `${path}_url`
  const choice =
    present !== '' && mayBeEmpty(field)
      ? markup`<select name="${address}" aria-label="${path}: the present file"><option value="${present}" selected>keep the present file</option><option value="">remove it</option></select>`
      : (present !== '' || field.nullable) && hidden(address, present)
  return markup`<input type="file"${accept && markup` accept="${accept.join(',')}"`}${attributes}>
${choice}`
}

function describeControl(field: Field, reading: Reading): string | undefined {
  const { kind, element, accept } = field
  if (reading === 'lines') {
    const free = element?.kind === 'string' && !element.choices
    return free || !element ? 'one on each line' : `one on each line: ${describeField(element)}`
  }
  if (reading === 'json') return kind === 'string' ? 'JSON: a text in quotes' : 'JSON'
  if (kind === 'date-time') return 'date and time, UTC or with an offset'
  if (kind === 'union') return describeField(field)
  return kind === 'blob' ? accept?.join(', ') : undefined
}

export function disclose(summary: string, content: Part): Markup {
  return markup`<details><summary>${summary}</summary>${content}</details>`
}

/**
 * Prints an action as a link, a button, or a form behind a disclosure.
 * @param current the item that a change begins with.
 */
export function printAction(action: FormAction, view: PageView, current?: Item): Markup {
  const { name, kind, method, href, description, fields } = action
  if (method === 'GET' && !fields)
    return markup`<p><a class="button quiet" href="${href}">${name}</a>${description !== undefined && markup` ${description}`}</p>`
  const button = kind === 'delete' ? `Delete ${view.title}` : undefined
  const item = kind === 'change' ? current : undefined
  const form = printForm({ action, item, tag: getTag(view), button })
  const note = kind === 'delete' ? 'This cannot be undone.' : description
  if (kind === 'action' && !fields)
    return markup`<div>${form}${note !== undefined && markup`<p class="hint">${note}</p>`}</div>`
  const verb = { create: 'New', change: 'Edit', delete: 'Delete', action: undefined }[kind]
  return disclose(verb === undefined ? name : `${verb} ${view.itemName}`, [
    note !== undefined && markup`<p class="inside hint">${note}</p>`,
    form,
  ])
}

/** The entity tag of the shown item: a change must find that version. */
function getTag({ kind, headers }: PageView): string | undefined {
  return kind === 'item' ? getHeader(headers, 'ETag') : undefined
}
