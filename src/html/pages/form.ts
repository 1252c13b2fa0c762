// Forms for operations and actions: a typed control for every field, with the issues of its value.
// They need no script: `_method` names the method that a POST stands for.

import type { Item } from '../../base/values.ts'
import type { ErrorEntry } from '../../errors.ts'
import { printControlName, type Reading } from '../../formats/form-values.ts'
import { getHeader } from '../../http/message.ts'
import {
  FILLED_PARAMETER,
  IF_MATCH_PARAMETER,
  KEY_PARAMETER,
  METHOD_PARAMETER,
} from '../../http/method-override.ts'
import { describeField, type Field, isUnreadable } from '../../schema/fields.ts'
import { type Markup, markup, type Part, raw, toLocalPath } from '../markup/markup.ts'
import { type Control, fillForm, findControl, flatten, printFilled } from './form-state.ts'
import type { FieldChoices, FormAction, PageView } from './page-view.ts'

export interface FormOptions {
  readonly action: FormAction
  /** Default: the controls for `item`, or empty ones. */
  readonly controls?: readonly Control[]
  /** The issues of the submitted form. */
  readonly errors?: readonly ErrorEntry[]
  /** The text of the button. Default: by the kind of the action. */
  readonly button?: string | undefined
  /** The item to change. */
  readonly item?: Item | undefined
  /** The entity tag that the item must still have. */
  readonly tag?: string | undefined
  /** What a form that changes an item was filled with. Default: `controls`. */
  readonly filled?: string | undefined
  /** Hidden controls besides. */
  readonly more?: Markup
}

/** What the controls of one form share. */
interface Drawing {
  readonly action: FormAction
  /** The issues at each control, by its path. */
  readonly issues: ReadonlyMap<string, readonly ErrorEntry[]>
  /** The path of the first control with an issue, which gets the focus. */
  readonly focus: string | undefined
}

export function printForm(options: FormOptions): Markup {
  const { action, item, tag, controls = fillForm(action.fields, item), errors = [] } = options
  const { name, kind, method, href } = action
  const { filled = printFilled(controls) } = options
  const reads = method === 'GET'
  const { button = { create: 'Create', change: 'Save', delete: 'Delete', action: name }[kind] } =
    options
  // Files come last: when one is refused, everything else has been read.
  const files = controls.filter(({ field }) => field.kind === 'blob')
  const ordered = [...controls.filter(control => !files.includes(control)), ...files]
  const issues = new Map<string, ErrorEntry[]>()
  for (const error of errors) {
    const { path } = findControl(error.field, controls) ?? {}
    if (path !== undefined) issues.set(path, [...(issues.get(path) ?? []), error])
  }
  const isInvalid = ({ path }: Control) =>
    [...issues.keys()].some(each => path === each || path.startsWith(`${each}.`))
  const focus = flatten(ordered).find(isInvalid)?.path
  const drawing = { action, issues, focus }
  const look = kind === 'delete' ? 'danger' : kind === 'action' && controls.length === 0 && 'quiet'
  return markup`<form method="${reads ? 'get' : 'post'}" action="${href}"${kind === 'change' && OWN_VALUES}${files.length > 0 && raw(' enctype="multipart/form-data"')}>
${!reads && method !== 'POST' && hidden(METHOD_PARAMETER, method)}
${!reads && tag !== undefined && hidden(IF_MATCH_PARAMETER, tag)}
${kind === 'change' && !action.many && hidden(FILLED_PARAMETER, filled)}${options.more}
${action.key !== undefined && markup`<input type="hidden" name="${KEY_PARAMETER}" value="${action.key}" autocomplete="off">`}
${controls.length > 0 && markup`<div class="fields">${ordered.map(each => printControl(drawing, each, true))}</div>`}
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

/** Prints a control, or a group of them. @param inRequired whether the object around it is required. */
function printControl(drawing: Drawing, control: Control, inRequired: boolean): Markup {
  const { name, path, field, text, reading, group } = control
  const { action, issues, focus } = drawing
  const id = controlId(action.name, path)
  // An empty control of a write-only property leaves its value as it is.
  const isKept = isUnreadable(field) && action.kind === 'change'
  const required = inRequired && !mayBeEmpty(field) && !isKept
  const messages = printIssues(id, issues.get(path))
  if (group)
    return markup`<fieldset id="${id}"><legend>${field.title ?? name}${mayBeEmpty(field) && OPTIONAL}</legend>${messages}${group.map(each => printControl(drawing, each, required))}</fieldset>`
  // A text that is empty already, a list without elements and the present file satisfy `required`.
  const mayStayBlank =
    (field.kind === 'blob' && text !== '') ||
    (field.kind === 'string' && text === '' && action.kind === 'change') ||
    reading === 'lines'
  const form = isKept ? 'empty: unchanged' : describeControl(field, reading)
  const hint = [field.description, form].filter(Boolean).join('. ').replaceAll('.. ', '. ')
  const described = [hint !== '' && `${id}-hint`, messages && `${id}-issue`]
    .filter(Boolean)
    .join(' ')
  const attributes = markup` id="${id}" name="${printControlName(path, reading)}"${required && !mayStayBlank && raw(' required')}${messages && raw(' aria-invalid="true"')}${focus === path && raw(' autofocus')}${described !== '' && markup` aria-describedby="${described}"`}`
  const wide = reading !== 'plain' || field.kind === 'blob'
  const label = markup`${field.title ?? name}${!required && OPTIONAL}`
  const input = markup`${printInput(control, action, attributes)}
${hint !== '' && markup`<p class="hint" id="${id}-hint">${hint}</p>`}${messages}`
  return printField(id, label, input, wide)
}

/** Prints an input with its label. */
export function printField(id: string, label: Part, input: Markup, wide = false): Markup {
  return markup`<div class="field${wide && ' wide'}"><label for="${id}">${label}</label>
${input}</div>`
}

function mayBeEmpty({ optional, nullable }: Field): boolean {
  return optional || nullable
}

const OPTIONAL = raw(' <span class="hint">optional</span>')

/** Prints the issues of a control; `undefined` without any. */
export function printIssues(id: string, issues: readonly ErrorEntry[] = []): Markup | undefined {
  if (issues.length === 0) return undefined
  return markup`<p class="issue" id="${id}-issue">${issues.map(({ message }) => markup`<span>${message}</span>`)}</p>`
}

function printInput(
  control: Control,
  { name, kind, choices }: FormAction,
  attributes: Markup,
): Markup {
  const { path, field, text, reading } = control
  if (field.kind === 'blob') return printFileInput(control, attributes)
  if (reading !== 'plain') return printArea(text, reading, attributes)
  const parents = choices?.get(path)
  if (parents) return printParentInput(parents, text, attributes, controlId(name, path))
  const options = listChoices(field)
  if (options) return printSelect(options, text, attributes)
  // What nobody is to see is not shown again after an error.
  if (field.role === 'writeOnly') return markup`<input${NEW_PASSWORD}${attributes}>`
  // Where an item has one, an empty control would remove it.
  if (field.password && kind !== 'change') return markup`<input${PASSWORD}${attributes}>`
  const type = INPUTS[field.kind] ?? raw(' type="text"')
  return markup`<input${type} value="${text}"${attributes}>`
}

/** A text keeps the offset and all digits of seconds, which a `datetime-local` would drop. Forms, filters and try-it have it. */
export const INSTANT = raw(' type="text" class="instant" placeholder="2026-01-31T12:00:00Z"')
export const INSTANT_HINT = 'UTC or with an offset'

/** The types of inputs; other kinds have a text. */
const INPUTS: Partial<Readonly<Record<Field['kind'], Markup>>> = {
  integer: raw(' type="number" step="1"'),
  number: raw(' type="number" step="any"'),
  date: raw(' type="date"'),
  'date-time': INSTANT,
}

const NEW_PASSWORD = raw(' type="password" autocomplete="new-password"')
const PASSWORD = raw(' type="password" autocomplete="current-password"')

/** Prints a select of all parents, or where there are many an input that suggests the first ones. */
export function printParentInput(
  { labels, more, found, name, href, creates }: FieldChoices,
  text: string,
  attributes: Markup,
  id: string,
): Markup {
  if (labels.size === 0 && text === '')
    return markup`<select disabled${attributes}><option value="">No ${name} yet</option></select>${creates && markup`<p class="hint"><a href="${toLocalPath(href)}" target="_blank">Create one</a>, then load this page again</p>`}`
  if (found) {
    const [only = ''] = labels.size === 1 ? labels.keys() : []
    return markup`${printSelect(labels, only, attributes)}<p class="hint">Found for “${text}”. <a href="${toLocalPath(href)}" target="_blank">All ${name}</a></p>`
  }
  if (!more) return printSelect(labels, text, attributes)
  return markup`<input type="text" list="${id}-list" value="${text}"${attributes}><datalist id="${id}-list">${[...labels].map(([value = '', label]) => markup`<option value="${value}">${label}</option>`)}</datalist>
<p class="hint">An id, one of the first ${labels.size}, or a part of the name: then choose on the next page. <a href="${toLocalPath(href)}" target="_blank">All ${name}</a></p>`
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

/** Sending the address of the present file keeps it; sending it empty removes the file. */
function printFileInput({ path, field, text: present }: Control, attributes: Markup): Markup {
  const { accept } = field
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
  if (kind === 'date-time') return `date and time, ${INSTANT_HINT}`
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
