// The steps of a request in their order, compiled once for each route and method. A step that a route
// does not need is not in its list.

import { memoize } from '../base/memoize.ts'
import { type Awaitable, andThen, type Json } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import { printLink } from '../http/link.ts'
import type { HeaderList } from '../http/message.ts'
import { isSafe, readsBody } from '../http/methods.ts'
import type { Route, RouteTarget } from '../model/compile/routes.ts'
import { UPSERT } from '../model/compile/unique-keys.ts'
import type {
  ActionDefinition,
  ApiDefinition,
  CollectionDefinition,
} from '../model/types/definition.ts'
import { printSchemaPath } from '../openapi/document.ts'
import { allowedMethods, describeRoute, methodHeaders } from '../openapi/path-item.ts'
import {
  authorize,
  collectionOf,
  hideTarget,
  isHidden,
  listAuthorizedMethods,
  noSuchPath,
} from '../operations/calls/authorize.ts'
import {
  type OperationContext,
  type RequestContext,
  type Step,
  toCollectionContext,
} from '../operations/calls/context.ts'
import { showForm } from '../operations/programs/actions.ts'
import { compileOperation } from '../operations/programs/compile-operation.ts'
import { describeRoot, listBelow, listResources } from '../operations/reads/root.ts'
import { tryOut } from '../operations/writes/dry-run.ts'
import { tidyQuery } from '../query/form-query.ts'
import { admissionSteps } from './admission.ts'
import { isForm, readForm, readRequestBody } from './body.ts'
import { compileFollow } from './follow-list.ts'
import { readQueryBody } from './read-query-body.ts'
import { negotiate, negotiateFormat, prepareFor, readConditions } from './request-head.ts'
import { respond } from './respond.ts'
import { step, timed } from './steps.ts'

/** The endpoints of one route. */
export interface Endpoints {
  readonly byMethod: ReadonlyMap<string, readonly Step[]>
  /** For methods that the route does not have: 405. */
  readonly otherwise: readonly Step[]
}

/** The endpoints of a path that is no route of a collection: a document, or the batch. */
export interface FixedEndpoint extends Endpoints {
  /** Its path, for logs and metrics. */
  readonly route: string
  /** Whether its answer contains addresses: without a `baseUrl` they need a `Host`. */
  readonly addressed: boolean
}

/** Methods that a form sent by POST may stand for. */
const FORM_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE']

const ALL_METHODS = ['GET', 'QUERY', 'HEAD', ...FORM_METHODS]

export function compileEndpoints(api: ApiDefinition, route: Route): Endpoints {
  const { methods, target } = route
  const admit = (method?: string): Step[] =>
    steps(
      admissionSteps(api, method, target.action),
      hasViews(api, target) && step(chooseView),
      collectionOf(target)?.hideExistence && step(refuseHidden, 404),
    )
  const stepsAfterAdmission = (method: string, operation: string): Step[] =>
    steps(
      api.schemes.length > 0 && step(authorizeFor(operation), 401, 403, 404),
      isLiveList(target, method) && compileFollow(api),
      target.kind !== 'blob' && step(negotiateFormat, 406),
      target.kind !== 'root' && readsBody(method) && timed(api, 'body', readBodyOf(method)),
      hasListPage(api, target) && !readsBody(method) && step(redirectForm),
      timed(
        api,
        'work',
        ...(target.kind === 'root' ? [] : [prepareFor(operation)]),
        operationStep(api, route, method, operation),
      ),
      hasListPage(api, target) && operation === 'list' && step(keepFormPrivate),
      step(respond, 304, 412, 500, 503),
    )

  const afterAdmission = new Map(
    [...methods].map(([method, operation]) => [method, stepsAfterAdmission(method, operation)]),
  )
  const refuseMethod: Step = context => {
    throw methodNotAllowed(context.method, allowedMethods(authorizedMethods(context, route)))
  }
  const refusal = [step(refuseMethod, 405)]
  const byMethod = new Map(
    [...afterAdmission].map(([method, rest]) => [method, [...admit(method), ...rest]]),
  )
  byMethod.set('OPTIONS', [
    unlessPreflight(
      answerOptionsByHeaders(api, methodHeaders(methods, api.formats, target.collection)),
    ),
    ...admit('OPTIONS'),
    answerOptions(route),
    respond,
  ])
  const { action } = target
  // A browser may follow a link to an action.
  if (action && !methods.has('GET') && api.formats.some(({ page }) => page)) {
    const formSteps = steps(
      api.schemes.length > 0 && authorizeFor(action.name),
      showFormOf(action),
      respond,
    )
    const chooseForm: Step = context => {
      context.negotiated = negotiate(context)
      return context.negotiated?.format.page ? formSteps : refusal
    }
    for (const method of ['GET', 'HEAD']) byMethod.set(method, [...admit(method), chooseForm])
  }
  // A form may name its method in its body: until that is read it may be any of them.
  if (target.kind !== 'root' && FORM_METHODS.some(method => methods.has(method))) {
    byMethod.set('POST', [
      ...admit('POST'),
      dispatchPost(api, route, method => afterAdmission.get(method) ?? refusal),
    ])
  }
  return { byMethod, otherwise: [...admit(), ...refusal] }
}

export function methodNotAllowed(method: string, allowed: string): HttpError {
  const message = `${method.slice(0, 32)} is not allowed here. Allowed: ${allowed}.`
  return new HttpError(405, [{ message, type: 'method_not_allowed' }], {
    headers: ['Allow', allowed],
  })
}

/** The endpoints of an unknown path: a preflight lets a page read the 404. */
export function compileNotFound(api: ApiDefinition): Endpoints {
  const refuse: Step = context => {
    throw noSuchPath(context)
  }
  const otherwise = [...admissionSteps(api), refuse]
  const methods = new Map(ALL_METHODS.map(method => [method, '']))
  const answered = unlessPreflight(answerOptionsByHeaders(api, methodHeaders(methods, api.formats)))
  return { byMethod: new Map([['OPTIONS', [answered, ...otherwise]]]), otherwise }
}

/** Compiles the steps of an OPTIONS that is answered by headers alone. */
export function answerOptionsByHeaders(api: ApiDefinition, methods: HeaderList): readonly Step[] {
  const headers = [...methods, ...api.cors.preflight]
  return [
    context => {
      context.counted = true
      context.result = { status: 204, headers: headers.slice() }
    },
    respond,
  ]
}

/** Lets other steps answer a preflight (Fetch standard, "CORS-preflight fetch"); another OPTIONS goes on. */
function unlessPreflight(answer: readonly Step[]): Step {
  return context => {
    const { origin, 'access-control-request-method': requested } = context.request.headers
    return origin !== undefined && requested !== undefined ? answer : undefined
  }
}

/** Lists the steps that a route needs. */
function steps(...slots: readonly (Step | Step[] | false | undefined)[]): Step[] {
  return slots.flat().filter(slot => typeof slot === 'function')
}

/** Whether principals see different properties: without schemes no rule counts. */
function hasViews({ schemes }: ApiDefinition, target: RouteTarget): boolean {
  return schemes.length > 0 && collectionOf(target)?.fieldAccess !== undefined
}

/** Goes on with the collection as the principal sees it. */
function chooseView(context: RequestContext): void {
  const { target, match } = context
  if (!match || target?.kind === 'root' || !target) return
  context.target = context.viewTarget(target)
  context.match = { ...match, target: context.target }
}

/** Hides a target from a principal that may do nothing to it. Others are asked to sign in. @throws HttpError 404 */
function refuseHidden(context: RequestContext): void {
  const { match, authenticated, method } = context
  // OPTIONS asks nobody to sign in, and would describe it.
  if (match && (authenticated || method === 'OPTIONS') && isHidden(context, match))
    throw hideTarget(context)
}

function authorizeFor(operation: string): Step {
  // Only the store knows which of both it is.
  const operations = operation === UPSERT ? ['create', 'replace'] : [operation]
  const authorizeOperation: Step = context => authorize(context, operations)
  return authorizeOperation
}

/** A QUERY has its parameters in its body; of another method it is the item or an input. */
function readBodyOf(method: string): Step {
  return step(method === 'QUERY' ? readQueryBody : readRequestBody, 400, 408, 413, 415, 503)
}

/** Whether a list may be followed. */
function isLiveList({ kind, collection }: RouteTarget, method: string): boolean {
  return kind === 'collection' && collection.live && (method === 'GET' || method === 'HEAD')
}

/** Whether browsers get pages of a list. */
function hasListPage({ formats }: ApiDefinition, { kind }: RouteTarget): boolean {
  const isList = kind === 'collection' || kind === 'search'
  return isList && formats.some(({ page }) => page)
}

/** Leads from what the form of a list's page sends to the address of the list that it asks for. */
function redirectForm(context: RequestContext): readonly Step[] | undefined {
  const { parameters, negotiated, suppressed } = context
  // A client that reads no status does not follow.
  if (parameters.length === 0 || !negotiated?.format.page || suppressed) return undefined
  const tidy = tidyQuery(parameters)
  if (!tidy) return undefined
  const { query, isSearch } = tidy
  const { target } = toCollectionContext(context)
  const href = context.hrefAsRequested(isSearch ? { ...target, kind: 'search' } : target)
  context.result = { status: 303, headers: ['Location', query === '' ? href : `${href}?${query}`] }
  return [respond]
}

/** The page of a list whose form has a key is for one client alone, once. */
function keepFormPrivate(context: RequestContext): void {
  const { negotiated, result, target } = context
  const { collection } = target ?? {}
  if (!negotiated?.format.page || !result || !collection?.operations.has('create')) return
  if (collection.store.idempotency === 'none' || !context.can(collection, 'create')) return
  context.result = { ...result, isPrivate: true, validators: undefined }
}

/** Performs the operation within the time for work. */
function operationStep(
  api: ApiDefinition,
  { target }: Route,
  method: string,
  operation: string,
): Step {
  if (target.kind === 'root') {
    const describe: Step = context => {
      context.operation = operation
      readConditions(context)
      context.result = describeRoot(context, target)
    }
    return step(describe, 400)
  }
  const compile = (collection: CollectionDefinition) => {
    const operate = compileOperation(api, { ...target, collection }, operation)
    if (isSafe(method)) return operate
    // `Prefer: tx=rollback` tries a write out.
    return (context: OperationContext) =>
      context.preferences.tx === undefined ? operate(context) : tryOut(context, operate)
  }
  const only = hasViews(api, target) ? undefined : compile(target.collection)
  /** Compiled for the first principal that sees it so. */
  const compileView = memoize(compile)
  const perform: Step = requested => {
    const context = toCollectionContext(requested)
    const { workload } = context.runtime
    return andThen(
      workload.run(() => {
        const run = only ?? compileView(context.target.collection)
        const result = run(context)
        if (result instanceof Promise) context.noteOperation(result)
        return result
      }, context.request),
      result => {
        context.result = result
      },
    )
  }
  return step(perform, 400, 401, 403, 404, 409, 412, 413, 416, 422, 428, 503)
}

/** Shows the form of an action within the time for work. @throws HttpError 404, 503 */
function showFormOf(action: ActionDefinition): Step {
  return requested => {
    const context = toCollectionContext(requested)
    const result = context.runtime.workload.run(() => showForm(context, action), context.request)
    return andThen(result, form => {
      context.result = form
    })
  }
}

/** OPTIONS: the methods in headers, and what each takes and gives in the body. */
function answerOptions(route: Route): Step {
  const { target } = route
  /** The route in a view; the same one each time, as it is described once. */
  const toView = memoize((collection: CollectionDefinition) =>
    target.kind === 'root' ? route : { ...route, target: { ...target, collection } },
  )
  return context => {
    context.negotiated = negotiate(context)
    const methods = authorizedMethods(context, route)
    const { api } = context
    const seen = context.target && collectionOf(context.target)
    const described = describeRoute(api)(seen?.view ? toView(seen) : route)
    const isVisible = (method: string) => !route.methods.has(method) || methods.has(method)
    const visible = Object.entries(described).filter(([name]) => isVisible(name.toUpperCase()))
    const data = { ...Object.fromEntries(visible), ...nameBelow(context) }
    context.result = {
      status: 200,
      headers: [
        ...methodHeaders(methods, api.formats, target.collection),
        ...api.cors.preflight,
        ...linkToSchema(context, route),
      ],
      representation: { kind: 'document', name: 'description', data },
    }
  }
}

/** Links to the schema of the items, where they are read. */
function linkToSchema({ base }: RequestContext, { target }: Route): HeaderList {
  if (target.kind === 'root') return []
  const { version, collection } = target
  if (!collection.operations.has('list') && !collection.operations.has('read')) return []
  const href = base + printSchemaPath(version, collection)
  return ['Link', printLink([{ rel: 'describedby', href }])]
}

/** Names what lies below, as extensions of the path item. */
function nameBelow(context: RequestContext): Record<string, Json> {
  const { target } = context
  if (!target) return {}
  if (target.kind === 'root') return { 'x-resources': listResources(context, target) }
  const below = listBelow(context, target)
  return Object.fromEntries(Object.entries(below).map(([name, named]) => [`x-${name}`, named]))
}

function authorizedMethods(
  context: RequestContext,
  { methods }: Route,
): ReadonlyMap<string, string> {
  return context.target ? listAuthorizedMethods(context, context.target, methods) : methods
}

/**
 * Answers a POST: a form is read first, since it may name another method. It goes on as that method does,
 * from its authorization onwards, with the body read. What is no form goes on as a POST.
 */
function dispatchPost(
  api: ApiDefinition,
  { methods }: Route,
  stepsOf: (method: string) => readonly Step[],
): Step {
  const formed = FORM_METHODS.flatMap(method => methods.get(method) ?? [])
  const chooseMethod = (requested: RequestContext): Awaitable<readonly Step[]> => {
    const context = toCollectionContext(requested)
    const { request } = context
    if (!isForm(api, request)) return stepsOf(context.method)
    authorize(context, formed)
    negotiateFormat(context)
    return readForm(context, request).then(() => stepsOf(context.method))
  }
  return step(chooseMethod, 400, 401, 403, 404, 405, 406, 408, 413, 415, 503)
}
