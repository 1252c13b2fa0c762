// `POST /batch`, as OpenAPI 3.1.

import { memoize } from '../base/memoize.ts'
import type { Item } from '../base/values.ts'
import type { ApiDefinition, VersionDefinition } from '../model/types/definition.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import { Components } from './components.ts'
import { buildErrorResponses } from './errors.ts'
import { buildHeaderParameters, buildResponseHeaders } from './headers.ts'
import { JSON_TYPE, type MethodDescription } from './method.ts'
import { BATCH_ID } from './operation-names.ts'
import { API_TAG, toPlainItem } from './path-item.ts'
import { describeRules } from './security.ts'

export const BATCH_PATH = '/batch'

/** Whether a version has a batch: some of its stores have transactions. */
export function hasBatch({ batch }: ApiDefinition, { collections }: VersionDefinition): boolean {
  return (
    batch &&
    [...collections.values()].some(({ store }) => store.transaction && store.database !== undefined)
  )
}

const TEXT: JsonSchema = { type: 'string' }

const STEP: JsonSchema = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    path: {
      type: 'string',
      pattern: '^/[^/]',
      description: 'Below the version. {o} is the id of the item of the earlier step o.',
    },
    body: { description: 'As of the request. {o} is the id where a reference has it alone.' },
    as: { type: 'string', pattern: '^[A-Za-z_]\\w{0,63}$', description: 'Names its item' },
    'if-match': TEXT,
    'if-none-match': TEXT,
    prefer: TEXT,
  },
  required: ['method', 'path'],
  additionalProperties: false,
}

const ANSWER: JsonSchema = {
  type: 'object',
  properties: {
    status: { type: 'integer' },
    location: { type: 'string', format: 'uri' },
    etag: TEXT,
    body: { description: 'As of the request' },
  },
  required: ['status'],
}

/** Builds the path item of the batch of a version. */
export function buildBatch(
  api: ApiDefinition,
  version: VersionDefinition,
  components: Components,
): object {
  const target = { kind: 'root', version } as const
  const described: MethodDescription = {
    api,
    target,
    method: 'POST',
    name: 'batch',
    id: BATCH_ID,
    components,
  }
  const maxItems = api.limits.steps
  const steps = { type: 'array', minItems: 1, maxItems, items: STEP }
  return {
    post: {
      operationId: BATCH_ID,
      summary: 'Send several changes as one',
      description: 'All steps, or none: the first that fails is the answer',
      deprecated: version.deprecated !== undefined || undefined,
      ...(!components.isInline && { tags: [API_TAG] }),
      parameters: buildHeaderParameters(described),
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: steps } } },
      responses: {
        200: {
          description: 'The answers of all steps',
          ...buildResponseHeaders(described, '200'),
          content: { [JSON_TYPE]: { schema: { type: 'array', items: ANSWER } } },
        },
        ...buildErrorResponses(described),
      },
      // Each step has the rule of its own operation.
      ...(!components.isInline &&
        api.schemes.length > 0 && { security: describeRules([[]], api.schemes) }),
    },
  }
}

/** Describes the batch of a version for OPTIONS, once. */
export const describeBatch = memoize((api: ApiDefinition) =>
  memoize(
    (version: VersionDefinition): Item =>
      toPlainItem(buildBatch(api, version, new Components({ isInline: true }))),
  ),
)
