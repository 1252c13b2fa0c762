// Many items at once: rows to choose, and forms that change or delete the items that a page shows. Without a script the
// chosen rows are the filter of a list, which shows them once more before anything is done.

import type { Item } from '../../base/values.ts'
import type { Representation } from '../../formats/format.ts'
import { MAX_PARAMETER, METHOD_PARAMETER } from '../../http/method-override.ts'
import { printParameters } from '../../http/parameters.ts'
import { RESERVED } from '../../query/list-parameters.ts'
import { type Markup, markup } from '../markup/markup.ts'
import { disclose, hidden, printForm } from './form.ts'
import { printPage } from './page.ts'
import type { FormAction, PageView } from './page-view.ts'

/** The most items of one form: as many values as a filter has by default. */
const MAX_ITEMS = 100

/** The form that the checkboxes of a list belong to. */
export const CHOICE_FORM = 'choose'

/** Whether the rows of a list can be chosen. */
export function areChosen({ actions, kind }: PageView): boolean {
  return kind === 'collection' && actions.some(({ many }) => many)
}

/** Prints the forms for many items, below their list: to choose some, and if it is filtered, to write those that it shows. */
export function printMany(items: readonly Item[], view: PageView): Markup | undefined {
  const { href, parameters, id = '' } = view
  if (!areChosen(view) || items.length === 0) return undefined
  const isFiltered = parameters.some(({ name }) => !RESERVED.has(name))
  const choose = markup`<form id="${CHOICE_FORM}" method="get" action="${href}"><p class="choose"><button class="quiet">Choose the marked rows</button></p></form>`
  if (!isFiltered || items.length > MAX_ITEMS) return choose
  const query = printParameters(items.map(item => [id, String(item[id])]))
  const forms = view.actions.map(action => printFormOfMany(action, items, `${href}?${query}`, view))
  return markup`${choose}<div class="actions">${forms}</div>`
}

function printFormOfMany(
  action: FormAction,
  { length }: readonly Item[],
  href: string,
  { title, itemName }: PageView,
): Markup | undefined {
  if (!action.many) return undefined
  const which = length === 1 ? `this ${itemName}` : `these ${length} ${title}`
  const most = hidden(MAX_PARAMETER, String(length))
  if (action.kind === 'delete') {
    const form = markup`<form method="post" action="${href}">${hidden(METHOD_PARAMETER, action.method)}${most}
<p><button class="danger">Delete ${which}</button></p></form>`
    return disclose(`Delete ${which}`, form)
  }
  // One form for each property: what you do not send stays as it is.
  const forms = [...(action.fields ?? [])].flatMap(([name, field]) =>
    field.kind === 'blob'
      ? []
      : printForm({
          action: {
            ...action,
            name: `${action.name}-${name}`,
            href,
            fields: new Map([[name, field]]),
          },
          button: `Set ${field.title ?? name}`,
          more: most,
        }),
  )
  return disclose(`Change ${which}`, forms)
}

/** Prints how many items were changed or deleted. */
export function printManyResult(
  { data }: Extract<Representation, { kind: 'document' }>,
  view: PageView,
): string {
  const { title, itemName, operation, id, href, parameters } = view
  const count = Number(Object(data).count)
  const chosen = parameters.filter(({ name }) => name === id).length
  const missing = chosen - count
  const done = `${count} ${count === 1 ? itemName : title} ${operation === 'deleteMany' ? 'deleted' : 'changed'}.`
  const note = missing > 0 ? ` ${missing} of the ${chosen} chosen did not exist any more.` : ''
  return printPage(
    { ...view, formats: [] },
    markup`<h1>${title}</h1>
<div class="notice good" role="status">${done}${note} Back to <a href="${href}">${title}</a></div>`,
    done,
  )
}
