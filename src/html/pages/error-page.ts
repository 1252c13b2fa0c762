// An error as a page: what was wrong, and the submitted form to correct it.
import { STATUS_CODES } from 'node:http'
import type { ErrorEntry } from '../../errors.ts'
import { parseControlName } from '../../formats/form-values.ts'
import { FILLED_PARAMETER, findText, IF_MATCH_PARAMETER } from '../../http/method-override.ts'
import { type Markup, markup } from '../markup/markup.ts'
import { isConflict, printConflict } from './conflict.ts'
import { printFilters } from './filters.ts'
import { controlId, printAction, printForm } from './form.ts'
import { type Control, findControl, flatten, restoreForm } from './form-state.ts'
import { printPage } from './page.ts'
import type { FormAction, PageView } from './page-view.ts'

interface Errors {
  readonly status: number
  readonly errors: readonly ErrorEntry[]
}

export function printErrorPage({ status, errors }: Errors, view: PageView): string {
  const { kind, operation, actions, breadcrumbs } = view
  const phrase = `${status} ${STATUS_CODES[status] ?? ''}`
  const failed = actions.find(action => action.name === operation)
  const controls = failed ? restoreForm(failed, view) : []
  const shown = chooseForms(status, failed, view)
  const isList = kind === 'collection' || kind === 'search'
  const isAdmitted = status !== 401 && status !== 403
  const hasFilters = isAdmitted && isList && operation !== undefined && !failed
  const up =
    kind === 'none' ? breadcrumbs[0] : breadcrumbs.at(status === 404 || kind === 'action' ? -2 : -1)
  const [late] = isConflict(status, view) ? shown : []
  const current = late && up && view.current
  return printPage(
    view,
    markup`<h1>${printTitle(status, view)}</h1>
<div class="notice bad" role="alert">${
      late
        ? markup`<h2>Somebody else has changed it meanwhile</h2><p>Nothing of yours is done yet, and nothing is lost. Look at both, then decide.</p>`
        : markup`<h2>${phrase}</h2><ul>${errors.map(error => markup`<li>${printError(error, failed, controls)}</li>`)}</ul>`
    }</div>
${status === 401 && view.signIn !== undefined && markup`<p><a class="button" href="${view.signIn}">Sign in</a></p>`}
${hasFilters && printFilters(view, errors)}
${current ? printConflict(late, current, view, up.href) : printForms(shown, failed, { status, errors }, view)}
${up && !current && (shown.length > 0 && isRefusedAsStale(status) ? markup`<p><a href="${up.href}" target="_blank">See ${up.name} as it is now</a></p>` : markup`<p><a href="${up.href}">Back to ${up.name}</a></p>`)}`,
    late ? 'Changed meanwhile' : phrase,
  )
}

function printForms(
  shown: readonly FormAction[],
  failed: FormAction | undefined,
  errors: Errors,
  view: PageView,
): Markup {
  return markup`<div class="actions">${shown.map(action => (action === failed ? printFailedForm(action, errors, view) : printAction(action, view)))}</div>`
}

/** Chooses the submitted form, or after an unknown method the forms that are allowed. */
function chooseForms(
  status: number,
  failed: FormAction | undefined,
  view: PageView,
): readonly FormAction[] {
  const { submitted, actions, operation } = view
  const hidden = status === 401 || status === 404
  const broken = status === 403 || status >= 500
  if (hidden || (broken && !submitted)) return []
  if (failed) return isComplete(failed, view) ? [failed] : []
  const unknownMethod = status === 405 && operation === undefined
  return unknownMethod ? actions.filter(({ kind }) => kind === 'create' || kind === 'action') : []
}

/** Whether every control was submitted: a blank one in its place would erase the value. */
function isComplete(action: FormAction, view: PageView): boolean {
  if (action.kind === 'create' || action.kind === 'action') return true
  if (!view.submitted) return false
  const paths = new Set(view.submitted.map(([name]) => parseControlName(name)[0]))
  return flatten(restoreForm(action, view)).every(
    ({ path, field }) => paths.has(path) || field.kind === 'blob',
  )
}

/** Whether the item may have changed since it was shown. */
function isRefusedAsStale(status: number): boolean {
  return status === 412 || status === 428
}

const FAILURES: Readonly<Record<string, string>> = {
  create: 'was not created',
  replace: 'was not changed',
  patch: 'was not changed',
  delete: 'was not deleted',
}

function printTitle(
  status: number,
  { operation = '', title, itemName, kind, breadcrumbs }: PageView,
): string {
  if (status === 404 || kind === 'none') return 'Not found'
  const failure = FAILURES[operation]
  if (failure !== undefined) return `The ${itemName} ${failure}`
  const above = kind === 'action' ? breadcrumbs.slice(-2, -1) : []
  return [title, ...above.map(({ name }) => name)].join(': ')
}

function printError(
  { message, field }: ErrorEntry,
  action: FormAction | undefined,
  controls: readonly Control[],
): Markup {
  const control = findControl(field, controls)
  if (!action || !control) return markup`${message}`
  // A message of a schema, such as "must look like AB-123", lacks its subject.
  const subject = message.includes(control.name) ? '' : `${control.field.title ?? control.path}: `
  return markup`<a href="#${controlId(action.name, control.path)}">${subject}${message}</a>`
}

function printFailedForm(action: FormAction, { status, errors }: Errors, view: PageView): Markup {
  // To insist is to accept any version.
  const insists = isRefusedAsStale(status)
  const seen = findText(view.submitted, IF_MATCH_PARAMETER)
  const form = printForm({
    action,
    controls: restoreForm(action, view),
    errors,
    button: insists ? 'Do it all the same' : undefined,
    tag: insists ? '*' : seen,
    filled: findText(view.submitted, FILLED_PARAMETER),
  })
  return markup`<div class="card">${form}</div>`
}
