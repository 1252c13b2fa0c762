// Requests made from the OpenAPI document, valid and invalid: no 5xx, no undocumented status, no answer off
// its schema.
// RUNS=20 SEED=1 npx vitest run test/guards/document-fuzz.test.ts
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { carsApi } from '../../examples/cars-api.ts'
import { memoryBlobs, memoryStore, openApiDocument } from '../../src/index.ts'
import { createCheck } from '../answers.ts'
import { follow, type Part } from '../openapi.ts'
import { runs, SEED } from '../random.ts'

const RUNS = runs(1000)
const ROUNDS = Math.ceil(RUNS / 100)

const failures: unknown[] = []
const { api } = carsApi(() => memoryStore(), memoryBlobs(), {
  onError: error => failures.push(error),
  baseUrl: 'http://api.test',
})
// JSON is made of such parts.
const document = openApiDocument(api) as unknown as Part
const check = createCheck([document])

type Keywords = Readonly<Record<string, unknown>>

const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=='

const TEXTS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  date: fc.constantFrom('2026-01-31', '2024-02-29'),
  'date-time': fc.constantFrom('2026-01-31T12:00:00Z', '2026-01-31T12:00:00.5+02:00'),
  email: fc.nat(999).map(number => `ann${number}@example.org`),
  uuid: fc.uuid(),
  uri: fc.constant('https://example.org/'),
}

/** Values that fit a schema. */
function valid(part: Part, depth = 0): fc.Arbitrary<unknown> {
  const schema = follow(document, part)
  const keyword = schema as unknown as Keywords
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...Object.values(schema.enum))
  const options = Object.values(schema.anyOf ?? schema.oneOf ?? {})
  if (options.length > 0 && !schema.properties)
    return fc.oneof(...options.map(option => valid(option, depth + 1)))
  const type = Array.isArray(keyword.type)
    ? fc.constantFrom(...keyword.type)
    : fc.constant(keyword.type)
  return type.chain((kind): fc.Arbitrary<unknown> => {
    const { minimum: min = -1000, maximum: max = 1e6 } = keyword as {
      minimum?: number
      maximum?: number
    }
    switch (kind) {
      case 'integer':
        return fc.integer({ min: Math.max(min, -1e6), max: Math.min(max, 1e6) })
      case 'number':
        return fc.double({ min, max: Math.min(max, 1e6), noNaN: true })
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      case 'array':
        return depth > 4 || !schema.items
          ? fc.constant([])
          : fc.array(valid(schema.items, depth + 1), { maxLength: 3 })
      case 'object': {
        const { required = [] } = keyword as { required?: string[] }
        // What only the server sets has no place in a request.
        const sent = Object.entries(schema.properties ?? {}).filter(([, each]) => !each.readOnly)
        const properties = sent.map(([name, each]) => [name, valid(each, depth + 1)] as const)
        return fc.record(Object.fromEntries(properties), {
          requiredKeys: required.filter(name => properties.some(([known]) => known === name)),
        })
      }
      default:
        return validText(keyword)
    }
  })
}

function validText(keyword: Keywords): fc.Arbitrary<string> {
  const { format, pattern, contentEncoding } = keyword
  if (contentEncoding === 'base64') return fc.constant(IMAGE)
  const known = TEXTS[String(format)]
  if (known) return known
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern))
  const { minLength = 0, maxLength = 20 } = keyword as { minLength?: number; maxLength?: number }
  return fc.string({ minLength, maxLength: Math.min(maxLength, 30) })
}

/** Values that mostly do not fit: others, or a valid one with something wrong in it. */
function invalid(part: Part): fc.Arbitrary<unknown> {
  const damaged = fc
    .tuple(valid(part), fc.string({ maxLength: 6 }), fc.jsonValue())
    .map(([value, name, wrong]) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong
      const names = [...Object.keys(value), name]
      return { ...value, [names[name.length % names.length] ?? name]: wrong }
    })
  return fc.oneof(fc.jsonValue(), damaged)
}

interface Sent {
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly body?: string
}

/** Ids of items that may exist by now, and tags that they may have. */
const ids = new Map<string, string[]>()
const tags = ['"x"']

/** A path with ids, most of them of items that exist; a URL takes `.` and `..` for other paths. */
function pathOf(template: string): fc.Arbitrary<string> {
  const segments = template.split('/')
  const printed = segments.map((segment, at): fc.Arbitrary<string> => {
    if (!segment.startsWith('{')) return fc.constant(segment)
    const others = fc.oneof(
      fc.constantFrom('0', 'nobody', '01900000-0000-7000-8000-000000000000'),
      fc.string({ minLength: 1, maxLength: 8 }).filter(text => !/^\.+$/.test(text)),
    )
    return fc
      .oneof(
        { weight: 9, arbitrary: knownId(segments[at - 1] ?? '') },
        { weight: 1, arbitrary: others },
      )
      .map(encodeURIComponent)
  })
  return fc.tuple(...printed).map(texts => texts.join('/'))
}

function knownId(collection: string): fc.Arbitrary<string> {
  return fc.nat().map(at => pick(ids.get(collection), at) ?? '1')
}

/** Lets most properties that are called after an item refer to one that exists. */
function refer(value: unknown, at: number): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || at % 4 === 0)
    return value
  const referring = Object.entries(value).map(([name, each]) => {
    const id = /_id$/.test(name) ? pick(ids.get(name.replace(/_id$/, 's')), at) : undefined
    return [name, id === undefined || each === null ? each : /^\d+$/.test(id) ? Number(id) : id]
  })
  return Object.fromEntries(referring)
}

function pick<T>(list: readonly T[] = [], at: number): T | undefined {
  return list[at % Math.max(1, list.length)]
}

/** Prints a value of a parameter: an object as a pair for each property (`style: deepObject`), a list for each value. */
function printValue(value: unknown): [below: string, text: string][] {
  if (Array.isArray(value)) return value.map(each => ['', String(each)])
  if (typeof value !== 'object' || value === null) return [['', String(value)]]
  return Object.entries(value).map(([name, each]) => [`[${name}]`, String(each)])
}

/** Requests of one operation. */
function requestsOf(template: string, method: string, operation: Part): fc.Arbitrary<Sent> {
  const parameters = Object.values(operation.parameters ?? {}).map(each => follow(document, each))
  const arbitraries = parameters.map(({ name, schema, in: place, required }) =>
    fc.tuple(
      fc.constant(String(place)),
      fc.constant(String(name)),
      fc.nat(required ? 7 : Math.max(40, parameters.length * 10)),
      fc.oneof(
        { weight: 6, arbitrary: valid(schema as Part).map(printValue) },
        { weight: 1, arbitrary: fc.string({ maxLength: 8 }).map(printValue) },
      ),
      fc.nat(),
    ),
  )
  const { content } = operation.requestBody ?? ({} as Part)
  const typed = Object.entries(content ?? {}).filter(([type]) => /json$/.test(type))
  const body =
    typed.length === 0
      ? fc.constant(undefined)
      : fc
          .constantFrom(...typed)
          .chain(([type, { schema }]) =>
            fc
              .oneof(
                { weight: 5, arbitrary: valid((schema ?? {}) as Part) },
                { weight: 1, arbitrary: invalid((schema ?? {}) as Part) },
              )
              .chain(value =>
                fc.nat().map(at => [type, JSON.stringify(refer(value, at))] as const),
              ),
          )
  return fc.tuple(pathOf(template), fc.tuple(...arbitraries), body).map(([path, values, sent]) => {
    const query = new URLSearchParams()
    const headers: Record<string, string> = { accept: 'application/json' }
    for (const [place, name, chance, value, at] of values) {
      if (chance > 7) continue
      const [[, text = ''] = []] = value
      if (place === 'query') for (const [below, each] of value) query.append(name + below, each)
      else if (/^If-(?:None-)?Match$/.test(name)) headers[name] = pick(tags, at) ?? text
      else headers[name] = text.replace(/[^\x20-\x7e]/g, '').trim()
    }
    return {
      method: method.toUpperCase(),
      target: query.size > 0 ? `${path}?${query}` : path,
      headers: { ...headers, ...(sent && { 'content-type': sent[0] }) },
      ...(sent && { body: sent[1] }),
    }
  })
}

const operations = Object.entries(document.paths ?? {}).flatMap(([template, item]) =>
  ['get', 'head', 'post', 'put', 'patch', 'delete'].flatMap(method => {
    // HEAD is where GET is.
    const operation = item[method === 'head' ? 'get' : method]
    return operation
      ? [{ template, method, requests: requestsOf(template, method, operation) }]
      : []
  }),
)

async function send({ method, target, headers, body }: Sent) {
  const request = new Request(`http://api.test${target}`, {
    method,
    headers,
    ...(body && { body }),
  })
  const response = await api.fetch(request)
  return {
    method,
    target,
    status: response.status,
    headers: response.headers,
    text: await response.text(),
  }
}

test('requests made from the document are answered as it says', {
  timeout: 1_800_000,
}, async () => {
  const found: string[] = []
  const statuses = new Map<number, number>()
  let sent = 0
  for (let round = 0; sent < RUNS && round < ROUNDS * 2; round++) {
    for (const { template, method, requests } of operations) {
      if (sent >= RUNS) break
      const seed = SEED + round * 1000 + sent
      for (const each of fc.sample(requests, { numRuns: 1, seed })) {
        const answer = await send(each)
        sent++
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        // The document speaks of arrays beside /batch alone: clients made from it would get a union from each create.
        const isArray = each.body?.startsWith('[') === true && answer.status === 201
        const miss = answer.status >= 500 ? `${answer.status} ${answer.text}` : check(answer)
        if (!isArray && miss !== undefined)
          found.push(`${method} ${template} ${JSON.stringify(each)}: ${miss.slice(0, 600)}`)
        remember(answer)
      }
    }
  }
  if (RUNS > 1000)
    console.log(`${sent} requests, seed ${SEED}:`, Object.fromEntries([...statuses].sort()))
  expect(found, `seed ${SEED}`).toEqual([])
  expect(failures).toEqual([])
  // Enough of them did something, and enough were refused.
  for (const status of [200, 201, 400, 404])
    expect(statuses.get(status)).toBeGreaterThan(RUNS / 500)
})

function remember({ status, headers }: Awaited<ReturnType<typeof send>>): void {
  const etag = headers.get('etag')
  if (etag && tags.length < 50) tags.push(etag)
  const location = status === 201 ? headers.get('location') : null
  const [collection, id] = location?.split('/').slice(-2) ?? []
  if (collection === undefined || id === undefined) return
  const known = ids.get(collection) ?? []
  ids.set(collection, [...known, id].slice(-20))
}
