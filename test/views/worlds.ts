// Each case runs in two worlds, which differ only in what its principal may not read: every answer must be the same in
// both, byte for byte.
import { z } from 'zod'
import type { Awaitable } from '../../src/base/values.ts'
import { html } from '../../src/html/index.ts'
import { type Api, defineApi, type Item, type Principal, type Store } from '../../src/index.ts'
import { OPERATIONS } from '../../src/model/types/operation.ts'
import { createRandom } from '../questions/trees.ts'
import { scopedScheme } from '../scoped-scheme.ts'
import { defineUntyped } from '../untyped.ts'
import {
  changeHidden,
  listRights,
  makeGuess,
  makeItem,
  makeOptions,
  makeRequest,
  type Options,
  PROPERTIES,
  type Random,
  type Rights,
  SCOPES,
  type Sent,
} from './random.ts'

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
    operations: [...OPERATIONS, 'patchMany'],
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
  const notes = defineUntyped({
    name: 'notes',
    schema: z.object({
      text: z.string(),
      thing_id: z.int(),
      kept_id: z.int().optional(),
      sent_id: z.int().optional(),
    }),
    id: 'integer',
    store: await openStore(() => (now += 1000)),
    references: {
      thing_id: 'things',
      kept_id: { collection: 'vaults', as: 'strongroom' },
      sent_id: { collection: 'outbox', as: 'mailing' },
    },
  })
  // What hides that it exists from all who lack the scope, and what no request reaches.
  const vaults = defineUntyped({
    name: 'vaults',
    itemName: 'safebox',
    schema: z.object({ vaultcode: z.string().max(50), thing_id: z.int().optional() }),
    id: 'integer',
    operations: ['list', 'read', 'create', 'delete'],
    store: await openStore(() => (now += 1000)),
    references: { thing_id: 'things' },
    search: ['vaultcode'],
    access: { default: ['v'], replace: 'public' },
    hideExistence: true,
  })
  const outbox = defineUntyped({
    name: 'outbox',
    itemName: 'lettercopy',
    schema: z.object({ mailbody: z.string(), thing_id: z.int() }),
    id: 'integer',
    operations: [],
    store: await openStore(() => (now += 1000)),
    parents: { thing_id: 'things' },
  })
  const api = defineApi({
    collections: [things, notes, vaults, outbox],
    pages: html,
    schemes: [scopedScheme],
    access: { default: 'public', root: 'public' },
    baseUrl: 'https://api.example',
    batch: true,
  })
  return { api, tags: [] }
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
    .replace(/ETag: &quot;(.*?)&quot;/g, (_, tag: string) => number(`"${tag}"`))
    // A new one in each form.
    .replace(/name="_idempotency_key" value=".*?"/g, '')
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
    const scopes = [...SCOPES, 'v'].filter(() => random.below(2) === 0)
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
  const rights = listRights(fields, principal)
  const { hidden, unknown } = rights
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
  for (const { api } of worlds)
    for (const thing_id of [1, 1, 2, 3])
      await api.asSystem().collection('notes').create({ text: 'x', thing_id })
  for (const { api } of worlds) {
    await api.asSystem().collection('vaults').create({ vaultcode: 'x', thing_id: 3 })
    await api.asSystem().collection('outbox').create({ mailbody: 'x', thing_id: 2 })
  }
  let previous: Sent | undefined
  let isAlone = true
  const before = await listItems(worlds[0])
  for (let count = 0; count < 12; count++) {
    const last = previous
    const again = last?.method === 'GET' && random.below(4) === 0
    const sent: Sent = again
      ? { ...last, condition: ['If-None-Match', 1] }
      : makeRequest(random, rights)
    previous = sent
    // A program may change everything.
    if (sent.path.endsWith('touch')) isAlone = false
    // A key belongs to its principal, whatever scopes it has by then.
    const repeats = principal && !options.unique && isRepeatable(sent) && random.below(2) === 0
    if (repeats) {
      isAlone = false
      for (const { api } of worlds)
        await ask({ api, tags: [] }, { id: principal.id, scopes: SCOPES }, sent)
    }
    const [one = '', other] = await Promise.all(worlds.map(world => ask(world, principal, sent)))
    found.requests++
    if (repeats) found.repeats++
    const words = `${sent.path} ${sent.body ?? ''}`.split(/\W+/)
    if (words.some(word => hidden.has(word))) found.naming++
    const status = one.slice(0, 3)
    found.statuses[status] = (found.statuses[status] ?? 0) + 1
    const shown = findShown(one, rights, sent) ?? findNamed(one, principal, sent)
    if (one !== other || status >= '500' || shown !== undefined) {
      const told = JSON.stringify({ options, principal, hidden: [...hidden], sent })
      throw new Error(
        `${shown ?? 'A hidden value'} is told: ${told}\n${one}\n--- but ---\n${other}`,
      )
    }
  }
  for (const world of worlds) await requireUnknown(world, principal, random)
  if (hidden.size > 0) found.hiding++
  for (const { api } of worlds) await requireShown(api, principal, hidden)
  if (isAlone) requireKept(unknown, before, await listItems(worlds[0]))
}

async function listItems(world: World | undefined): Promise<readonly Item[]> {
  const items = await world?.api.asSystem().collection('things').list().toArray()
  // The values of a resource are JSON.
  return (items ?? []) as readonly Item[]
}

/** What a principal can neither read nor write stays as it was. */
function requireKept(
  unknown: ReadonlySet<string>,
  before: readonly Item[],
  after: readonly Item[],
): void {
  for (const item of after) {
    const old = before.find(({ id }) => id === item.id)
    for (const name of old ? unknown : [])
      if (JSON.stringify(old?.[name]) !== JSON.stringify(item[name]))
        throw new Error(`${name} of item ${item.id} was changed`)
  }
}

/** Whether a write does the same whatever is hidden. */
function isRepeatable({ method, path, headers, condition, body = '' }: Sent): boolean {
  const isPlain = /^(?:PUT|POST|DELETE)$/.test(method) && !/touch$/.test(path)
  return (
    isPlain && !condition && headers['idempotency-key'] !== undefined && !body.includes('PATCH')
  )
}

/** Finds a hidden property that an answer tells of: by its name, or by an issue that others do not get. */
function findShown(
  answer: string,
  { hidden, unknown }: Rights,
  { path, method, body: sent = '' }: Sent,
): string | undefined {
  const named = `${path} ${sent}`
  const known = [...unknown].find(
    name =>
      // To name it is an issue, as it is to name what is in no schema.
      new RegExp(`"field":"(?:\\d+\\.)?${name}[".][^{}]*"type":"(?!unknown_field)`).test(answer) ||
      (!named.includes(name) && new RegExp(`\\b${name}\\b`).test(answer)),
  )
  // Documents and forms have what may be written alone.
  const isDescription = method === 'OPTIONS' || /^\/(?:openapi|llms|docs)/.test(path)
  if (known !== undefined || !answer.startsWith('2') || isDescription) return known
  const [, body = ''] = answer.split(/\n(?![a-z-]+: )/s)
  const isPage = answer.includes('text/html')
  const [columns = ''] = answer.includes('text/csv') ? body.split('\n') : []
  return [...hidden].find(name =>
    isPage
      ? new RegExp(`>${name}(?:\\.\\w+)?</`).test(body)
      : new RegExp(`"${name}":|<${name}[ />]`).test(body) || columns.split(/[,.]/).includes(name),
  )
}

/** The words by which the two collections can be known: their names, and those of their items, properties and relations. */
const KEPT = {
  vaults: ['vaults', 'safebox', 'vaultcode', 'strongroom'],
  outbox: ['outbox', 'lettercopy', 'mailbody', 'mailing'],
}

/** A guess at a hidden collection is answered as any other word. */
async function requireUnknown(
  world: World,
  principal: Principal | undefined,
  random: Random,
): Promise<void> {
  const sent = makeGuess(random)
  const { path, body = '' } = sent
  const words = listKept(principal).filter(word => `${path} ${body}`.includes(word))
  if (words.length === 0) return
  const disguise = (text: string) =>
    words.reduce((rest, word) => rest.replaceAll(word, word.replace(/./g, 'q')), text)
  const other = { ...sent, path: disguise(path), ...(body !== '' && { body: disguise(body) }) }
  const answer = await ask(world, principal, sent)
  const named = findNamed(answer, principal, sent)
  const isAlike = disguise(answer) === (await ask(world, principal, other))
  // Who has not signed in yet is asked to, which tells that there is something.
  const unlike = isAlike || !principal ? undefined : 'It exists'
  if (named ?? unlike)
    throw new Error(`${named ?? unlike}: ${JSON.stringify({ principal, sent })}\n${answer}`)
}

/** Finds a word of a collection that the client may not know of, and has not said itself. */
function findNamed(
  answer: string,
  principal: Principal | undefined,
  { path, body = '' }: Sent,
): string | undefined {
  const said = `${path} ${body}`
  return listKept(principal).find(
    word => !said.includes(word) && answer.toLowerCase().includes(word),
  )
}

function listKept(principal: Principal | undefined): readonly string[] {
  return [...(principal?.scopes?.includes('v') ? [] : KEPT.vaults), ...KEPT.outbox]
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
