// The parameters and the body of each operation, as OpenAPI 3.1.

import { JSON_PATCH_TYPE, MERGE_PATCH_TYPE } from '../formats/patch.ts'
import { readsBody } from '../http/methods.ts'
import { UPSERT } from '../model/compile/unique-keys.ts'
import type { ActionDefinition, CollectionDefinition } from '../model/types/definition.ts'
import { readTypes } from '../negotiate.ts'
import { FORM_QUERY } from '../query/body.ts'
import { embedSchema, type JsonSchema, needsProperties } from '../schema/json-schema.ts'
import { buildHeaderParameters } from './headers.ts'
import {
  buildContent,
  createsItems,
  hasArrays,
  JSON_TYPE,
  type MethodDescription,
  orArray,
  shareSchema,
} from './method.ts'
import { printItemType, toTypeName } from './names.ts'
import { buildQueryParameters } from './parameters.ts'
import { buildQuery } from './query.ts'
import { makeExample } from './samples.ts'
import { bodySchema, fileEncoding } from './schemas.ts'

/** Builds the parameters and the body of an operation. */
export function buildRequest(described: MethodDescription): Record<string, unknown> {
  const parameters = [...buildQueryParameters(described), ...buildHeaderParameters(described)]
  return { ...(parameters.length > 0 && { parameters }), requestBody: buildBody(described) }
}

/** The media types of a PATCH besides those of the formats. */
export const PATCH_TYPES = [MERGE_PATCH_TYPE, JSON_PATCH_TYPE]
const MULTIPART_TYPE = 'multipart/form-data'
const FORM_TYPES: ReadonlySet<string> = new Set([FORM_QUERY, MULTIPART_TYPE])

const POINTER: JsonSchema = { type: 'string', description: 'A JSON Pointer (RFC 6901)' }

function patchStep(op: readonly string[], properties: Record<string, JsonSchema>): JsonSchema {
  return {
    type: 'object',
    properties: { op: { type: 'string', enum: op }, path: POINTER, ...properties },
    required: ['op', 'path', ...Object.keys(properties)],
  }
}

const JSON_PATCH: JsonSchema = {
  type: 'array',
  description: 'A JSON Patch (RFC 6902)',
  items: {
    anyOf: [
      patchStep(['add', 'replace', 'test'], { value: {} }),
      patchStep(['remove'], {}),
      patchStep(['move', 'copy'], { from: POINTER }),
    ],
  },
}

/** How the names of body schemas end. */
const SUFFIXES = { create: 'Input', replace: 'Replacement', patch: 'Patch' }

function buildBody(described: MethodDescription): object | undefined {
  const { target, api, method, name, components } = described
  if (!target.collection || !readsBody(method)) return undefined
  const { collection, parent, action } = target
  if (action) return buildInput(described, collection, action)
  if (method === 'QUERY') return buildQuery(described)
  if (method === 'DELETE') return undefined
  const { isInline, isLight } = components
  const operation = toBodyOperation(name, collection, isLight)
  const types = listBodyTypes(described)
  const item = printItemType(collection)
  const type = item + SUFFIXES[operation]
  // What need not be sent anyway makes no other body.
  const isOptional = parent?.field && collection.shape.fields.get(parent.field)?.optional
  const filled = operation === 'patch' || isOptional ? undefined : parent?.field
  const below = filled && parent ? `Of${printItemType(parent.collection)}` : ''
  const share = (files: boolean) =>
    shareSchema(
      described,
      type + (files ? 'Files' : '') + below,
      { owner: collection, part: files ? 'files' : 'body', prefix: `${item}Input` },
      id => bodySchema(collection, { operation, filled, files }, components, id),
    )
  const files = collection.blobs !== undefined &&
    readTypes(api.formats).includes(MULTIPART_TYPE) && {
      [MULTIPART_TYPE]: { schema: share(true), encoding: fileEncoding(collection) },
    }
  // Programs that generate clients take one media type of a body.
  if (isLight && files) return { required: true, content: files }
  const schema = share(false)
  const patches = operation === 'patch' && !isLight
  const content: Record<string, object> = {
    ...buildContent(patches ? [...types, MERGE_PATCH_TYPE] : types, schema),
    ...files,
  }
  const json = content[JSON_TYPE] && {
    schema: hasArrays(described) ? orArray(schema, api.limits.arrayItems) : schema,
    ...(!isInline && makeExample(schema, components)),
  }
  const jsonPatch = () => JSON_PATCH
  return {
    required: true,
    content: {
      ...content,
      ...(json && { [JSON_TYPE]: json }),
      ...(patches && {
        [JSON_PATCH_TYPE]: {
          schema: components.refer('schemas', 'JsonPatch', { owner: JSON_PATCH_TYPE }, jsonPatch),
        },
      }),
    },
  }
}

/** Names the operation whose body is the same. In a light document that of a PUT is mostly that of a POST. */
function toBodyOperation(
  operation: string,
  { roles, shape }: CollectionDefinition,
  isLight: boolean,
): keyof typeof SUFFIXES {
  const isPlain = !roles?.writeOnly.size && !roles?.immutable.size && shape.identity.kind !== 'text'
  const name = operation === UPSERT ? 'replace' : operation
  if (name === 'replace' && isLight && isPlain) return 'create'
  // The other operations have no body.
  return name === 'patchMany' ? 'patch' : (name as keyof typeof SUFFIXES)
}

/** Lists the media types of a body. In a document forms without files are left out where there is JSON. */
function listBodyTypes(described: MethodDescription): string[] {
  const { api, components } = described
  const types = readTypes(api.formats, createsItems(described))
  const isLeftOut = (type: string) => !components.isInline && FORM_TYPES.has(type)
  return types.includes(JSON_TYPE) ? types.filter(type => !isLeftOut(type)) : types
}

function buildInput(
  described: MethodDescription,
  collection: CollectionDefinition,
  action: ActionDefinition,
): object | undefined {
  const { input, name } = action
  const { components } = described
  if (!input) return undefined
  const { printed } = components
  const isNamed = !components.isInline
  const build = (id: string) => embedSchema(input, { io: 'input', id, isNamed, printed })
  const type = `${printItemType(collection)}${toTypeName(name)}Input`
  const schema = shareSchema(described, type, { owner: action, part: 'body' }, build)
  const content = buildContent(listBodyTypes(described), schema)
  const example = isNamed && makeExample(schema, components)
  return {
    ...(needsProperties(build(type)) && { required: true }),
    content: {
      ...content,
      ...(content[JSON_TYPE] && { [JSON_TYPE]: { ...content[JSON_TYPE], ...example } }),
    },
  }
}
