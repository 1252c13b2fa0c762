// The steps of a batch as they are sent: all of them are checked before the first is done, without values.

import { type Item, isObject, type Json } from '../../base/values.ts'
import { AnyHttpError, HttpError, quote, suggestion } from '../../errors.ts'
import { METHOD_PARAMETER } from '../../http/method-override.ts'
import { isSafe, readsBody } from '../../http/methods.ts'
import { describeEscape, type Parameter, parseParameters } from '../../http/parameters.ts'
import { splitTarget } from '../../http/target.ts'
import type { CollectionTarget, Match, Route } from '../../model/compile/routes.ts'
import type { ApiDefinition, VersionDefinition } from '../../model/types/definition.ts'
import { findMeant, isHidden, isKnown } from '../../operations/calls/authorize.ts'
import type { RequestContext } from '../../operations/calls/context.ts'
import { listFiles } from '../../operations/writes/blob-inputs.ts'
import type { Id } from '../../store/store.ts'

/** A step as it was sent, and what stands at its path. */
export interface ParsedStep {
  readonly at: number
  readonly method: string
  /** The path below the api, in which ids of earlier steps are still to be put. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  /** `undefined` where none was sent. */
  readonly body: Json | undefined
  /** The name by which later steps refer to its item. */
  readonly as: string | undefined
  readonly match: CollectionMatch
  /** The name of the operation or the action. */
  readonly operation: string
  /** The fields of its body that name items of earlier steps. */
  readonly references: ReadonlySet<string>
}

export type CollectionMatch = Match & { readonly target: CollectionTarget }

const HEADERS = ['if-match', 'if-none-match', 'prefer']
const MEMBERS = ['method', 'path', 'body', 'as', ...HEADERS]
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** A name in braces; its id is known once its step is done. */
const TEMPLATE = /^\{([a-z_]\w*)\}$/i
const NAME = /^[a-z_]\w{0,63}$/i

/** Stands for an id that is not known yet: it can be one of every kind. */
const PLACEHOLDER = '1'

/** Parses the steps of a batch. @throws HttpError 400 for the first that can be none. */
export function parseSteps(
  batch: RequestContext,
  version: VersionDefinition,
  value: Json,
): readonly ParsedStep[] {
  const { steps: limit } = batch.api.limits
  if (!Array.isArray(value) || value.length === 0)
    throw invalidBatch(
      'A batch is a list of steps: [{ "method": "POST", "path": "/…", "body": {…} }]',
    )
  if (value.length > limit)
    throw invalidBatch(
      `A batch may have at most ${limit} steps, not ${value.length}. Send several.`,
    )
  const parsed: ParsedStep[] = []
  for (const [at, step] of value.entries())
    withStep(at, () => parsed.push(parseStep(batch, version, step, parsed)))
  return parsed
}

/** Says in the issues of an error which step it is of. */
export function withStep<T>(at: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw addStep(error, at)
  }
}

/** Adds the number of a step to the issues of an error response; any other error stays as it is. */
export function addStep(error: unknown, step: number): unknown {
  if (!(error instanceof HttpError)) return error
  const { status, errors, headers, cause = error } = error
  return new AnyHttpError(
    status,
    errors.map(entry => ({ ...entry, step })),
    { headers, cause },
  )
}

export function invalidBatch(message: string, field?: string): HttpError {
  return new HttpError(400, [{ message, type: 'invalid_batch', ...(field && { field }) }])
}

function parseStep(
  batch: RequestContext,
  version: VersionDefinition,
  step: Json | undefined,
  earlier: readonly ParsedStep[],
): ParsedStep {
  if (!isObject(step))
    throw invalidBatch('A step is an object: { "method": "POST", "path": "/…", "body": {…} }')
  const unknown = Object.keys(step).find(name => !MEMBERS.includes(name))
  if (unknown !== undefined)
    throw invalidBatch(
      `A step has no ${unknown}${suggestion(unknown, MEMBERS)}. It takes ${MEMBERS.join(', ')}.`,
      unknown,
    )
  const method = String(step.method ?? '')
  if (!METHODS.includes(method))
    throw invalidBatch(`The method of a step is one of ${METHODS.join(', ')}`, 'method')
  const body = Object.hasOwn(step, 'body') ? step.body : undefined
  if (body !== undefined && (!readsBody(method) || method === 'DELETE'))
    throw invalidBatch(`A step with ${method} has no body`, 'body')
  const { path, query } = readPath(version, step.path)
  const match = findTarget(
    batch,
    fillPath(path, () => PLACEHOLDER, earlier),
    path,
  )
  // Before anything is said of it.
  if (batch.authenticated && isHidden(batch, match)) throw unknownPath(batch, path)
  const operation = match.methods.get(method)
  if (operation === undefined) {
    const allowed = [...match.methods.keys()].filter(name => METHODS.includes(name)).join(', ')
    throw invalidBatch(`${method} is not allowed at this path. Allowed: ${allowed}.`, 'method')
  }
  const { target } = match
  const seen = batch.viewTarget(target)
  requirePossible(seen, body)
  return {
    at: earlier.length,
    method,
    path,
    query,
    parameters: readParameters(batch.api, target, query),
    headers: readHeaders(step),
    body,
    as: readName(step, { operation, target, body }, earlier),
    match,
    operation,
    references: findReferences(batch, seen, body, earlier),
  }
}

/** Reads a path and puts the version in front. */
function readPath({ name }: VersionDefinition, given: Json | undefined) {
  const text = typeof given === 'string' ? given : ''
  const { path, query } = splitTarget(text)
  const isRelative =
    text.startsWith('/') &&
    !path.includes('//') &&
    !text.includes('#') &&
    !path.split('/').some(segment => /^(?:\.|%2e){1,2}$/i.test(segment))
  if (isRelative) return { path: name === '' ? path : `/${name}${path}`, query }
  throw invalidBatch(
    'The path of a step begins with one slash, stands below the version, and has no dot segments: "/cars/12"',
    'path',
  )
}

/** Puts ids in the place of `{name}`; other braces stay. @throws HttpError 400 for a name that no earlier step has. */
export function fillPath(
  path: string,
  idOf: (name: string) => Id,
  earlier: readonly Pick<ParsedStep, 'as'>[],
): string {
  if (!path.includes('{')) return path
  const fill = (segment: string) => {
    const name = TEMPLATE.exec(segment)?.[1]
    if (name === undefined) return segment
    requireNamed(name, 'path', earlier)
    // The end of a path could be taken for an extension.
    return encodeURIComponent(idOf(name)).replaceAll('.', '%2E')
  }
  return path.split('/').map(fill).join('/')
}

function requireNamed(
  name: string,
  field: string,
  earlier: readonly Pick<ParsedStep, 'as'>[],
): void {
  const names = earlier.flatMap(({ as }) => as ?? [])
  if (names.includes(name)) return
  const known =
    names.length > 0 ? `Earlier steps: ${names.join(', ')}.` : 'No earlier step has a name.'
  throw invalidBatch(`{${name}} names no earlier step: give it by "as": "${name}". ${known}`, field)
}

/** Finds what stands at a path. @throws HttpError 400 where that is no collection, and no part of one. */
export function findTarget(batch: RequestContext, path: string, shown = path): CollectionMatch {
  const match = batch.runtime.router.match(path)
  if (match?.extension !== undefined)
    throw invalidBatch(`The path of a step has no extension: leave out .${match.extension}`, 'path')
  if (match && isOfCollection(match)) return match
  throw unknownPath(batch, shown)
}

/** @param path with its version, which the paths of steps lack. */
function unknownPath(batch: RequestContext, path: string): HttpError {
  const start = batch.version?.name ? `/${batch.version.name}` : ''
  const meant = findMeant(batch, batch.api.prefix + path)
  const hint = meant
    ? `: did you mean ${meant.slice(start.length)}?`
    : `. GET ${batch.api.prefix}${start}/ lists the collections.`
  const message = `Nothing that a step can use exists at ${quote(path.slice(start.length))}${hint}`
  return invalidBatch(message, 'path')
}

function isOfCollection(match: Match): match is CollectionMatch {
  const { kind }: Route['target'] = match.target
  return kind !== 'root' && kind !== 'blob'
}

/** @throws HttpError 400 for what cannot be undone with the others. */
function requirePossible(target: CollectionTarget, body: Json | undefined): void {
  const { collection, action } = target
  if (!collection.store.transaction || !collection.store.database)
    throw invalidBatch(`The store of ${collection.name} has no transactions`, 'path')
  if (action && !action.transaction)
    throw invalidBatch(`The action ${action.name} is not declared with transaction: true`, 'path')
  // A step answers without headers.
  if (action?.cookies)
    throw invalidBatch(`The action ${action.name} sets cookies. Send it alone.`, 'path')
  const [file] = listFiles(collection, body)
  if (file !== undefined) throw invalidBatch(`A step takes no files: send ${file} alone`, file)
}

function readParameters(
  api: ApiDefinition,
  { collection, action }: CollectionTarget,
  query: string,
): readonly Parameter[] {
  const parameters = parseParameters(query)
  if (!parameters) throw invalidBatch(describeEscape('query', query), 'path')
  if (parameters.length > api.limits.parameters)
    throw invalidBatch(`A query has at most ${api.limits.parameters} parameters`, 'path')
  if (parameters.some(({ name }) => name === METHOD_PARAMETER))
    throw invalidBatch('A step names its method by "method", not by _method', 'path')
  if (action) return parameters
  const list = { id: collection.shape.identity.name, maxLimit: collection.maxLimit }
  for (const { rewrite } of api.dialects) {
    const rewritten = rewrite(parameters, list)
    if (
      rewritten.length !== parameters.length ||
      rewritten.some((each, i) => each !== parameters[i])
    )
      throw invalidBatch(
        'A step takes no parameters of a dialect: use those of the api itself',
        'path',
      )
  }
  return parameters
}

function readHeaders(step: Item): Record<string, string> {
  const entries = HEADERS.flatMap(name => {
    const value = step[name]
    if (value === undefined) return []
    if (typeof value === 'string') return [[name, value] as const]
    throw invalidBatch(`${name} is a text, as the header is`, name)
  })
  const headers = Object.fromEntries(entries)
  if (/\btx\s*=/i.test(headers.prefer ?? ''))
    throw invalidBatch(
      'A dry run is of the whole batch: send Prefer: tx=rollback with it',
      'prefer',
    )
  return headers
}

/** The operations that have one item, whose id later steps may use. */
const WITH_ITEM: ReadonlySet<string> = new Set(['create', 'replace', 'patch', 'read', 'upsert'])

function readName(
  { as }: Item,
  { operation, target, body }: Pick<ParsedStep, 'operation' | 'body'> & Pick<Match, 'target'>,
  earlier: readonly ParsedStep[],
): string | undefined {
  if (as === undefined) return undefined
  if (typeof as !== 'string' || !NAME.test(as))
    throw invalidBatch('The name of a step has letters, digits and _: "as": "o"', 'as')
  if (earlier.some(step => step.as === as))
    throw invalidBatch(`Two steps have the name ${as}`, 'as')
  if (Array.isArray(body) || !(WITH_ITEM.has(operation) || target.action?.givesItem))
    throw invalidBatch('A step has a name only where it has one item', 'as')
  return as
}

/** Finds the references of a body that are a template, and checks what they name. */
function findReferences(
  batch: RequestContext,
  { version, collection, action }: CollectionTarget,
  body: Json | undefined,
  earlier: readonly ParsedStep[],
): ReadonlySet<string> {
  const found = new Set<string>()
  if (action) return found
  for (const [field, { collection: wanted }] of collection.references) {
    // What the client does not see is an unknown property.
    if (!collection.bodyFields.has(field)) continue
    const parent = version.collections.get(wanted)
    const what = parent && isKnown(batch, parent) ? `an item of ${wanted}` : 'another item'
    for (const item of Array.isArray(body) ? body : [body]) {
      const value = isObject(item) && Object.hasOwn(item, field) ? item[field] : undefined
      const name = typeof value === 'string' ? TEMPLATE.exec(value)?.[1] : undefined
      if (name === undefined) continue
      requireNamed(name, field, earlier)
      const step = earlier.find(({ as }) => as === name)
      if (step?.match.target.collection.name !== wanted)
        throw invalidBatch(`${field} is the id of ${what}, and {${name}} is none`, field)
      found.add(field)
    }
  }
  return found
}

/** Puts ids into the references of a body. */
export function fillBody(
  { body, references }: Pick<ParsedStep, 'body' | 'references'>,
  idOf: (name: string) => Id,
): Json | undefined {
  if (references.size === 0) return body
  const fill = (item: Json): Json => {
    if (!isObject(item)) return item
    const filled = { ...item }
    for (const field of references) {
      const value = filled[field]
      const name = typeof value === 'string' ? TEMPLATE.exec(value)?.[1] : undefined
      if (name !== undefined) filled[field] = idOf(name)
    }
    return filled
  }
  return Array.isArray(body) ? body.map(fill) : body === undefined ? body : fill(body)
}

/** Whether a step only reads. */
export function isRead({ method }: Pick<ParsedStep, 'method'>): boolean {
  return isSafe(method)
}
