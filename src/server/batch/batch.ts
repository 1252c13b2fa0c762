// `POST /batch`: several requests as one change, all of them or none.

import { countAgainstLimits } from '../../auth/count-against-limits.ts'
import type { Json } from '../../base/values.ts'
import { HttpError } from '../../errors.ts'
import type { ReadContext } from '../../formats/format.ts'
import { json } from '../../formats/json.ts'
import { isSafe } from '../../http/methods.ts'
import { parsePrefer, printPreferences } from '../../http/prefer.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../../model/types/definition.ts'
import { AS_JSON, parseMediaType, unsupportedMediaType } from '../../negotiate.ts'
import { BATCH_PATH, describeBatch, hasBatch } from '../../openapi/batch.ts'
import type {
  CollectionContext,
  OperationResult,
  RequestContext,
  Step,
} from '../../operations/calls/context.ts'
import { deriveRequest } from '../../operations/calls/derive-call.ts'
import type { RunningTransaction } from '../../operations/calls/running-transaction.ts'
import { keepAnswer, runOncePerKey } from '../../operations/writes/idempotency-key.ts'
import { NO_BODY } from '../../operations/writes/input.ts'
import { isWithin } from '../../schema/json-size.ts'
import { admissionSteps } from '../admission.ts'
import { hasBody, readValue } from '../body.ts'
import { type FixedEndpoint, methodNotAllowed } from '../endpoint.ts'
import { parseIdempotencyKey } from '../request-head.ts'
import { respond } from '../respond.ts'
import { step, timed } from '../steps.ts'
import { invalidBatch, isRead, type ParsedStep, parseSteps, withStep } from './parse-steps.ts'
import { authorizeSteps, type DoneStep, runBatchSteps } from './run-steps.ts'

const ALLOWED = 'POST, OPTIONS'
const HEADERS = [
  'Allow',
  ALLOWED,
  'Access-Control-Allow-Methods',
  ALLOWED,
  'Accept-Post',
  'application/json',
]

/** A batch whose steps are known. */
interface ParsedBatch {
  readonly context: RequestContext
  /** The context of its key and its transaction: a collection of the database. */
  readonly call: CollectionContext
  readonly steps: readonly ParsedStep[]
}

/** Compiles the batch of each version that has a store with transactions, by its paths. @throws TypeError where none has. */
export function compileBatches(api: ApiDefinition): ReadonlyMap<string, FixedEndpoint> {
  if (!api.batch) return new Map()
  const able = api.versions.filter(version => hasBatch(api, version))
  if (able.length === 0)
    throw new TypeError('batch: true needs a collection whose store has transactions')
  return new Map(
    able.flatMap(version => {
      const path = api.prefix + (version.name === '' ? '' : `/${version.name}`) + BATCH_PATH
      const endpoint = compileBatch(api, path, version)
      return [[path, endpoint] as const, [`${path}/`, endpoint] as const]
    }),
  )
}

function compileBatch(
  api: ApiDefinition,
  route: string,
  version: VersionDefinition,
): FixedEndpoint {
  const prepare: Step = context => {
    context.extension = 'json'
    context.negotiated = AS_JSON
    context.version = version
    context.operation = 'batch'
  }
  const describe: Step = context => {
    context.counted = true
    context.negotiated = AS_JSON
    const data = describeBatch(api)(version)
    context.result = {
      status: 200,
      headers: [...HEADERS, ...api.cors.preflight],
      representation: { kind: 'document', name: 'description', data },
    }
  }
  const refuse: Step = context => {
    throw methodNotAllowed(context.method, ALLOWED)
  }
  const byMethod = new Map([
    ['OPTIONS', [describe, respond]],
    [
      'POST',
      [
        prepare,
        ...admissionSteps(api, 'POST'),
        ...timed(
          api,
          'work',
          step(context => performBatch(context, version), 400, 401, 403, 413, 415),
        ),
        respond,
      ],
    ],
  ])
  return { route, addressed: true, byMethod, otherwise: [prepare, ...admissionSteps(api), refuse] }
}

async function performBatch(context: RequestContext, version: VersionDefinition): Promise<void> {
  const { runtime, request } = context
  const value = await readSteps(context)
  const steps = parseSteps(context, version, value)
  const collection = findKeeper(version, steps)
  authorizeSteps(context, steps)
  await countSteps(context, steps)
  context.preferences = parsePrefer(request.headers.prefer)
  const call: CollectionContext = deriveRequest(context, request, {
    target: { kind: 'collection', version, collection },
    // No request for the collection itself has the same key.
    method: 'BATCH',
    body: { value, type: 'application/json' },
  })
  const batch = { context, call, steps }
  context.result = await runtime.workload.run(() => {
    const result = runOnce(batch)
    context.noteOperation(result)
    return result
  }, request)
}

/** Reads the list of steps. @throws HttpError 400, 408, 413, 415 */
async function readSteps({ request, api, method }: RequestContext): Promise<Json> {
  const { headers } = request
  const text = headers['content-type']
  const type = text === undefined ? undefined : parseMediaType(text)
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (coding && coding !== 'identity') {
    const message = 'The body may not be compressed. Send it without Content-Encoding'
    throw new HttpError(415, [{ message, field: 'content-encoding', type: 'unsupported_coding' }], {
      headers: ['Accept-Encoding', 'identity'],
    })
  }
  if (type?.type !== 'application/json') throw unsupportedMediaType(json.types, method, text)
  if (!hasBody(request)) throw new HttpError(400, [NO_BODY])
  const length = headers['content-length']
  const reading: ReadContext = {
    fields: undefined,
    limits: api.limits,
    parameters: type.parameters,
    length: length === undefined ? undefined : Number(length),
    signal: request.signal,
  }
  return readValue(request.body, json, reading)
}

/**
 * Finds the collection that keeps the key of a batch: the first of the database, whatever the steps are.
 * @throws HttpError 400 for steps in several databases.
 */
function findKeeper(
  { collections }: VersionDefinition,
  steps: readonly ParsedStep[],
): CollectionDefinition {
  const [first] = steps
  const database = first?.match.target.collection.store.database
  for (const { at, match } of steps) {
    const { name, store } = match.target.collection
    if (store.database === database) continue
    withStep(at, () => {
      throw invalidBatch(
        `A batch is in one database, and ${name} is in another than the first step`,
        'path',
      )
    })
  }
  const keeper = [...collections.values()].find(
    ({ store }) => store.transaction && store.database === database,
  )
  if (keeper) return keeper
  throw invalidBatch('The store of the first step has no transactions', 'path')
}

/** Counts all steps: the request itself was counted as the first. @throws HttpError 429, 503 */
async function countSteps(context: RequestContext, steps: readonly ParsedStep[]): Promise<void> {
  const { api, principal, request } = context
  if (!api.rateLimit) return
  for (const { method } of steps.slice(1))
    context.limitHeaders = await countAgainstLimits(
      api.rateLimit,
      principal,
      request.address,
      isSafe(method) ? 'reads' : 'writes',
    )
}

/** Runs a batch, with a key once: later its answers are repeated, and what it reads is read again. */
async function runOnce(batch: ParsedBatch): Promise<OperationResult> {
  const { context, call, steps } = batch
  const { headers } = context.request
  const text = headers['idempotency-key']
  const isDryRun = context.preferences.tx !== undefined
  const key = text === undefined || isDryRun ? undefined : parseIdempotencyKey(text)
  const run = async (claimed?: string) => {
    const complete = async (done: readonly DoneStep[], transaction: RunningTransaction) => {
      if (claimed === undefined) return
      await keepAnswer(call, transaction, claimed, toKept(batch, done))
    }
    return toResult(await runBatchSteps(context, call, steps, { complete }), isDryRun)
  }
  if (key === undefined) return run()
  call.idempotencyKey = key
  return runOncePerKey(call, run, async kept => {
    const known: readonly DoneStep[] = kept as never // `toKept` has made it
    return toResult(await runBatchSteps(context, call, steps, { kept: known }), false)
  })
}

/** What is kept of a batch: nothing of what it reads, and no bodies where they are too large. */
function toKept({ steps, call }: ParsedBatch, done: readonly DoneStep[]): Json[] {
  const kept = done.map((each, at) => (steps[at] && isRead(steps[at]) ? null : { ...each }))
  const plain: Json[] = JSON.parse(JSON.stringify(kept))
  if (isWithin(plain, call.api.limits.keyAnswer)) return plain
  return plain.map(each => {
    const { body: _body, ...rest } = Object(each)
    return each && rest
  })
}

function toResult(done: readonly DoneStep[], isDryRun: boolean): OperationResult {
  const answers = done.map(({ status, location, etag, body }) => ({
    status,
    ...(!isDryRun && location !== undefined && { location }),
    ...(!isDryRun && etag !== undefined && { etag }),
    ...(body !== undefined && { body }),
  }))
  return {
    status: 200,
    headers: isDryRun ? ['Preference-Applied', printPreferences({ tx: 'rollback' })] : [],
    representation: { kind: 'document', name: 'batch', data: answers },
  }
}
