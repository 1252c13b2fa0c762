// Checks the description of an api: an OpenAPI document of what OPTIONS answers, the validators of others,
// and values made by its schemas.
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'vitest'
import { drawCar } from '../examples/picture.ts'
import { type Answer, type Init, openHandler, type Served } from './handlers.ts'

/** A JSON Schema, or any other part of the document. */
export type Part = { readonly [name: string]: Part } & { readonly [at: number]: Part }

export interface Described {
  /** `{ openapi, info, paths }`. */
  readonly document: Part
  /** Finds a part of the document by names. */
  at(...names: readonly string[]): Part
  /** Finds what is wrong with a value, by the schema at this place of the document. */
  findIssues(value: unknown, ...names: readonly string[]): unknown
  /** The places of all schemas in the document. */
  readonly schemas: readonly (readonly string[])[]
  /** Sends a request, whose answer must be as the document says. */
  ask(template: string, path: string, init?: Init): Promise<Answer>
}

/** @param paths of the api, each as it is written in the document and as it is asked for. */
export async function describedBy(
  served: Served,
  paths: Readonly<Record<string, string>>,
): Promise<Described> {
  const handler = await openHandler('fetch', served)
  const items = Object.entries(paths).map(async ([template, path]) => {
    const answer = await handler.request(path, { method: 'OPTIONS' })
    expect(answer.status, path).toBe(200)
    return [template, answer.json] as const
  })
  const document = {
    openapi: '3.2.0',
    info: { title: 'An api', version: '1' },
    paths: Object.fromEntries(await Promise.all(items)),
  } as unknown as Part // what JSON holds is made of such parts
  const checked = checkedDocument(document)
  const { at, findIssues } = checked
  const ask = async (template: string, path: string, init: Init = {}) => {
    const answer = await handler.request(path, init)
    const { status, headers } = answer
    const sent = (init.method ?? 'GET').toLowerCase()
    const method = sent === 'head' ? 'get' : sent
    const place = ['paths', template, method, 'responses']
    const known = at(...place)
    const described = String(status) in known ? String(status) : 'default'
    const about = `${method} ${path}: ${status} ${answer.text}`
    expect(status >= 400, `${about} is described`).toBe(described === 'default')
    const { content } = at(...place, described)
    if (answer.text === '') return answer
    expect(content, `${about} has a body`).toBeDefined()
    const type = headers.get('content-type')?.split(';')[0] ?? ''
    const types = Object.keys(content ?? {})
    const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
    expect(
      ranges.some(range => types.includes(range)),
      `${about}: ${type}`,
    ).toBe(true)
    if (type !== 'application/json' || !content?.[type]?.schema) return answer
    const issues = findIssues(answer.json, ...place, described, 'content', type, 'schema')
    expect(issues, about).toBeUndefined()
    return answer
  }
  return { ...checked, ask }
}

/** Prepares a document for checks of values. */
export function checkedDocument(document: Part): Omit<Described, 'ask'> {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
  formats.default(ajv)
  // Each shared schema is compiled once, under an id of its own.
  const withIds = (schema: Part): string =>
    JSON.stringify(schema).replaceAll('"#/components/schemas/', '"shared:')
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {}))
    ajv.addSchema(JSON.parse(withIds(schema)), `shared:${name}`)
  /** By their text: many places have the same schema. */
  const compiled = new Map<string, ValidateFunction>()
  const at = (...names: readonly string[]) =>
    names.reduce<Part>((part, name) => part[name] as Part, document)
  const findIssues = (value: unknown, ...names: readonly string[]) => {
    const text = withIds(at(...names))
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
    compiled.set(text, validate)
    return validate(value) ? undefined : validate.errors
  }
  return { document, at, findIssues, schemas: schemasIn(document, []) }
}

function schemasIn(part: Part, place: readonly string[]): (readonly string[])[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) =>
    name === 'schema' ? [[...place, name]] : schemasIn(value, [...place, name]),
  )
}

/** A part of the document, or what it refers to there. */
export function follow(document: Part, part: Part): Part {
  const path: unknown = part.$ref
  if (typeof path !== 'string') return part
  const names = path.split('/').slice(1)
  return names.reduce<Part>((found, name) => found[name] as Part, document)
}

const VALIDATOR = new Validator()

/** Lists what is wrong with a document, by the validators of others. */
export async function listObjections({ document, schemas, findIssues }: Omit<Described, 'ask'>) {
  const copy = structuredClone(document)
  const { valid, errors } = await VALIDATOR.validate(copy)
  const objections: unknown[] = valid ? [] : [errors]
  // Compiling a schema in its place resolves every reference in it.
  for (const place of schemas) {
    try {
      findIssues({}, ...place)
    } catch (error) {
      objections.push(`${place.join(' ')}: ${error}`)
    }
  }
  const operations = Object.values(document.paths ?? {}).flatMap(item =>
    Object.values(item).filter(
      operation => typeof operation === 'object' && 'responses' in operation,
    ),
  )
  const ids = operations.map(({ operationId }) => operationId)
  if (new Set(ids).size < ids.length) objections.push(`An operationId is there twice: ${ids}`)
  for (const { operationId, parameters } of operations) {
    const names = Object.values(parameters ?? {}).map(each => {
      const { name, in: place } = follow(document, each)
      return `${place} ${name}`
    })
    if (new Set(names).size < names.length) objections.push(`${operationId}: ${names}`)
  }
  return objections
}

const IMAGE = drawCar('red', 4)

/** A value that fits a schema: with all members, or with those alone that must be there. */
export function valueBy(schema: Part, whole: boolean, known: Record<string, unknown> = {}) {
  const root = schema
  return made(schema, 0)

  function made(part: Part, level: number): unknown {
    const { $ref, anyOf, oneOf, allOf, properties, items, type } = part
    const keyword = part as unknown as Record<string, unknown>
    if ('const' in part) return part.const
    if ('default' in part) return part.default
    if (part.enum) return part.enum[0]
    if ($ref) return undefined
    if (properties || allOf) {
      const parts = [part, ...Object.values(allOf ?? {})]
      const needed = new Set(
        parts.flatMap(each => [
          ...Object.values(each.required ?? {}),
          ...Object.values((each.anyOf ?? each.oneOf)?.[0]?.required ?? {}),
        ]),
      ) as unknown as Set<string>
      const members = parts.flatMap(each => Object.entries(each.properties ?? {}))
      const chosen = parts.flatMap(each => {
        const option = (each.anyOf ?? each.oneOf)?.[0]
        return option?.properties ? Object.entries(Object(made(option, level))) : []
      })
      const own = members.flatMap(([name, member]) => {
        if (name in known) return [[name, known[name]]]
        // What comes back to itself ends somewhere.
        // An address that is not its own is another content than the one beside it.
        const free = !member.readOnly && (member as { format?: unknown }).format !== 'uri'
        const wanted = needed.has(name) || (whole && level < 5 && free)
        const value = wanted ? made(resolved(member), level + 1) : undefined
        return value === undefined ? [] : [[name, value]]
      })
      return Object.fromEntries([...chosen, ...own])
    }
    const [first] = Object.values(anyOf ?? oneOf ?? {})
    if (first) return made(resolved(first), level)
    const kind = Array.isArray(type) ? type[0] : type
    switch (kind as unknown) {
      case 'string':
        return textOf(String(keyword.format ?? keyword.contentEncoding ?? ''))
      case 'integer':
      case 'number':
        return Number(keyword.minimum ?? 1)
      case 'boolean':
        return true
      case 'array':
        if (part.prefixItems)
          return Object.values(part.prefixItems).map(each => made(resolved(each), level + 1))
        return whole && items
          ? [made(resolved(items), level + 1)].filter(each => each !== undefined)
          : []
      case 'object': {
        const keys = Object.values(part.required ?? {}).map(String)
        return Object.fromEntries(
          keys.map(key => [key, made(part.additionalProperties as Part, 1)]),
        )
      }
      default:
        return null
    }
  }

  /** One step of a reference is followed: its next one ends it. */
  function resolved(part: Part): Part {
    const name = String(part.$ref ?? '').replace('#/$defs/', '')
    return root.$defs?.[name] ?? part
  }
}

function textOf(format: string): string {
  switch (format) {
    case 'uuid':
      return '01900000-0000-7000-8000-000000000000'
    case 'email':
      return 'ann@example.org'
    case 'uri':
      return 'https://example.org/'
    case 'date':
      return '2026-01-31'
    case 'date-time':
      return '2026-01-31T12:00:00Z'
    case 'base64':
      return IMAGE.toString('base64')
    default:
      return 'AB-123-CD'
  }
}

/** A body of multipart/form-data: texts, and the image where the schema says that there is a file. */
export async function multipartOf(schema: Part, whole: boolean): Promise<Init> {
  const form = new FormData()
  const files = Object.entries(schema.properties ?? {}).filter(
    ([, { format }]) => (format as unknown) === 'binary',
  )
  const names = new Set(files.map(([name]) => name))
  const value = valueBy(schema, whole) as Record<string, unknown>
  for (const [name, member] of Object.entries(value)) {
    if (names.has(name))
      form.append(name, new Blob([new Uint8Array(IMAGE)], { type: 'image/png' }), 'a.png')
    else form.append(name, String(member))
  }
  const request = new Request('http://api.test/', { method: 'POST', body: form })
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  return { headers, body: new Uint8Array(await request.arrayBuffer()) }
}
