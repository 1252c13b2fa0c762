// Field rules, row policies and requests at random.
import { z } from 'zod'
import type { AccessRule, Principal } from '../../src/index.ts'
import type { createRandom } from '../questions/trees.ts'
import type { Untyped } from '../untyped.ts'

export type Random = ReturnType<typeof createRandom>
type Rules = NonNullable<Untyped['fields']>

const NAMES = ['Clio', 'clio', 'Twingo', '', 'Zoé', '50%_\\', '=1+1', 'a,"b"\n', '\u{1F600}']
const DAYS = ['2024-02-29', '2025-01-01']

interface Property {
  readonly schema: z.ZodType
  /** The values that it may have. Without a value it is absent. */
  readonly values: readonly unknown[]
  readonly isNeeded?: true
}

export const PROPERTIES: Readonly<Record<string, Property>> = {
  nom: { schema: z.string().max(50), values: NAMES, isNeeded: true },
  memo: { schema: z.string().max(50).optional(), values: NAMES },
  plate: { schema: z.string().optional(), values: [] },
  cost: { schema: z.number().min(0).default(5), values: [0, 1, 2.5, 5] },
  rank: { schema: z.int().nullable().optional(), values: [null, 1, 2, 3] },
  sold: { schema: z.boolean().optional(), values: [true, false] },
  marks: { schema: z.array(z.string()).optional(), values: [[], ['new'], ['new', 'old']] },
  extra: {
    schema: z.object({ a: z.string(), b: z.int().optional() }).optional(),
    values: [{ a: 'x' }, { a: 'y', b: 1 }],
  },
  born: { schema: z.iso.date().optional(), values: DAYS },
  pay: { schema: z.number().nullable(), values: [null, 7, 8], isNeeded: true },
  crew: { schema: z.enum(['x', 'y']), values: ['x', 'y'], isNeeded: true },
}
const NAMES_OF_PROPERTIES = Object.keys(PROPERTIES)

export const SCOPES = ['a', 'b', 'c']
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
    else if (kind === 1 && /^(?:nom|memo)$/.test(name))
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

/** What a principal may do, in plain words. */
export interface Rights {
  /** What it may not read. */
  readonly hidden: ReadonlySet<string>
  readonly writable: ReadonlySet<string>
  /** What it may do nothing with. */
  readonly unknown: ReadonlySet<string>
}

export function listRights(roles: Rules, principal: Principal | undefined): Rights {
  const isHidden = (role: Rules[string] | undefined) =>
    role === 'writeOnly' || (typeof role === 'object' && !holds(role.read, principal))
  const isWritable = (role: Rules[string] | undefined) =>
    typeof role === 'object' ? !role.readOnly && holds(role.write, principal) : role !== 'readOnly'
  const select = (test: (role: Rules[string] | undefined) => boolean) =>
    new Set(NAMES_OF_PROPERTIES.filter(name => test(roles[name])))
  return {
    hidden: select(isHidden),
    writable: select(isWritable),
    unknown: select(role => isHidden(role) && !isWritable(role)),
  }
}

export type Options = Partial<Untyped> & { readonly policy: string | undefined }

export function makeOptions(random: Random): Options {
  const { below, pick } = random
  const fields = makeRoles(random)
  const chosen = pick([undefined, undefined, 'crew', 'sold'] as const)
  // No filter reaches what is write-only, not even a policy.
  const policy = chosen && fields[chosen] !== 'writeOnly' ? chosen : undefined
  const visible = (principal: Principal | undefined) =>
    policy === undefined || principal?.scopes?.includes('c')
      ? {}
      : { [policy]: policy === 'crew' ? 'x' : true }
  const isGroup = (name: string) => fields[name] !== 'writeOnly'
  return {
    fields,
    policy,
    ...(policy !== undefined && { visible }),
    ...(below(3) === 0 && { unique: pick([['plate'], [['plate', 'crew']]]) }),
    ...(below(3) === 0 && { sort: pick(['-rank', 'cost', 'nom', 'born', '-created_at']) }),
    ...(below(2) === 0 && { search: pick([['nom'], ['nom', 'memo'], ['memo', 'extra.a']]) }),
    ...(below(3) === 0 && { indexes: [pick(['rank', 'cost', 'memo', 'crew'])] }),
    ...(below(3) === 0 && { groups: ['sold', 'crew', 'rank', 'born'].filter(isGroup) }),
    ...(below(8) === 0 && { requirePrecondition: true }),
    access: {
      default: 'public',
      ...(below(4) === 0 && { create: ['a'] }),
      ...(below(6) === 0 && { read: ['b'], list: ['b'] }),
    },
  }
}

export function makeItem({ below, pick }: Random, at: number): Record<string, unknown> {
  const item: Record<string, unknown> = {}
  for (const [name, { values, isNeeded }] of Object.entries(PROPERTIES))
    if (isNeeded || below(3) > 0) item[name] = values.length > 0 ? pick(values) : `${name}${at}`
  return item
}

/** Other values for these properties. */
export function changeHidden(
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

export interface Sent {
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

/** @param prefix the relation that leads to the things. */
function makeQuery({ below, pick }: Random, prefix = ''): string {
  const property = pick([...NAMES_OF_PROPERTIES, 'extra.a', 'mem', 'id'])
  const name = prefix + property
  const value = () => {
    const values = PROPERTIES[property]?.values ?? ['x']
    return encodeURIComponent(String(values.length > 0 ? pick(values) : 'plate1'))
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
      `where=${encodeURIComponent(JSON.stringify({ or: [{ [name]: pick(PROPERTIES[property]?.values ?? ['x']) ?? 'x' }, { id: 1 }] }))}`,
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
    // A later operation is tried where the first one fits.
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
      `${JSON.stringify(value)}\n${JSON.stringify({ ...value, mem: 1 })}\n`,
    ]
  return ['application/json', JSON.stringify(value)]
}

/** What tells of the api: documents, pages, and errors that help. */
function makeLook({ below, pick }: Random): Pick<Sent, 'method' | 'path'> {
  if (below(3) === 0)
    return { method: 'OPTIONS', path: pick(['/', '/things', '/things/1', '/notes', '/notes/1']) }
  const path = pick([
    () => pick(['/', '/.well-known/api-catalog', '/notes', '/notes/1']),
    () => pick(['/openapi.json', '/openapi.json?formats=json', '/llms.txt', '/docs']),
    () => pick(['/docs?collection=things', '/docs?collection=notes', '/docs?q=list']),
    // Near what is hidden, and it itself: a suggestion would tell.
    () => pick(['/vault', '/vaulte', '/outbo', '/things/1/vault', '/things/1/outbo', '/thing']),
    () => `/notes?include=${pick(['strongroo', 'mailin', 'thing.outbo', 'thing.vault', 'x'])}`,
    () => `/things?include=${pick(['outbo', 'vault', 'x'])}`,
    () => `/notes?${pick(['strongroo.id', 'mailin.id', 'thing.outbo.id', 'strongroo'])}=1`,
    () => `/things/count?by=${pick(['cre', 'ran', 'sol', 'bor'])}`,
    () => `/things?${pick(['cre', 'ran', 'sol', 'bor', 'memoo', 'costt'])}=1`,
  ])
  return { method: 'GET', path: path() }
}

/** What names a hidden collection by its own words. */
export function makeGuess({ pick }: Random): Sent {
  const headers = { accept: pick(['application/json', 'text/html']) }
  const get = (path: string) => ({ method: 'GET', path, headers })
  const post = (path: string, value: unknown) => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  })
  const item = { vaultcode: 'x' }
  return pick([
    () => get(pick(['/vaults', '/vaults/1', '/vaults/count', '/vaults/search?q=x', '/vaults.csv'])),
    () => get(pick(['/outbox', '/outbox/1', '/things/1/outbox', '/docs?collection=outbox'])),
    () =>
      get(pick(['/docs?collection=vaults', '/notes?include=strongroom', '/notes?include=mailing'])),
    () =>
      get(pick(['/notes?strongroom.id=1', '/notes/1?include=thing.outbox', '/things?outbox.id=1'])),
    () => get('/notes?where={"strongroom":{"vaultcode":"x"}}'),
    () => ({ ...get('/vaults'), method: pick(['OPTIONS', 'DELETE', 'PUT']) }),
    () => post(pick(['/vaults', '/outbox', '/vaults/1']), item),
    () => post('/notes', { text: 'x', thing_id: 1, [pick(['strongroom', 'mailing'])]: { id: 1 } }),
    () =>
      post('/batch', [
        pick([
          { method: 'PUT', path: '/vaults', body: item },
          { method: 'POST', path: '/vaults', body: item, as: 'x y' },
          { method: 'GET', path: '/vaults?vaultcod=1' },
          { method: 'DELETE', path: '/outbox/1' },
        ]),
      ]),
    () =>
      post('/batch', [
        { method: 'POST', path: '/things', body: {}, as: 'o' },
        { method: 'POST', path: '/notes', body: { text: 'x', kept_id: '{o}' } },
      ]),
  ])()
}

/** What names a hidden item, by a reference or a deletion. */
function makeTouch({ below, pick }: Random): Pick<Sent, 'method' | 'path' | 'body'> {
  if (below(3) === 0) return { method: 'DELETE', path: `/things/${2 + below(2)}` }
  const note = { text: 'x', thing_id: 1, [pick(['kept_id', 'sent_id', 'thing_id'])]: 99 }
  const value = below(3) === 0 ? { ...note, [pick(['outbo', 'strongroo', 'mailin'])]: {} } : note
  if (below(2) === 0) return { method: 'POST', path: '/notes', body: JSON.stringify(value) }
  const step = pick([
    { method: 'POST', path: '/notes', body: value },
    { method: 'DELETE', path: `/things/${2 + below(2)}` },
    { method: 'POST', path: '/vault', body: {} },
  ])
  return { method: 'POST', path: '/batch', body: JSON.stringify([step]) }
}

export function makeRequest(random: Random, { hidden, writable }: Rights): Sent {
  const { below, pick } = random
  const id = 1 + below(5)
  const headers: Record<string, string> = { accept: pick(TYPES) }
  const read = pick([
    () => `/things${makeQuery(random)}`,
    () => `/things${makeQuery(random)}`,
    () => `/things/${id}${below(3) === 0 ? `?fields=${pick(NAMES_OF_PROPERTIES)}` : ''}`,
    () => `/things/count${makeQuery(random)}`,
    () =>
      `/things/count?by=${pick(['sold', 'crew', 'rank', 'born'])}&${pick(['sum', 'max'])}=${pick(['cost', 'pay', 'rank'])}`,
    () => `/things/search${makeQuery(random)}`,
    () =>
      `/notes?include=thing${below(2) === 0 ? `&fields=thing.${pick(NAMES_OF_PROPERTIES)}` : ''}`,
    () => `/notes/${id}?include=thing`,
    () => `/notes${makeQuery(random, 'thing.')}`,
  ])
  const condition = (header: string) =>
    below(3) === 0 ? { condition: [header, below(8)] as const } : {}
  const kind = below(10)
  if (kind < 4) return { method: 'GET', path: read(), headers, ...condition('If-None-Match') }
  if (kind === 4) return { ...makeLook(random), headers }
  if (kind === 9 && below(3) === 0)
    return { ...makeTouch(random), headers: { ...headers, 'content-type': 'application/json' } }
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
  if (below(6) === 0) value.mem = 1
  const secret = pick([...hidden, undefined])
  if (method === 'PATCH' && secret !== undefined && below(3) === 0) {
    const value = { [secret]: pick(['x', made[secret] ?? null]) }
    const [type, body] = printBody(random, method, value)
    return {
      method,
      path: `/things/${id}`,
      headers: { ...headers, 'content-type': type },
      body,
    }
  }
  const isMany = method === 'PATCH' && below(4) === 0
  const one = isMany ? `/things${makeQuery(random)}` : `/things/${id}`
  const path = method === 'POST' ? '/things' : one
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
