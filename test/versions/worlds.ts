// Requests at random through both versions of an api, whose hooks write an audit that only one of them has.
import { z } from 'zod'
import type { Awaitable } from '../../src/base/values.ts'
import { defineApi, defineCollection, type OperationEvent, type Store } from '../../src/index.ts'
import { FILTER_OPERATIONS, OPERATIONS } from '../../src/model/types/operation.ts'
import { createRandom, type Random } from '../questions/trees.ts'

const READS = ['list', 'count', 'read', 'search']

/** Opens the store of a collection. */
type OpenStore = (name: string) => Awaitable<Store>

async function openWorld(openStore: OpenStore) {
  const audit = defineCollection({
    name: 'audit',
    schema: z.object({ what: z.string() }),
    store: await openStore('audit'),
    operations: ['list', 'count'],
  })
  /** Cars write the audit in the transaction of the change, by its declaration; parts after it, by its name. */
  const book =
    (wanted: typeof audit | 'audit') =>
    async ({ operation, collectionName, collection }: OperationEvent) => {
      if (READS.includes(operation)) return
      const what = `${operation} ${collectionName}`
      // A name alone says nothing of the types.
      const resource = collection(wanted as typeof audit)
      await resource.create({ what })
    }
  const Thing = z.object({ color: z.enum(['red', 'blue']), n: z.int() })
  const more = Thing.extend({ doors: z.int().default(5) })
  const options = {
    operations: [...OPERATIONS, ...FILTER_OPERATIONS],
    actions: { touch: { on: 'item', run: () => undefined } },
    id: 'integer',
  } as const
  const cars = {
    ...options,
    name: 'cars',
    store: await openStore('cars'),
    hooks: { transaction: true, after: book(audit) },
  } as const
  const parts = {
    ...options,
    name: 'parts',
    store: await openStore('parts'),
    hooks: { after: book('audit') },
  } as const
  const failures: unknown[] = []
  const api = defineApi({
    batch: true,
    onError: error => void failures.push(error),
    versions: [
      {
        version: 1,
        collections: [
          defineCollection({ ...cars, schema: Thing }),
          defineCollection({ ...parts, schema: Thing }),
        ],
      },
      {
        version: 2,
        collections: [
          defineCollection({ ...cars, schema: more }),
          defineCollection({ ...parts, schema: more }),
          audit,
        ],
      },
    ],
  })
  return { api, audit, failures }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A request, and how many items it writes if it succeeds. */
type Attempt = Sent & { readonly writes: number | 'count' }

function makeAttempt({ below, pick }: Random, at: number): Attempt {
  const name = pick(['cars', 'parts'])
  const root = `/v${pick([1, 2])}`
  const list = `${root}/${name}`
  const item = `${list}/${1 + below(30)}`
  // One in eight is invalid; the number makes each change one.
  const make = (n = at) => ({ color: below(8) === 0 ? 'plaid' : pick(['red', 'blue']), n })
  const filtered = `${list}?n[lt]=${below(at + 1)}&color=${pick(['red', 'blue'])}`
  const headers = pick([{}, {}, { prefer: 'tx=rollback' }])
  const isTried = 'prefer' in headers
  switch (below(11)) {
    case 0:
      return { method: 'GET', path: pick([list, item, filtered]), writes: 0 }
    case 1:
    case 2:
      return { method: 'POST', path: list, body: make(), headers, writes: isTried ? 0 : 1 }
    case 3: {
      const body = Array.from({ length: 1 + below(4) }, () => make())
      return { method: 'POST', path: list, body, headers, writes: isTried ? 0 : body.length }
    }
    case 4:
      return { method: 'PUT', path: item, body: make(), headers, writes: isTried ? 0 : 1 }
    case 5:
    case 6:
      return { method: 'PATCH', path: item, body: { n: at }, headers, writes: isTried ? 0 : 1 }
    case 7:
      return { method: 'DELETE', path: item, headers, writes: isTried ? 0 : 1 }
    case 8:
      return { method: 'POST', path: `${item}/touch`, writes: 1 }
    case 9: {
      const method = pick(['PATCH', 'DELETE'])
      const most = { prefer: 'max-affected=5' }
      return { method, path: filtered, body: { n: -at }, headers: most, writes: 'count' }
    }
    default: {
      const steps = [1, 2].map(n => ({ method: 'POST', path: `/${name}`, body: make(at * n) }))
      return {
        method: 'POST',
        path: `${root}/batch`,
        body: steps,
        headers,
        writes: isTried ? 0 : 2,
      }
    }
  }
}

/**
 * Sends random requests, of which one in five twice with a key.
 * @returns what was answered by status, how many items were written, how many rows the audit has, and what failed.
 */
export async function tryVersions(count: number, openStore: OpenStore, seed: number) {
  const random = createRandom(seed)
  const { api, audit, failures } = await openWorld(openStore)
  const statuses: Record<number, number> = {}
  let writes = 0
  const send = async ({ method, path, headers, body }: Sent) => {
    const url = `http://api.test${path}`
    const init = body === undefined || method === 'GET' ? {} : { body: JSON.stringify(body) }
    const type = { 'content-type': 'application/json' }
    const request = new Request(url, { method, headers: { ...type, ...headers }, ...init })
    const answer = await api.fetch(request)
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    return { isDone: answer.status < 400, json: Object(await answer.json().catch(() => ({}))) }
  }
  for (let at = 1; at <= count; at++) {
    const { writes: most, ...sent } = makeAttempt(random, at)
    const keyed = sent.method !== 'GET' && most !== 0 && random.below(5) === 0
    const headers = keyed ? { ...sent.headers, 'idempotency-key': `"key-${at}"` } : sent.headers
    const { isDone, json } = await send({ ...sent, ...(headers && { headers }) })
    if (keyed) await send({ ...sent, headers: { ...headers } })
    if (isDone) writes += most === 'count' ? json.count : most
  }
  const rows = await api.versions.v2.collection(audit).count()
  await api.close()
  return { statuses, writes, rows, failures }
}
