// A change that came too late: mine beside theirs, and a form for either.
import { FILLED_PARAMETER, findText, IF_MATCH_PARAMETER } from '../../http/method-override.ts'
import { isUnreadable } from '../../schema/fields.ts'
import { type Markup, markup, type Part } from '../markup/markup.ts'
import { listChoices, printForm } from './form.ts'
import {
  type Control,
  fillForm,
  flatten,
  keepTheirs,
  listChanged,
  printFilled,
  restoreForm,
  toLines,
} from './form-state.ts'
import type { CurrentItem, FormAction, PageView } from './page-view.ts'
import { NOTHING, printItem } from './values.ts'

/** Whether a form was refused since its item has another version by now. */
export function isConflict(status: number, { submitted }: PageView): boolean {
  return status === 412 && findText(submitted, IF_MATCH_PARAMETER) !== undefined
}

/**
 * Prints what was sent beside what is there, with a form that sends it again for the version that is there. What the
 * client has not changed is in that form as it is there.
 * @param href the address of the item.
 */
export function printConflict(
  action: FormAction,
  { item, tag }: CurrentItem,
  view: PageView,
  href: string,
): Markup {
  const { kind, name, fields } = action
  const sent = restoreForm(action, view)
  const theirs = kind === 'change' ? fillForm(fields, item) : []
  // Another program's form does not say what it was filled with: then all of it was changed.
  const before = findText(view.submitted, FILLED_PARAMETER) ?? ''
  const controls = keepTheirs(sent, theirs, before)
  const mine = new Set(listChanged(sent, before).map(({ path }) => path))
  const kept = listChanged(theirs, before).filter(({ path }) => !mine.has(path))
  const filled = printFilled(theirs)
  const button = { change: 'Save mine', delete: 'Delete it all the same' }[String(kind)]
  const text = button ?? `${name} all the same`
  const form = printForm({ action, controls, tag, filled, button: text })
  const shown =
    kind === 'change'
      ? printComparison(controls, theirs, kept, view)
      : markup`<h2>As it is now</h2><div class="card">${printItem(item, view.fields, view.findLink)}</div>`
  const keep = kind === 'change' ? 'Keep theirs' : 'Leave it as it is'
  return markup`${shown}
<p><a class="button quiet" href="${href}">${keep}</a></p>
<h2>${kind === 'change' ? 'Yours, to save on top of theirs' : 'Do it all the same'}</h2>
<div class="card">${form}</div>`
}

/**
 * Prints a table of the controls that hold different texts.
 * @param kept those of theirs that somebody else has changed, and I have not.
 */
function printComparison(
  mine: readonly Control[],
  theirs: readonly Control[],
  kept: readonly Control[],
  view: PageView,
): Markup {
  const now = new Map(flatten(theirs).map(control => [control.path, control]))
  const readable = flatten(mine).filter(({ field }) => !isUnreadable(field))
  const different = readable.filter(({ path, text }) => toLines(text) !== now.get(path)?.text)
  const same = readable.length - different.length - kept.length
  const taken =
    kept.length > 0 &&
    markup`<p>Somebody else has changed ${kept.map(({ path }) => path).join(', ')}. You have not, so that stays as it is now.</p>`
  if (different.length === 0)
    return markup`<p>Your values are the same as those that are there now.</p>${taken}`
  return markup`<h2>What is different</h2>
<div class="scroll" tabindex="0" role="region" aria-label="What is different"><table class="compared"><thead><tr><th scope="col">Field</th><th scope="col">Yours</th><th scope="col">Theirs, now</th></tr></thead>
<tbody>${different.map(
    control =>
      markup`<tr><th scope="row">${control.path}</th><td>${printText(control, view)}</td><td>${printText(now.get(control.path), view)}</td></tr>`,
  )}</tbody></table></div>
${taken}
${same > 0 && markup`<p class="hint">${same === 1 ? 'One other field is' : `${same} other fields are`} the same.</p>`}`
}

function printText(control: Control | undefined, view: PageView): Part {
  if (!control || control.text === '') return NOTHING
  const { path, field, text } = control
  if (field.kind === 'blob') return markup`<a href="${text}">file</a>`
  const link = view.findLink(path, text)
  const label = link?.label ?? view.choices.get(path)?.labels.get(text)
  return label ?? listChoices(field)?.get(text) ?? markup`<span class="text">${text}</span>`
}
