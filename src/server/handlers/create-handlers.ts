// An api made ready to answer: its compiled endpoints behind a node:http listener and a `fetch` function.
import { belowPrefix } from '../../http/target.ts'
import { createWorkload } from '../../http/timeouts.ts'
import { buildRouter } from '../../model/compile/routes.ts'
import type { ApiDefinition } from '../../model/types/definition.ts'
import type { Pages, Runtime } from '../../operations/calls/context.ts'
import { runTransaction } from '../../operations/calls/run-transaction.ts'
import { createResource } from '../../operations/programs/create-resource.ts'
import { compileBatches } from '../batch/batch.ts'
import { compileDocuments } from '../documents.ts'
import { compileEndpoints, compileNotFound } from '../endpoint.ts'
import { answer, type ServerRuntime } from '../handle.ts'
import type { AnswerRequest } from '../try-it.ts'
import { type Fetch, fetchHandler } from './fetch-handler.ts'
import { type Handler, nodeHandler } from './node-handler.ts'

/** The two ways into an api. */
export interface Handlers {
  /** A node:http request listener; with a third argument it leaves unknown paths to `next`. */
  readonly handler: Handler
  /** Answers a Web standard `Request`. */
  readonly fetch: Fetch
}

/** @throws TypeError for a collection at the path of a document. */
export function createHandlers(
  api: ApiDefinition,
  pages?: Pages | undefined,
): Handlers & { readonly runtime: Runtime } {
  const router = buildRouter(api, route => compileEndpoints(api, route))
  const answerTried: AnswerRequest = context => answer(runtime, context)
  const lifetime = { ends: false }
  const fixed = new Map([
    ...compileDocuments(api, pages, answerTried, lifetime),
    ...compileBatches(api),
  ])
  for (const path of fixed.keys()) {
    const below = belowPrefix(path, api.prefix, 'GET')
    if (below !== undefined && router.match(below))
      throw new TypeError(
        `${below} is the path of a collection and of a document. Rename the collection.`,
      )
  }
  const runtime: ServerRuntime = {
    api,
    router,
    workload: createWorkload(api.limits),
    onClose: new Set(),
    pages,
    createResource,
    runTransaction,
    fixed,
    lifetime,
    notFound: compileNotFound(api),
  }
  return { handler: nodeHandler(runtime), fetch: fetchHandler(runtime), runtime }
}
