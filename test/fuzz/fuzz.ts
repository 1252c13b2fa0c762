// Requests made of an OpenAPI document, valid ones and others, and what their responses have that the document does not.
import { createCheck } from '../answers.ts'
import { follow, type Part } from '../openapi.ts'
import { seeded } from '../random.ts'

/** Who asks, and which version of the api. */
export interface Fuzzed {
  readonly name: string
  /** The path of the version, such as `/v2`; empty without versions. */
  readonly root: string
  readonly headers: Readonly<Record<string, string>>
  /** The part of the requests that it sends. */
  readonly weight: number
  readonly ask: (path: string, init: RequestInit) => Promise<Response>
}

export interface Findings {
  readonly violations: string[]
  /** How many responses have each status. */
  readonly statuses: Record<number, number>
}

/** What no schema expects. */
const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  ' ',
  'a'.repeat(300),
  '\u0000',
  '\ud800',
  '\u{1F600}',
  '__proto__',
  '%',
  "'; --",
  '9'.repeat(40),
  '2024-02-30',
  '0001-01-01T00:00:00Z',
  [],
  [[]],
  [null],
  {},
  { a: 1 },
  { __proto__: null, constructor: 1 },
]

/** Sends as many requests, and reads the document anew for each principal. */
export async function fuzz(
  all: readonly Fuzzed[],
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<Findings> {
  const findings: Findings = { violations: [], statuses: {} }
  const random = seeded(seed)
  const weights = all.reduce((sum, { weight }) => sum + weight, 0)
  for (const fuzzed of all) {
    const maker = new RequestMaker(random)
    const { root, headers, ask } = fuzzed
    const document: Part = (await (await ask(`${root}/openapi.json`, { headers })).json()) as Part // JSON is made of such parts
    const check = createCheck([document])
    const some = Math.ceil((count * fuzzed.weight) / weights)
    for (let at = 0; at < some; at++) {
      const { method, path: target, init } = maker.make(document)
      const response = await ask(target, {
        ...init,
        method,
        headers: { ...headers, ...init.headers },
      })
      const text = method === 'HEAD' ? '' : await response.text()
      const { status } = response
      findings.statuses[status] = (findings.statuses[status] ?? 0) + 1
      const about = `${fuzzed.name} ${method} ${target} ${JSON.stringify(init)}`
      if (status >= 500) findings.violations.push(`${about}: ${status} ${text}`)
      maker.learn(text)
      const issue = check({ method, target, status, headers: response.headers, text })
      if (issue !== undefined) findings.violations.push(`${about}: ${issue}`)
    }
  }
  return findings
}

interface Made {
  readonly method: string
  readonly path: string
  readonly init: { headers?: Record<string, string>; body?: string }
}

const METHODS = ['get', 'query', 'post', 'put', 'patch', 'delete']

class RequestMaker {
  readonly #random: () => number
  /** Values that responses had, which later requests use: ids, tags. */
  readonly #known: unknown[] = ['1', '2']
  #document: Part | undefined
  /** How often a value does not fit its schema: in most requests each does. */
  #oddness = 0

  constructor(random: () => number) {
    this.#random = random
  }

  make(document: Part): Made {
    this.#document = document
    this.#oddness = this.#random() < 0.6 ? 0 : 0.06
    const [template, item] = this.#pick(Object.entries(document.paths ?? {}))
    const method = this.#pick(METHODS.filter(each => each in item))
    const operation = item[method] as Part
    let path = template.replace(/\{\w+\}/g, () => encodeURIComponent(this.#text(this.#id())))
    const headers: Record<string, string> = {}
    const query = new URLSearchParams()
    const parameters = [
      ...Object.values(item.parameters ?? {}),
      ...Object.values(operation.parameters ?? {}),
    ]
    for (const each of parameters) {
      const found = follow(document, each)
      const [name, place] = [String(found.name), String(found.in)]
      if (place === 'path' || this.#random() > 1 / parameters.length) continue
      if (place === 'header') {
        if (!/^(if-|idempotency|prefer)/i.test(name)) continue
        headers[name] = this.#text(this.#value(this.#schemaOf(found))).replace(/[^\x20-\x7e]/g, '')
      } else if (place === 'query') this.#addQuery(query, name, found)
    }
    const text = `${query}`
    if (text) path += `?${text}`
    const body = this.#body(follow(document, operation.requestBody ?? ({} as Part)))
    const accept =
      this.#random() < 0.1
        ? {
            accept: this.#pick([
              'text/csv',
              'application/xml',
              'text/html',
              'image/png',
              '*/*;q=0',
            ]),
          }
        : {}
    const isHead = method === 'get' && this.#random() < 0.05
    return {
      method: isHead ? 'HEAD' : method.toUpperCase(),
      path,
      init: {
        headers: { ...headers, ...accept, ...body.headers },
        ...(body.text !== undefined && { body: body.text }),
      },
    }
  }

  /** Remembers ids and tags of a response. */
  learn(text: string): void {
    for (const [, id] of text.matchAll(/"\w*id":(?:"([^"]{1,40})"|(?=\d))/g))
      if (id) this.#remember(id)
    for (const [, id] of text.matchAll(/"\w*id":(\d+)/g)) this.#remember(Number(id))
  }

  #remember(value: unknown): void {
    if (this.#known.includes(value)) return
    if (this.#known.length > 200) this.#known.splice(Math.floor(this.#random() * 200), 1)
    this.#known.push(value)
  }

  #pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T // none is empty
  }

  #id(): unknown {
    return this.#random() < 0.9 ? this.#pick(this.#known) : this.#pick(ODD)
  }

  #text(value: unknown): string {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    // A path has no empty segment, and a URL no half of a character.
    return text.toWellFormed() || '-'
  }

  #schemaOf(parameter: Part): Part {
    const [content] = Object.values(parameter.content ?? {})
    return parameter.schema ?? content?.schema ?? ({} as Part)
  }

  #addQuery(query: URLSearchParams, name: string, parameter: Part): void {
    const value = this.#value(this.#schemaOf(parameter))
    const isDeep = String(parameter.style) === 'deepObject'
    if (isDeep && typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value))
        query.append(`${name}[${key}]`, this.#text(each))
    else if (Array.isArray(value)) query.append(name, value.map(each => this.#text(each)).join(','))
    else query.append(name, this.#text(value))
  }

  #body({ content }: Part): { headers: Record<string, string>; text?: string } {
    if (!content) return { headers: {} }
    const types = Object.keys(content).filter(
      type => !/multipart|octet|image|csv|xml|ndjson/.test(type),
    )
    if (types.length === 0) return { headers: {} }
    const type = this.#pick(types)
    const value = this.#value(content[type]?.schema ?? ({} as Part))
    const headers = { 'content-type': this.#random() < this.#oddness ? 'text/plain' : type }
    const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
    const text = /urlencoded/.test(type)
      ? `${new URLSearchParams(Object.fromEntries(members.map(([name, each]) => [name, this.#text(each)])))}`
      : JSON.stringify(value)
    return { headers, text: this.#random() < this.#oddness ? text.slice(1) : text }
  }

  /** A value of a schema; now and then one that does not fit. */
  #value(schema: Part, level = 0): unknown {
    if (this.#random() < this.#oddness) {
      const odd = this.#pick(ODD)
      // Without a batch documents name arrays of items in their text alone.
      return level === 0 && Array.isArray(odd) ? {} : odd
    }
    const part = follow(this.#document as Part, schema)
    const keyword = part as unknown as Record<string, unknown> & Record<string, number | undefined>
    if ('const' in part) return part.const
    if (part.enum) return this.#pick(Object.values(part.enum))
    const options = Object.values(part.anyOf ?? part.oneOf ?? {})
    if (options.length > 0 && !part.properties) return this.#value(this.#pick(options), level + 1)
    if (part.properties || part.allOf) return this.#object(part, level)
    const types = [part.type ?? 'null'].flat() as unknown as string[]
    const random = this.#random()
    switch (this.#pick(types)) {
      case 'string':
        return this.#string(part, random)
      case 'integer':
      case 'number': {
        const least = keyword.minimum ?? 0
        const most = Math.min(keyword.maximum ?? least + 100, least + 1000)
        return Math.floor(least + random * (most - least + 1))
      }
      case 'boolean':
        return random < 0.5
      case 'array':
        return Array.from({ length: level > 4 ? 0 : Math.floor(random * 3) }, () =>
          this.#value(part.items ?? ({} as Part), level + 1),
        )
      case 'object':
        return level > 4
          ? {}
          : {
              [this.#pick(['a', 'b', 'x-y'])]: this.#value(
                (part.additionalProperties ?? {}) as Part,
                level + 1,
              ),
            }
      default:
        return null
    }
  }

  #object(part: Part, level: number): unknown {
    const parts = [part, ...Object.values(part.allOf ?? {})].map(each =>
      follow(this.#document as Part, each),
    )
    const needed = new Set(
      parts.flatMap(each => Object.values(each.required ?? {})),
    ) as unknown as Set<string>
    const members = parts
      .flatMap(each => Object.entries(each.properties ?? {}))
      .filter(
        ([name]) => this.#random() < (needed.has(name) ? 1 - this.#oddness : level > 4 ? 0 : 0.4),
      )
      .map(([name, member]) => [
        name,
        /_id$/.test(name) && this.#random() < 0.7
          ? this.#pick(this.#known)
          : this.#value(member, level + 1),
      ])
    if (this.#random() < this.#oddness)
      members.push([this.#pick(['id', 'unknown', '__proto__', 'where']), this.#pick(ODD)])
    return Object.fromEntries(members)
  }

  #string(part: Part, random: number): unknown {
    const keyword = part as unknown as Record<string, unknown>
    const [first] = Object.values(part.examples ?? {})
    if (first !== undefined && random < 0.8) return first
    const format = String(keyword.format ?? keyword.contentEncoding ?? '')
    const texts: Readonly<Record<string, string>> = {
      uuid: '01900000-0000-7000-8000-000000000000',
      email: `ann${Math.floor(random * 100)}@example.org`,
      uri: 'https://example.org/',
      date: '2026-01-31',
      'date-time': '2026-01-31T12:00:00Z',
      base64: 'aGVsbG8=',
    }
    if (texts[format] && random < 0.9) return texts[format]
    return random < 0.2
      ? this.#pick(this.#known)
      : this.#pick(['red', 'a b', 'Clio', 'AB-123-CD', 'x,y', '-created_at', 'é', 'xa', 'a\nb'])
  }
}
