// A zod schema, or a field, as JSON Schema (dialect 2020-12, which OpenAPI 3.1 takes) that can stand
// anywhere in a larger document.
import { z } from 'zod'
import type { Field } from './fields.ts'
import { hasOneType } from './fields.ts'
import { isJson } from './json.ts'
import type { Schema } from './zod-fields.ts'

/** A JSON Schema with the keywords that are read here. */
export interface JsonSchema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly [keyword: string]: unknown
}

/** Prints a field as JSON Schema: enough for a parameter and for the properties that the server adds. */
export function fieldSchema({ kind, choices, uuid, element }: Field): JsonSchema {
  if (choices) return { enum: choices }
  if (kind === 'array') return { type: 'array', ...(element && { items: fieldSchema(element) }) }
  if (kind === 'record')
    return { type: 'object', ...(element && { additionalProperties: fieldSchema(element) }) }
  if (kind === 'date' || kind === 'date-time') return { type: 'string', format: kind }
  return hasOneType(kind) ? { type: kind, ...(uuid && { format: 'uuid' }) } : {}
}

/** The metadata of schemas without ids, which would become references, and without what JSON cannot hold. */
class Described extends z.core.$ZodRegistry<Record<string, unknown>> {
  override get(schema: Schema) {
    const { id: _id, ...known } = z.globalRegistry.get(schema) ?? {}
    return Object.fromEntries(Object.entries(known).filter(([, value]) => isJson(value)))
  }
}

const METADATA = new Described()

export interface Embedding {
  /** Which side of the schema: its input, or its output. */
  readonly io: 'input' | 'output'
  /** A name that is unique in the document. */
  readonly id: string
  /** Changes the objects that the whole value may be. Default: none. */
  readonly change?: (object: JsonSchema) => JsonSchema
}

/**
 * Prints a zod schema so that it can stand anywhere in a document. Only a recursive one has references;
 * they start at the schema itself, which has an `$id` then (JSON Schema 2020-12 §8.2.1).
 */
export function embedSchema(
  schema: Schema,
  { io, id: $id, change = object => object }: Embedding,
): JsonSchema {
  // Within a list a recursive schema refers to `$defs` and never to the root, which is changed.
  const list = z.toJSONSchema(z.array(schema), {
    io,
    unrepresentable: 'any',
    metadata: METADATA,
    override({
      zodSchema: {
        _zod: { def },
      },
      jsonSchema,
    }) {
      // An answer may have more: properties of another version, or what an action adds.
      if (io === 'output' && def.type === 'object' && !def.catchall)
        delete jsonSchema.additionalProperties
      // A key whose value may be undefined is not in the JSON.
      if (def.type === 'record' && def.valueType._zod.optout === 'optional')
        delete jsonSchema.required
    },
  })
  const { items = {}, $defs }: { items?: JsonSchema; $defs?: JsonSchema['$defs'] } = JSON.parse(
    JSON.stringify(list),
  )
  const described = eachObject(items, $defs ?? {}, change)
  return $defs ? { $id, ...described, $defs } : described
}

/** Changes the object that a schema is, or each option of a union. */
function eachObject(
  schema: JsonSchema,
  defs: NonNullable<JsonSchema['$defs']>,
  change: (object: JsonSchema) => JsonSchema,
): JsonSchema {
  const { $ref, ...rest } = schema
  if ($ref !== undefined) {
    const { [$ref.replace('#/$defs/', '')]: meant, ...others } = defs
    return meant ? eachObject({ ...meant, ...rest }, others, change) : schema
  }
  const changed = (parts: readonly JsonSchema[]) =>
    parts.map(part => eachObject(part, defs, change))
  const { properties, anyOf, oneOf } = schema
  if (properties) return change(schema)
  return {
    ...schema,
    ...(anyOf && { anyOf: changed(anyOf) }),
    ...(oneOf && { oneOf: changed(oneOf) }),
  }
}

/** Whether a property is required. */
export function needsProperties({ required = [], anyOf, oneOf, allOf }: JsonSchema): boolean {
  if (required.length > 0 || allOf?.some(needsProperties)) return true
  return (anyOf ?? oneOf)?.every(needsProperties) ?? false
}
