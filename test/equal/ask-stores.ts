// The same requests at random to the same apis on several stores, and what their answers differ in.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { APIS, type Served } from '../../bench/compare/apis.ts'
import { makeQuestion, randomFrom } from '../../bench/compare/requests.ts'
import * as dialects from '../../src/dialects/dialects.ts'
import type { Store } from '../../src/index.ts'
import * as library from '../../src/index.ts'
import { openShop } from './shop.ts'
import { makeShopQuestion, type Question } from './shop-requests.ts'

/** Opens the store of a collection of a new api. */
type OpenStore = (collection: string) => Store
type Random = ReturnType<typeof randomFrom>

interface Kind {
  readonly open: (openStore: OpenStore) => Served
  readonly make: (random: Random, filling: boolean) => Question
}

const compared = ([name, open]: [string, (typeof APIS)[string]]): Kind => ({
  open: openStore => open({ library, dialects, z, openStore, rateLimit: 1_000_000 }),
  make: (random, filling) => makeQuestion(random, name, filling),
})

const shop: Kind = { open: openShop, make: makeShopQuestion }

/** The shop has half of all requests. */
const KINDS = Object.entries(APIS).flatMap(each => [shop, compared(each)])

const FIRST_CREATES = 60

/** Of the clock: a window of the rate limit may end between two stores. An id of a request is a new one each time. */
const LEFT_OUT =
  /^(?:date|last-modified|server-timing|retry-after|ratelimit|x-ratelimit-.*|x-request-id)$/

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Of JSON its values. A table orders properties as its columns: see `docs/conventions.md`, Writing. */
  readonly body: unknown
}

/** An api on one store, and the words that it has used. */
class Side {
  readonly #api: Served
  readonly #uuids: string[] = []
  readonly #tags = new Map<string, string>()
  /** The ids of each collection, as they were created. */
  readonly #made = new Map<string, string[]>()
  #links: ReadonlyMap<string, string> = new Map()
  constructor(api: Served) {
    this.#api = api
  }

  /** @returns `undefined` for what no `Request` can say, or for a link that the last page did not have. */
  async ask({ method, target, headers, body }: Question): Promise<Answer | undefined> {
    const path = this.#say(target, target)
    const url = `http://cars.test${path}`
    if (path === undefined || !URL.canParse(url) || new URL(url).href !== url) return undefined
    if (method === 'TRACE') return undefined
    const text = body === undefined ? undefined : this.#say(body, path)
    const said = Object.entries(headers).map(([name, text]) => [
      name,
      this.#say(text, path) ?? text,
    ])
    const init = {
      method,
      headers: Object.fromEntries(said),
      ...(text !== undefined && { body: Buffer.from(text) }),
    }
    const response = await this.#api.fetch(new Request(url, init))
    const found = Buffer.from(await response.arrayBuffer()).toString('latin1')
    this.#learn(path, response.headers)
    // A batch prints tags into its body.
    const isBatch = path.endsWith('/batch')
    const kept = [...response.headers].filter(
      ([name]) => !LEFT_OUT.test(name) && !(isBatch && name === 'content-length'),
    )
    return {
      status: response.status,
      headers: Object.fromEntries(
        kept.map(([name, text]) => [name, this.#mask(maskHeader(name, text))]),
      ),
      body: readBody(response.headers.get('content-type') ?? '', this.#mask(found)),
    }
  }

  #say(text: string, target: string): string | undefined {
    const [, relation] = /^\{link:(\w+)\}$/.exec(text) ?? []
    if (relation !== undefined) return this.#links.get(relation)
    return text
      .replace(/\{uuid:(\d+)\}/g, (_all, place) => this.#uuids[Number(place) - 1] ?? 'no-uuid')
      .replace(/("?)\{made:(\w+):(\d+)\}\1/g, (_all, quote, name, place) => {
        const id = this.#made.get(name)?.at(-place) ?? '1'
        return /^\d+$/.test(id) ? id : `${quote}${id}${quote}`
      })
      .replaceAll('{tag}', this.#tags.get(pathOf(target)) ?? '"unknown"')
  }

  #learn(target: string, headers: Headers): void {
    const tag = headers.get('etag')
    if (tag !== null) this.#tags.set(pathOf(target), tag)
    const [, name, id = ''] = /\/(\w+)\/([^/?]+)$/.exec(headers.get('location') ?? '') ?? []
    if (name !== undefined) this.#made.set(name, [...(this.#made.get(name) ?? []), id])
    const links = headers.get('link') ?? ''
    if (links === '') return
    const each = links.matchAll(/<https?:\/\/[^/>]+([^>]*)>; rel="(\w+)"/g)
    this.#links = new Map([...each].map(([, path = '', relation = '']) => [relation, path]))
  }

  /** Puts UUIDs by their order, and dates near now, into words that all stores share; each as long as it was. */
  #mask(text: string): string {
    return text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, uuid => {
        if (!this.#uuids.includes(uuid)) this.#uuids.push(uuid)
        return `<uuid ${this.#uuids.indexOf(uuid) + 1}>`.padEnd(uuid.length)
      })
      .replace(/"etag":"[^}]*?",(?="body)/g, '"etag":"…",')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, date =>
        Math.abs(Date.now() - Date.parse(date)) < 3_600_000 ? '<now>'.padEnd(date.length) : date,
      )
  }

  close(): Promise<void> {
    return this.#api.close()
  }
}

function pathOf(target: string): string {
  return target.split('?')[0]?.replace(/\.\w+$/, '') ?? ''
}

function readBody(type: string, text: string): unknown {
  if (text === '') return ''
  if (/[/+]json\b/.test(type)) return JSON.parse(text)
  if (/ndjson\b/.test(type)) return text.split('\n').map(line => line && JSON.parse(line))
  return /xml\b/.test(type) ? text.split('<').sort() : text
}

function maskHeader(name: string, text: string): string {
  if (name === 'etag') return text.startsWith('W/') ? 'weak' : 'strong'
  return text.replace(/cursor=[^&>]*/g, 'cursor=…')
}

interface Found {
  readonly asked: number
  /** How many answers have a status. */
  readonly statuses: Readonly<Record<number, number>>
  /** What differs, with its request. */
  readonly differences: readonly string[]
}

interface Asking {
  readonly count: number
  readonly seed: number
  readonly size: number
  readonly onRound?: () => void
}

/**
 * Asks all stores the same: half of the requests go to a shop, the others to the apis of `bench/compare`.
 * @param open opens the store of a collection, by the name of the database.
 * @param size after how many requests each api is new and empty; `onRound` hears of each that has ended.
 */
export async function askStores(
  open: Readonly<Record<string, OpenStore>>,
  { count, seed, size, onRound }: Asking,
): Promise<Found> {
  const statuses: Record<number, number> = {}
  const differences: string[] = []
  let asked = 0
  for (let round = 0; asked < count; round++) {
    const { open: openApi, make } = KINDS[round % KINDS.length] ?? shop
    const random = randomFrom(seed * 100_003 + round)
    const sides = Object.entries(open).map(
      ([name, store]) => [name, new Side(openApi(store))] as const,
    )
    for (let at = 0; at < size && asked < count; at++) {
      const question = make(random, at < FIRST_CREATES)
      const answers: (readonly [name: string, answer: Answer | undefined])[] = []
      for (const [name, side] of sides) answers.push([name, await side.ask(question)])
      const [[, first]] = answers as [(typeof answers)[0]] // there is a store
      const others = answers.filter(([, answer]) => !isDeepStrictEqual(answer, first))
      if (others.length > 0) {
        differences.push(print(question, `${round}/${at}`, [answers[0], ...others]))
        // From here on they hold different items.
        break
      }
      if (!first) continue
      asked++
      statuses[first.status] = (statuses[first.status] ?? 0) + 1
    }
    await Promise.all(sides.map(([, side]) => side.close()))
    onRound?.()
  }
  return { asked, statuses, differences }
}

function print(question: Question, at: string, answers: readonly unknown[]): string {
  return [
    `${at} ${JSON.stringify(question)}`,
    ...answers.map(each => `  ${JSON.stringify(each)}`),
  ].join('\n')
}
