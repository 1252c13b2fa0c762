// Field rules, row policies and requests at random. Each runs in two worlds, which differ only in what its principal
// may not read: every answer must be the same in both, byte for byte.
import { z } from 'zod'
import type { Awaitable } from '../../src/base/values.ts'
import { html } from '../../src/html/index.ts'
import {
  type AccessRule,
  type Api,
  defineApi,
  type Item,
  type Principal,
  type Scheme,
  type Store,
} from '../../src/index.ts'
import { createRandom } from '../questions/trees.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'

type Random = ReturnType<typeof createRandom>
type Rules = NonNullable<Untyped['fields']>

const NAMES = ['Clio', 'clio', 'Twingo', '', 'Zoé', '50%_\\', '=1+1', 'a,"b"\n', '\u{1F600}']
const DAYS = ['2024-02-29', '2025-01-01']

interface Property {
  readonly schema: z.ZodType
  /** The values that it may have. Without a value it is absent. */
  readonly values: readonly unknown[]
  readonly isNeeded?: true
}

const PROPERTIES: Readonly<Record<string, Property>> = {
  name: { schema: z.string().max(50), values: NAMES, isNeeded: true },
  note: { schema: z.string().max(50).optional(), values: NAMES },
  code: { schema: z.string().optional(), values: [] },
  price: { schema: z.number().min(0).default(5), values: [0, 1, 2.5, 5] },
  rank: { schema: z.int().nullable().optional(), values: [null, 1, 2, 3] },
  sold: { schema: z.boolean().optional(), values: [true, false] },
  tags: { schema: z.array(z.string()).optional(), values: [[], ['new'], ['new', 'old']] },
  meta: {
    schema: z.object({ a: z.string(), b: z.int().optional() }).optional(),
    values: [{ a: 'x' }, { a: 'y', b: 1 }],
  },
  day: { schema: z.iso.date().optional(), values: DAYS },
  pay: { schema: z.number().nullable(), values: [null, 7, 8], isNeeded: true },
  team: { schema: z.enum(['x', 'y']), values: ['x', 'y'], isNeeded: true },
}
const NAMES_OF_PROPERTIES = Object.keys(PROPERTIES)

const SCOPES = ['a', 'b', 'c']
const RULES: readonly AccessRule[] = [
  ['a'],
  ['a'],
  ['b'],
  ['c'],
  ['a', 'b'],
  { any: ['a', 'b'] },
  { any: ['b', 'c'] },
  [],
  'public',
]

function makeRoles({ below, pick, maybe }: Random): Rules {
  const roles: Record<string, unknown> = {}
  for (const name of NAMES_OF_PROPERTIES) {
    const kind = below(8)
    const read = pick(RULES)
    if (kind === 0) roles[name] = pick(['readOnly', 'writeOnly', 'immutable'])
    else if (kind > 2 && PROPERTIES[name]?.isNeeded) roles[name] = { read }
    else if (kind === 1 && /^(?:name|note)$/.test(name))
      roles[name] = { readOnly: () => 'Clio', ...(below(2) === 0 && { read }) }
    else if (kind === 2) roles[name] = { read }
    else if (kind === 3) roles[name] = { write: read }
    else if (kind > 5) roles[name] = { read, write: maybe(read) ?? pick(RULES) }
  }
  return roles as Rules
}

function holds(rule: AccessRule = 'public', principal: Principal | undefined): boolean {
  if (rule === 'public') return true
  if (!principal) return false
  const has = (scope: string) => principal.scopes?.includes(scope) === true
  return 'any' in rule ? rule.any.some(has) : rule.every(has)
}

/** Says in plain words which properties a principal may not read. */
function listHidden(roles: Rules, principal: Principal | undefined): Set<string> {
  const isHidden = ([, role]: readonly [string, Rules[string]]) =>
    role === 'writeOnly' || (typeof role === 'object' && !holds(role.read, principal))
  return new Set(
    Object.entries(roles)
      .filter(isHidden)
      .map(([name]) => name),
  )
}

function listWritable(roles: Rules, principal: Principal | undefined): Set<string> {
  const isWritable = (name: string) => {
    const role = roles[name]
    if (typeof role === 'object') return !role.readOnly && holds(role.write, principal)
    return role !== 'readOnly'
  }
  return new Set(NAMES_OF_PROPERTIES.filter(isWritable))
}

const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) => {
    const [id, ...scopes] = headers.authorization?.split(' ').slice(1) ?? []
    return id === undefined ? undefined : { id, scopes }
  },
}

type Options = Partial<Untyped> & { readonly policy: string | undefined }

function makeOptions(random: Random): Options {
  const { below, pick } = random
  const fields = makeRoles(random)
  const chosen = pick([undefined, undefined, 'team', 'sold'] as const)
  // No filter reaches what is write-only, not even a policy.
  const policy = chosen && fields[chosen] !== 'writeOnly' ? chosen : undefined
  const visible = (principal: Principal | undefined) =>
    policy === undefined || principal?.scopes?.includes('c')
      ? {}
      : { [policy]: policy === 'team' ? 'x' : true }
  return {
    fields,
    policy,
    ...(policy !== undefined && { visible }),
    ...(below(3) === 0 && { unique: pick([['code'], [['code', 'team']]]) }),
    ...(below(3) === 0 && { sort: pick(['-rank', 'price', 'name', 'day', '-created_at']) }),
    ...(below(2) === 0 && { search: pick([['name'], ['name', 'note'], ['note', 'meta.a']]) }),
    ...(below(3) === 0 && { indexes: [pick(['rank', 'price', 'note', 'team'])] }),
    ...(below(8) === 0 && { requirePrecondition: true }),
    access: {
      default: 'public',
      ...(below(4) === 0 && { create: ['a'] }),
      ...(below(6) === 0 && { read: ['b'], list: ['b'] }),
    },
  }
}

/** One of two worlds. */
interface World {
  readonly api: Api
  /** The tags that it has sent to the principal, in their order. */
  readonly tags: string[]
}

/** Opens a store whose items have these times. */
export type OpenStore = (clock: () => number) => Awaitable<Store>

async function openWorld(
  { policy: _policy, ...options }: Options,
  openStore: OpenStore,
): Promise<World> {
  let now = Date.UTC(2026, 0, 1)
  const things = defineUntyped({
    name: 'things',
    schema: z.object(
      Object.fromEntries(Object.entries(PROPERTIES).map(([name, { schema }]) => [name, schema])),
    ),
    id: 'integer',
    store: await openStore(() => (now += 1000)),
    actions: {
      copy: { on: 'item', run: ({ item }) => ({ ...item, copied: true }) },
      give: { on: 'item', output: 'item', run: ({ item }) => item },
      touch: { on: 'item', run: ({ update }) => update({ rank: 9 }) },
      again: {
        on: 'item',
        run: async ({ id = '', collection }) => ({ ...(await collection('things').read(id)) }),
      },
    },
    ...options,
  })
  const api = defineApi({
    collections: [things],
    pages: html,
    schemes: [scheme],
    access: { default: 'public', root: 'public' },
    baseUrl: 'https://api.example',
    batch: true,
  })
  return { api, tags: [] }
}

function makeItem({ below, pick }: Random, at: number): Record<string, unknown> {
  const item: Record<string, unknown> = {}
  for (const [name, { values, isNeeded }] of Object.entries(PROPERTIES))
    if (isNeeded || below(3) > 0) item[name] = values.length > 0 ? pick(values) : `${name}${at}`
  return item
}

/** Other values for these properties. */
function changeHidden(
  item: Readonly<Record<string, unknown>>,
  hidden: ReadonlySet<string>,
  random: Random,
  at: number,
): Record<string, unknown> {
  const other = makeItem(random, at + 100)
  const kept = Object.entries(item).filter(([name]) => !hidden.has(name))
  return Object.fromEntries([
    ...kept,
    ...Object.entries(other).filter(([name]) => hidden.has(name)),
  ])
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** A header that has a tag of an earlier answer. */
  readonly condition?: readonly [header: string, at: number]
}

const TYPES = [
  'application/json',
  'application/json',
  'application/xml',
  'text/csv',
  'application/x-ndjson',
  'text/html',
]

function makeQuery({ below, pick }: Random): string {
  const name = pick([...NAMES_OF_PROPERTIES, 'meta.a', 'nme', 'id'])
  const value = () => {
    const values = PROPERTIES[name]?.values ?? ['x']
    return encodeURIComponent(String(values.length > 0 ? pick(values) : 'code1'))
  }
  const parts = [
    () => `${name}=${value()}`,
    () => `${name}[${pick(['ne', 'gt', 'lte', 'like', 'exists', 'in'])}]=${value()}`,
    () => `sort=${pick(['', '-'])}${name}`,
    () => `fields=${name},id`,
    () => `limit=${1 + below(3)}`,
    () => `offset=${below(3)}`,
    () => `q=${encodeURIComponent(pick(NAMES))}`,
    () =>
      `where=${encodeURIComponent(JSON.stringify({ or: [{ [name]: pick(PROPERTIES[name]?.values ?? ['x']) ?? 'x' }, { id: 1 }] }))}`,
  ]
  const query = Array.from({ length: below(4) }, () => pick(parts)()).join('&')
  return query === '' ? '' : `?${query}`
}

function printXml(value: unknown): string {
  if (Array.isArray(value)) return value.map(each => `<item>${printXml(each)}</item>`).join('')
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([name, each]) => `<${name}>${printXml(each)}</${name}>`)
      .join('')
  return String(value).replace(/[&<>]/g, sign => `&#${sign.charCodeAt(0)};`)
}

/** Prints a body in one of the formats that take it. */
function printBody(
  random: Random,
  method: string,
  value: Readonly<Record<string, unknown>>,
): readonly [type: string, body: string] {
  const { below, pick } = random
  const kind = below(8)
  if (method === 'PATCH' && kind < 3) {
    const operations = Object.entries(value).map(([name, each]) => {
      const path = `/${name}${pick(['', '', '', '/0', '/a'])}`
      const op = pick(['add', 'replace', 'remove', 'test', 'copy', 'move'])
      const from = `/${pick(NAMES_OF_PROPERTIES)}`
      return op === 'copy' || op === 'move' ? { op, from, path } : { op, path, value: each }
    })
    const whole = below(12) === 0 ? [{ op: 'test', path: '', value: {} }] : []
    return ['application/json-patch+json', JSON.stringify([...whole, ...operations])]
  }
  if (kind === 3) {
    const pairs = Object.entries(value).flatMap(([name, each]): [string, string][] =>
      Array.isArray(each)
        ? each.map(one => [`${name}[]`, String(one)])
        : typeof each === 'object' && each !== null
          ? Object.entries(each).map(([below, one]) => [`${name}.${below}`, String(one)])
          : [[name, each === null ? '' : String(each)]],
    )
    return ['application/x-www-form-urlencoded', new URLSearchParams(pairs).toString()]
  }
  if (kind === 4) return ['application/xml', `<thing>${printXml(value)}</thing>`]
  if (method === 'POST' && kind === 5) {
    const cell = (each: unknown) =>
      each === null
        ? ''
        : `"${String(typeof each === 'object' ? JSON.stringify(each) : each).replaceAll('"', '""')}"`
    return [
      'text/csv',
      `${Object.keys(value).join(',')}\r\n${Object.values(value).map(cell).join(',')}\r\n`,
    ]
  }
  if (method === 'POST' && kind === 6)
    return [
      'application/x-ndjson',
      `${JSON.stringify(value)}\n${JSON.stringify({ ...value, nme: 1 })}\n`,
    ]
  return ['application/json', JSON.stringify(value)]
}

function makeRequest(random: Random, writable: ReadonlySet<string>): Sent {
  const { below, pick } = random
  const id = 1 + below(5)
  const headers: Record<string, string> = { accept: pick(TYPES) }
  const read = pick([
    () => `/things${makeQuery(random)}`,
    () => `/things${makeQuery(random)}`,
    () => `/things/${id}${below(3) === 0 ? `?fields=${pick(NAMES_OF_PROPERTIES)}` : ''}`,
    () => `/things/count${makeQuery(random)}`,
    () => `/things/search${makeQuery(random)}`,
  ])
  const condition = (header: string) =>
    below(3) === 0 ? { condition: [header, below(8)] as const } : {}
  const kind = below(10)
  if (kind < 4) return { method: 'GET', path: read(), headers, ...condition('If-None-Match') }
  if (kind === 4) {
    const path = pick(['/things', '/things/1', '/openapi.json'])
    return { method: path === '/openapi.json' ? 'GET' : 'OPTIONS', path, headers }
  }
  if (below(3) === 0)
    headers.prefer = pick(['return=representation', 'return=minimal', 'tx=rollback'])
  if (below(4) === 0) headers['idempotency-key'] = `"${below(3)}"`
  if (kind === 5) {
    const method = pick(['DELETE', 'POST', 'POST'])
    const action = method === 'POST' ? `/${pick(['copy', 'give', 'touch', 'again'])}` : ''
    return { method, path: `/things/${id}${action}`, headers, ...condition('If-Match') }
  }
  const method = pick(['PATCH', 'PATCH', 'PUT', 'POST'])
  const made = makeItem(random, below(4))
  // Most writes name what may be written alone: the others end early.
  const named = Object.entries(made).filter(
    ([name]) => below(method === 'PATCH' ? 3 : 20) === 0 || writable.has(name),
  )
  const value = Object.fromEntries(method === 'PATCH' ? named.slice(0, 1 + below(3)) : named)
  if (below(6) === 0) value.nme = 1
  const path = method === 'POST' ? '/things' : `/things/${id}`
  if (below(6) === 0) {
    const steps = [
      { method, path, body: value },
      { method: 'GET', path: '/things' },
    ]
    headers['content-type'] = 'application/json'
    return { method: 'POST', path: '/batch', headers, body: JSON.stringify(steps) }
  }
  const [type, body] = printBody(random, method, value)
  headers['content-type'] = type
  return { method, path, headers, body, ...condition('If-Match') }
}

/** Prints an answer, each tag by its number: the versions of two stores differ. */
async function ask(
  { api, tags }: World,
  principal: Principal | undefined,
  sent: Sent,
): Promise<string> {
  const headers = new Headers(sent.headers)
  if (principal)
    headers.set('Authorization', ['Test', principal.id, ...(principal.scopes ?? [])].join(' '))
  if (sent.condition) {
    const [header, at] = sent.condition
    headers.set(header, tags.at(-at) ?? '"none"')
  }
  const init = { method: sent.method, headers, ...(sent.body !== undefined && { body: sent.body }) }
  const answer = await api.fetch(new Request(`https://api.example${sent.path}`, init))
  const text = await answer.text()
  const number = (tag: string) => {
    if (!tags.includes(tag)) tags.push(tag)
    return `<tag ${tags.indexOf(tag)}>`
  }
  const lines = [`${answer.status}`]
  // Tags have no fixed length.
  for (const [name, value] of answer.headers)
    if (name !== 'content-length') lines.push(`${name}: ${name === 'etag' ? number(value) : value}`)
  const body = text
    .replace(/"etag":"\\"(.*?)\\""/g, (_, tag: string) => `"etag":${number(`"${tag}"`)}`)
    .replace(/name="_if_match" value="(.*?)"/g, (_, tag: string) => number(`"${tag}"`))
  return [...lines, body].join('\n')
}

export interface Tried {
  /** Declarations that were refused. */
  refused: number
  tried: number
  /** Those in which something was hidden from the principal. */
  hiding: number
  requests: number
  /** Requests that name what is hidden, in their query or their body. */
  naming: number
  /** Requests whose key somebody has used before who sees everything. */
  repeats: number
  /** How many requests had each status. */
  readonly statuses: Record<string, number>
}

/** @throws Error with the first request whose answers differ. */
export async function tryViews(cases: number, openStore: OpenStore, seed = 1): Promise<Tried> {
  const random = createRandom(seed)
  const found: Tried = {
    refused: 0,
    tried: 0,
    hiding: 0,
    requests: 0,
    naming: 0,
    repeats: 0,
    statuses: {},
  }
  while (found.tried < cases) {
    const options = makeOptions(random)
    const scopes = SCOPES.filter(() => random.below(2) === 0)
    const principal = random.below(5) === 0 ? undefined : { id: 'ann', scopes }
    try {
      await tryCase(random, options, principal, openStore, found)
      found.tried++
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      if (!/^things: /.test(error.message)) throw error
      found.refused++
    }
  }
  return found
}

async function tryCase(
  random: Random,
  options: Options,
  principal: Principal | undefined,
  openStore: OpenStore,
  found: Tried,
): Promise<void> {
  const { fields = {}, policy = '' } = options
  const hidden = listHidden(fields, principal)
  // What a row policy compares decides what is seen: it is the same in both worlds.
  const differing = new Set([...hidden].filter(name => name !== policy))
  const worlds = [await openWorld(options, openStore), await openWorld(options, openStore)]
  for (let at = 0; at < 4; at++) {
    const item = makeItem(random, at)
    const other = changeHidden(item, differing, random, at)
    for (const [number, { api }] of worlds.entries())
      await api
        .asSystem()
        .collection('things')
        .create(number === 0 ? item : other)
  }
  const writable = listWritable(fields, principal)
  let previous: Sent | undefined
  for (let count = 0; count < 12; count++) {
    const last = previous
    const again = last?.method === 'GET' && random.below(4) === 0
    const sent: Sent = again
      ? { ...last, condition: ['If-None-Match', 1] }
      : makeRequest(random, writable)
    previous = sent
    // A key belongs to its principal, whatever scopes it has by then.
    const repeats = principal && !options.unique && isRepeatable(sent) && random.below(2) === 0
    if (repeats)
      for (const { api } of worlds)
        await ask({ api, tags: [] }, { id: principal.id, scopes: SCOPES }, sent)
    const [one = '', other] = await Promise.all(worlds.map(world => ask(world, principal, sent)))
    found.requests++
    if (repeats) found.repeats++
    const words = `${sent.path} ${sent.body ?? ''}`.split(/\W+/)
    if (words.some(word => hidden.has(word))) found.naming++
    const status = one.slice(0, 3)
    found.statuses[status] = (found.statuses[status] ?? 0) + 1
    const shown = findShown(one, hidden, sent)
    if (one !== other || status >= '500' || shown !== undefined) {
      const told = JSON.stringify({ options, principal, hidden: [...hidden], sent })
      throw new Error(
        `${shown ?? 'A hidden value'} is told: ${told}\n${one}\n--- but ---\n${other}`,
      )
    }
  }
  if (hidden.size > 0) found.hiding++
  for (const { api } of worlds) await requireShown(api, principal, hidden)
}

/** Whether a write does the same whatever is hidden. */
function isRepeatable({ method, path, headers, condition, body = '' }: Sent): boolean {
  const isPlain = /^(?:PUT|POST|DELETE)$/.test(method) && !/touch$/.test(path)
  return (
    isPlain && !condition && headers['idempotency-key'] !== undefined && !body.includes('PATCH')
  )
}

/** Finds a hidden property that an answer names. Documents name what may be written alone; errors what was sent. */
function findShown(
  answer: string,
  hidden: ReadonlySet<string>,
  { path, method }: Sent,
): string | undefined {
  if (!answer.startsWith('2') || method === 'OPTIONS' || path === '/openapi.json') return undefined
  const [, body = ''] = answer.split(/\n(?![a-z-]+: )/s)
  const isPage = answer.includes('text/html')
  const [columns = ''] = answer.includes('text/csv') ? body.split('\n') : []
  return [...hidden].find(name =>
    isPage
      ? new RegExp(`>${name}(?:\\.\\w+)?</`).test(body)
      : new RegExp(`"${name}":|<${name}[ />]`).test(body) || columns.split(/[,.]/).includes(name),
  )
}

/** An item as JSON is what is stored, without what is hidden: and nothing else is left out. */
async function requireShown(
  api: Api,
  principal: Principal | undefined,
  hidden: ReadonlySet<string>,
): Promise<void> {
  const headers = new Headers()
  if (principal)
    headers.set('Authorization', ['Test', principal.id, ...(principal.scopes ?? [])].join(' '))
  for await (const item of api.asSystem().collection('things').list()) {
    const answer = await api.fetch(
      new Request(`https://api.example/things/${item.id}`, { headers }),
    )
    if (answer.status !== 200) continue
    const shown: Item = Object(await answer.json())
    const names = Object.keys(shown).sort().join()
    // Write-only properties of an item are no part of its copies.
    const stored = Object.getOwnPropertyNames(item)
    const expected = stored.filter(name => !hidden.has(name)).sort()
    if (names !== expected.join()) throw new Error(`${names} is shown in place of ${expected}`)
  }
}
