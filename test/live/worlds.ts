// Field rules, row policies, filters and writes at random, followed by principals whose rights, and whose policies, change
// meanwhile: nobody is sent an item or a property that he may not read, and each board is the list.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Awaitable } from '../../src/base/values.ts'
import { defineApi, HttpError, type Principal, type Scheme, type Store } from '../../src/index.ts'
import { createRandom } from '../questions/trees.ts'
import { defineUntyped } from '../untyped.ts'
import {
  listRights,
  makeItem,
  makeOptions,
  PROPERTIES,
  type Random,
  SCOPES,
} from '../views/random.ts'
import { Board } from './events.ts'

type Row = Readonly<Record<string, unknown>>

export interface TriedLive {
  /** Declarations that were refused. */
  refused: number
  tried: number
  /** How often the rights of a principal or the policy changed, and how often a stream was lost. */
  changed: number
  resumed: number
  /** Streams that were refused, as their lists were. */
  denied: number
  /** Items that were sent, and ids that were said to be gone. */
  items: number
  removed: number
}

export interface LiveOptions {
  readonly open: () => Awaitable<Store>
  /** Sets the clock of the streams on, in milliseconds. */
  readonly advance: (time: number) => void
  readonly seed: number
}

/** @throws Error with the first board that has what it may not have, or is not the list. */
export async function tryLive(cases: number, options: LiveOptions): Promise<TriedLive> {
  const random = createRandom(options.seed)
  const found = { refused: 0, tried: 0, changed: 0, resumed: 0, denied: 0, items: 0, removed: 0 }
  while (found.tried < cases) {
    try {
      await new Case(random, found, options).run()
      found.tried++
    } catch (error) {
      if (!(error instanceof TypeError) || !/^things: /.test(error.message)) throw error
      found.refused++
    }
  }
  return found
}

/** Of two principals, and of a client without one. */
const TOKENS = ['ann', 'bob', '']

/** One that follows a list. */
interface Watcher {
  readonly token: string
  readonly query: string
  readonly board: Board
  /** The events that were looked at. */
  seen: number
  isFollowing: boolean
}

class Case {
  readonly #random: Random
  readonly #found: TriedLive
  readonly #options: LiveOptions
  readonly #declared: ReturnType<typeof makeOptions>
  readonly #principals = new Map<string, Principal>()
  /** What a row policy compares with. */
  readonly #policies: Record<string, unknown> = { crew: 'x', sold: true }
  /** All that items have been. */
  readonly #past: Row[] = []
  /** Items that each principal could see by its rights of some moment, as they were then or had been before; by its token. */
  readonly #visible = new Map(TOKENS.map(token => [token, new Set<unknown>()]))
  /** What each item has been since rights changed last. */
  readonly #states = new Map<number, (Row | undefined)[]>()

  constructor(random: Random, found: TriedLive, options: LiveOptions) {
    this.#random = random
    this.#found = found
    this.#options = options
    this.#declared = makeOptions(random)
    for (const token of ['ann', 'bob']) this.#principals.set(token, this.#drawPrincipal(token))
  }

  async run(): Promise<void> {
    const { api, things } = await this.#open()
    const { below, pick } = this.#random
    const ask = (path: string, token: string, headers = {}, signal?: AbortSignal) => {
      const all = token === '' ? headers : { ...headers, Authorization: `Test ${token}` }
      return api.fetch(
        new Request(`https://api.example${path}`, { headers: all, signal: signal ?? null }),
      )
    }
    const watchers: Watcher[] = ['ann', 'ann', 'bob', ''].map(token => {
      const query = this.#drawQuery()
      return { token, query, board: new Board(), seen: 0, isFollowing: false }
    })
    const follow = async (each: Watcher) => {
      const { token, query, board } = each
      const open = (headers: object, signal: AbortSignal) =>
        ask(`/things?${query}`, token, headers, signal)
      const { status, ok } = await board.connect(open)
      each.isFollowing = ok
      const list = await ask(`/things?${query}&limit=100`, token)
      if (list.status !== status) throw this.#fail(`${status} in place of ${list.status}`, each)
      if (!ok) this.#found.denied++
    }
    const settle = async () => {
      for (const each of watchers) {
        if (!each.isFollowing) continue
        const { token, query, board } = each
        const isList = async () => {
          const list = await ask(`/things?${query}&limit=100`, token)
          const expected = list.ok ? await list.json() : []
          const has = [...board.items.values()].toSorted((a, b) => Number(a.id) - Number(b.id))
          const same = isDeepStrictEqual(
            has,
            (expected as Row[]).toSorted((a, b) => Number(a.id) - Number(b.id)),
          )
          return same && (board.isReady || !list.ok)
        }
        await board.until(isList, 5000).catch(error => {
          throw this.#fail(error.message, each)
        })
      }
      for (let pass = 0; pass < 3; pass++) await new Promise(resolve => setImmediate(resolve))
      for (const each of watchers) this.#look(each)
    }
    const write = () => this.#write(things)
    for (let at = 0; at < 4; at++) await write()
    for (const each of watchers) await follow(each)
    for (let round = 0; round < 4; round++) {
      await settle()
      const way = below(4)
      const watcher = pick(watchers)
      if (way === 0) {
        await watcher.board.disconnect()
        watcher.isFollowing = false
        this.#found.resumed++
      } else if (way === 1) {
        this.#changeRights()
        this.#options.advance(31_000)
        await settle()
      }
      for (let count = below(5); count > 0; count--) await write()
      for (const each of watchers) {
        const isOver = each.isFollowing && !(await isOpen(each.board))
        if (!each.isFollowing || isOver) await follow(each)
      }
    }
    await settle()
    for (const { board } of watchers) await board.disconnect()
    await api.close()
  }

  async #open() {
    const { policy, ...declared } = this.#declared
    const isFree = (principal?: Principal) => principal?.scopes?.includes('c')
    const things = defineUntyped({
      name: 'things',
      schema: z.object(
        Object.fromEntries(Object.entries(PROPERTIES).map(([name, { schema }]) => [name, schema])),
      ),
      id: 'integer',
      ...declared,
      store: await this.#options.open(),
      ...(policy !== undefined && {
        visible: (principal?: Principal) =>
          isFree(principal) ? {} : { [policy]: this.#policies[policy] },
      }),
      live: true,
    })
    const scheme: Scheme = {
      name: 'Test',
      challenge: () => 'Test',
      authenticate: async ({ headers: { authorization = '' } }) =>
        this.#principals.get(authorization.slice(5)),
    }
    const api = defineApi({
      collections: [things],
      schemes: [scheme],
      access: { default: 'public', root: 'public' },
    })
    await api.open()
    return { api, things: api.asSystem().collection('things') }
  }

  #drawPrincipal(id: string): Principal {
    return { id, scopes: SCOPES.filter(() => this.#random.below(2) === 0) }
  }

  #drawQuery(): string {
    const { below, pick } = this.#random
    const names = Object.keys(PROPERTIES)
    const drawValue = (name: string) =>
      encodeURIComponent(String(pick(PROPERTIES[name]?.values ?? ['x']) ?? 'x'))
    const parts: string[] = []
    const name = pick(names)
    const operator = pick(['', '', '[ne]', '[gt]', '[in]', '[exists]'])
    if (below(2) === 0)
      parts.push(`${name}${operator}=${operator === '[exists]' ? 'true' : drawValue(name)}`)
    if (below(4) === 0) parts.push(`fields=id,${pick(names)}`)
    return parts.join('&')
  }

  #changeRights(): void {
    const { below, pick } = this.#random
    this.#found.changed++
    if (below(2) === 0) {
      const token = pick(['ann', 'bob'])
      this.#principals.set(token, this.#drawPrincipal(token))
    } else {
      this.#policies.crew = pick(['x', 'y'])
      this.#policies.sold = below(2) === 0
    }
    for (const [id, states] of this.#states) {
      this.#states.set(id, states.slice(-1))
    }
    for (const state of this.#past) this.#noteVisible(state)
  }

  /** Creates an item, or changes or deletes one. */
  async #write(things: Writable): Promise<void> {
    const { below, pick } = this.#random
    const ids = [...this.#states.keys()].filter(id => this.#states.get(id)?.at(-1) !== undefined)
    const way = ids.length === 0 ? 0 : below(4)
    const id = pick(ids)
    const item = makeItem(this.#random, 100 + below(1e6))
    try {
      if (way === 0) this.#note(await things.create(item))
      else if (way === 1) {
        await things.delete(id)
        this.#states.get(id)?.push(undefined)
      } else this.#note(await things.patch(id, item))
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
    }
  }

  #note(item: Row): void {
    const id = Number(item.id)
    this.#states.set(id, [...(this.#states.get(id) ?? []), item])
    this.#past.push(item)
    this.#noteVisible(item)
  }

  #noteVisible(state: Row): void {
    for (const [token, ids] of this.#visible) if (this.#isVisible(state, token)) ids.add(state.id)
  }

  #isVisible(state: Row | undefined, token: string): boolean {
    const { policy } = this.#declared
    if (!state || policy === undefined) return state !== undefined
    const isFree = this.#principals.get(token)?.scopes?.includes('c') === true
    return isFree || state[policy] === this.#policies[policy]
  }

  /** Looks at the events that have come since. */
  #look(watcher: Watcher): void {
    const { token, board } = watcher
    const { hidden } = listRights(this.#declared.fields ?? {}, this.#principals.get(token))
    const events = board.events.slice(watcher.seen)
    watcher.seen = board.events.length
    for (const { event, data } of events) {
      if (event === 'items')
        for (const item of data as Row[]) {
          this.#found.items++
          const shown = Object.keys(item).find(name => hidden.has(name))
          if (shown !== undefined) throw this.#fail(`${shown} was sent`, watcher)
          const was = (this.#states.get(Number(item.id)) ?? []).filter(state =>
            this.#isVisible(state, token),
          )
          const isSent = (state: Row | undefined) =>
            Object.entries(item).every(([name, value]) => isDeepStrictEqual(state?.[name], value))
          if (!was.some(isSent)) throw this.#fail(`${JSON.stringify(item)} was sent`, watcher)
        }
      if (event === 'removed')
        for (const id of data as unknown[]) {
          this.#found.removed++
          if (!this.#visible.get(token)?.has(id))
            throw this.#fail(`${id} was said to be gone`, watcher)
        }
    }
  }

  #fail(what: string, { token, query, board }: Watcher): Error {
    const told = {
      ...{ options: this.#declared, principal: this.#principals.get(token), query },
      ...{ policies: this.#policies, events: board.events.slice(-6) },
    }
    return new Error(`${what}: ${JSON.stringify(told)}`)
  }
}

/** The resource of a collection whose type is drawn. */
interface Writable {
  create(item: object): Promise<Row>
  patch(id: number, item: object): Promise<Row>
  delete(id: number): Promise<unknown>
}

/** Whether a stream goes on. */
async function isOpen({ ended }: Board): Promise<boolean> {
  return (
    (await Promise.race([
      ended?.then(() => 'over'),
      new Promise(resolve => setImmediate(resolve)),
    ])) !== 'over'
  )
}
