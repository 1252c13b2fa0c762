// A program that uses every collection of pulled modules, which it gets as JSON with the URLs of their databases. It prints, as
// JSON, what failed and what was warned. It makes its bodies of the schemas alone.
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { type AnyApi, findApiDefinition } from '../../src/model/definitions.ts'
import type { CollectionDefinition } from '../../src/model/types/definition.ts'

type Json = Record<string, unknown>
type Fetch = (request: Request) => Promise<Response>
type CollectionMap = ReadonlyMap<string, CollectionDefinition>

interface Answer {
  readonly status: number
  readonly answer: Json
}

const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))

let api: AnyApi & { fetch: Fetch; open(): Promise<void>; close(): Promise<void> }
let collections: CollectionMap = new Map()

/** Finds a collection, which is there. */
const find = (name: string) => collections.get(name) as CollectionDefinition

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
  const request = new Request(`http://api.example/${path}`, {
    method,
    ...(body !== undefined && { headers, body: JSON.stringify(body) }),
  })
  const response = await api.fetch(request)
  const text = await response.text()
  const answer: Json = /^[[{]/.test(text) ? JSON.parse(text) : { text }
  return { status: response.status, answer }
}

let count = 0
/** Makes a value that a JSON Schema takes. */
function make(schema: Json): unknown {
  count++
  const [first] = [schema.anyOf, schema.oneOf].filter(Array.isArray).flat()
  if (first) return make(first)
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (schema.const !== undefined) return schema.const
  const [type] = [schema.type].flat()
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') {
    const [min, max] = [Number(schema.minimum ?? 0), Number(schema.maximum ?? 100)]
    const above = Number(schema.exclusiveMinimum ?? -1)
    return Math.min(Math.max(min, Math.floor(above) + 1, count % 100), max)
  }
  if (schema.format === 'uuid') return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`
  if (schema.format === 'date') return '2024-02-29'
  if (schema.format === 'date-time')
    return new Date(Date.UTC(2024, 1, 29) + count * 1000).toISOString()
  if (type === 'array') return []
  if (type === 'object') return {}
  const text = `${String(count).padStart(Math.max(2, Number(schema.minLength ?? 0)), '0')}`
  return text.slice(-Number(schema.maxLength ?? 20))
}

const made = new Map<string, unknown>()
const making = new Set<string>()
/** Gives the id of an item, which is made if there is none yet. */
async function idOf(name: string, isNew: boolean): Promise<unknown> {
  if (making.has(name)) return made.get(name) ?? null
  if (isNew) return (await create(name)).answer.id ?? null
  if (!made.has(name)) {
    const { answer } = await ask('GET', `${name}?limit=1`)
    if (Array.isArray(answer) && answer[0]) made.set(name, answer[0].id)
    else await create(name)
  }
  return made.get(name) ?? null
}

async function create(name: string) {
  making.add(name)
  const body = await makeBody(name)
  const created = await ask('POST', name, body)
  if (created.status === 201 && !made.has(name)) made.set(name, created.answer.id)
  making.delete(name)
  return { ...created, body }
}

async function makeBody(name: string): Promise<Json> {
  const { schema, shape, references, roles } = find(name)
  const unique = new Set(['id', ...shape.unique.flat()])
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' }) as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  const body: Json = {}
  for (const [property, each] of Object.entries(properties)) {
    if (roles?.readOnly.has(property)) continue
    const reference = references.get(property)
    if (reference) {
      const id = await idOf(reference.collection, unique.has(property))
      if (id !== null || required.includes(property)) body[property] = id
    } else if (required.includes(property) || unique.has(property)) body[property] = make(each)
  }
  return body
}

/** Uses a collection. @returns what failed. */
async function use(name: string): Promise<string[]> {
  const { operations, roles, relations } = find(name)
  const failed: string[] = []
  const note = (what: string, { status, answer }: Answer, wanted: number) => {
    if (status !== wanted)
      failed.push(`${what} ${status} ${JSON.stringify(answer.errors ?? answer)}`)
  }
  const list = await ask('GET', `${name}?limit=5`)
  note('list', list, 200)
  const [old] = Array.isArray(list.answer) ? list.answer : []
  if (old && operations.has('replace')) {
    // What a row of before has can be sent back.
    const path = `${name}/${encodeURIComponent(String(old.id))}`
    note('read an old one', await ask('GET', path), 200)
    note('put an old one', await ask('PUT', path, old), 200)
    note('patch an old one', await ask('PATCH', path, old), 200)
  }
  if (!operations.has('create')) return failed
  const { body, ...created } = await create(name)
  note('create', created, 201)
  if (created.status !== 201) return failed
  const own = `${name}/${encodeURIComponent(String(created.answer.id))}`
  note('read', await ask('GET', own), 200)
  const changes = await makeBody(name)
  const property = Object.keys(changes).find(each => each !== 'id' && !roles?.immutable.has(each))
  note('patch', await ask('PATCH', own, property ? { [property]: changes[property] } : {}), 200)
  note('put', await ask('PUT', own, body), 200)
  // Others may refer to it: a second one goes.
  const second = await create(name)
  note('create', second, 201)
  const other = `${name}/${encodeURIComponent(String(second.answer.id))}`
  if (relations.size > 0)
    note('include', await ask('GET', `${name}?include=${[...relations.keys()]}`), 200)
  note('delete', await ask('DELETE', other), 200)
  return failed
}

const given: readonly (readonly [path: string, url: string])[] = JSON.parse(process.argv[2] ?? '')
const used: unknown[] = []
for (const [path, url] of given) {
  process.env.DATABASE_URL = url
  // A pulled module exports its api.
  ;({ api } = (await import(pathToFileURL(path).href)) as { api: typeof api })
  made.clear()
  const failed: string[] = []
  try {
    await api.open()
    collections = findApiDefinition(api).versions[0]?.collections ?? new Map()
    for (const name of collections.keys())
      failed.push(...(await use(name)).map(each => `${name}: ${each}`))
    await api.close()
  } catch (error) {
    failed.push(String(error))
  }
  await new Promise(resolve => setImmediate(resolve))
  used.push({
    failed,
    warnings: warnings.splice(0),
    served: [...collections.keys()],
  })
}
console.log(JSON.stringify(used))
process.exit(0)
