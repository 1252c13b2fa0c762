// The actions of a resource on its page: a link, a button, or a form behind a disclosure.
import type { FormAction, PageView } from '../formats/page-view.ts'
import { getHeader } from '../http/message.ts'
import { printForm } from './form.ts'
import { type FormState, fillForm, restoreForm } from './form-state.ts'
import { type Markup, markup, type Part } from './markup.ts'

export function disclose(summary: string, content: Part): Markup {
  return markup`<details><summary>${summary}</summary>${content}</details>`
}

/** Prints a safe action without input as a link, any other action as a form. */
export function printAction(action: FormAction, view: PageView): Markup {
  const { name, method, href, description, fields } = action
  if (method === 'GET' && !fields)
    return markup`<p><a class="button quiet" href="${href}">${name}</a>${description !== undefined && markup` ${description}`}</p>`
  const form = printForm({
    action,
    state: fillForm(fields),
    button: name,
    tag: getTag(view),
    quiet: !fields,
  })
  if (!fields)
    return markup`<div>${form}${description !== undefined && markup`<p class="hint">${description}</p>`}</div>`
  return disclose(name, [
    description !== undefined && markup`<p class="inside hint">${description}</p>`,
    form,
  ])
}

/** The entity tag of the shown item: a change must find that version. */
export function getTag({ kind, headers }: PageView): string | undefined {
  return kind === 'item' ? getHeader(headers, 'ETag') : undefined
}

/** Restores the input of an action from the submitted form, or from the query when it reads. */
export function restoreAction(
  { method, fields = new Map() }: FormAction,
  { submitted, parameters }: PageView,
): FormState {
  const query = parameters.map(({ name, value }) => [name, value] as const)
  const values = submitted ?? (method === 'GET' ? query : [])
  return values.length > 0 ? restoreForm(fields, values) : fillForm(fields)
}
