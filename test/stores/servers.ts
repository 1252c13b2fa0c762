// Two processes of the example server on one database: what they share, and what survives.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseLink } from '../../src/rules/index.ts'
import { jsonOf, type Served } from '../examples/running.ts'

/** A database server, and a database of it that nobody else uses. */
export interface DatabaseServer {
  readonly url: string
  /** Whether it can be stopped: it is the tests' own. */
  readonly own: boolean
  /** As a loss of power: nothing is written any more, every connection is cut. */
  crash(): Promise<void>
  start(): Promise<void>
}

interface Model {
  readonly id: number
  readonly name: string
  readonly brand: string
}

/** What writers know of what they asked for. */
export interface Ledger {
  /** The names that were acknowledged. */
  readonly kept: Set<string>
  readonly statuses: Map<number, number>
}

/** What more tests of the two servers work with. */
export interface TwoServers {
  /** The address of a collection at one of the servers. */
  at(which: number, path: string): string
  /** Everything that they, and those before them, have printed. */
  output(): string
  /** Creates models, each under a key of its own, asking again until it is told or the end comes. */
  write(name: string, ledger: Ledger, going: () => boolean): Promise<void>
  /** Expects each model that was acknowledged, and none twice. */
  expectOnce(ledger: Ledger): Promise<void>
}

/** @param open starts a process on the database. */
export function twoServers(open: () => Promise<Served>): TwoServers {
  const started: Served[] = []
  const start = async () => {
    const server = await open()
    started.push(server)
    return server
  }
  let servers: [Served, Served]
  beforeAll(async () => {
    servers = await Promise.all([start(), start()])
  }, 240_000)
  afterAll(async () => {
    for (const server of servers ?? []) await server.ended('SIGTERM')
  }, 60_000)

  /** The address of a collection at one of the servers. */
  const at = (which: number, path: string) => `${servers[which % 2]?.root}${path}`

  function post(url: string, name: string, key?: string): Promise<Response> {
    const headers = { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ name, brand: 'test' }) })
  }

  /** All models of a brand, a page from each server in turn. */
  async function everything(brand: string): Promise<Model[]> {
    const found: Model[] = []
    let next: string | undefined = at(0, `models?brand=${brand}&limit=100`)
    for (let page = 0; next !== undefined; page++) {
      const url = new URL(next)
      const response = await fetch(new URL(url.pathname + url.search, at(page, '')))
      expect(response.status).toBeLessThan(300)
      found.push(...(await jsonOf<Model[]>(response)))
      const links = parseLink(response.headers.get('link') ?? '') ?? []
      next = links.find(({ rel }) => rel === 'next')?.href
    }
    return found
  }

  const output = () => started.map(server => server.output()).join('')

  test('If-Match has one winner across both', async () => {
    for (let round = 0; round < 10; round++) {
      const url = 'cars/1'
      const etag = (await fetch(at(round, url))).headers.get('etag') ?? ''
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, writer) =>
          fetch(at(writer, url), {
            method: 'PATCH',
            headers: { 'content-type': 'application/json', 'if-match': etag },
            body: JSON.stringify({ mileage: 100_000 + round * 16 + writer }),
            redirect: 'manual',
          }),
        ),
      )
      const statuses = answers.map(({ status }) => status).sort()
      expect(statuses).toEqual([200, ...Array.from({ length: 15 }, () => 412)])
    }
  })

  test('an Idempotency-Key is one key for both', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, which) => post(at(which, 'models'), 'once', 'one-key')),
    )
    const made = answers.filter(({ status }) => status === 201)
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    expect(
      new Set(made.map(({ headers }) => headers.get('location')?.split('/').at(-1))).size,
    ).toBe(1)
    const again = await post(at(1, 'models'), 'once', 'one-key')
    expect(again.status).toBe(201)
    expect((await post(at(0, 'models'), 'other', 'one-key')).status).toBe(422)
    const models = await everything('test')
    expect(models.filter(({ name }) => name === 'once')).toHaveLength(1)
  })

  test('of items with the same unique values one is created, whichever server is asked', async () => {
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, which) => post(at(which, 'models'), `one ${round}`)),
      )
      const statuses = answers.map(({ status }) => status).sort()
      expect(statuses).toEqual([201, ...Array.from({ length: 15 }, () => 409)])
    }
    const models = await everything('test')
    expect(models.filter(({ name }) => name.startsWith('one '))).toHaveLength(10)
  })

  test('pages go on at either server while both create and delete', async () => {
    const kept = new Set<number>()
    const create = async (which: number) => {
      const made = await jsonOf<Model>(await post(at(which, 'models'), `page ${which}`))
      if (which % 3) kept.add(made.id)
      else await fetch(at(which + 1, `models/${made.id}`), { method: 'DELETE' })
    }
    for (let which = 0; which < 120; which += 12) {
      await Promise.all(Array.from({ length: 12 }, (_, more) => create(which + more)))
    }
    let writing = true
    const writers = [0, 1].map(async which => {
      for (let more = 0; writing && more < 500; more++) await create(1000 + which)
    })
    const before = [...kept]
    const seen = (await everything('test')).map(({ id }) => id)
    writing = false
    await Promise.all(writers)
    expect(new Set(seen).size).toBe(seen.length)
    expect(before.filter(id => !seen.includes(id))).toEqual([])
  })

  async function write(name: string, ledger: Ledger, going: () => boolean) {
    for (let step = 0; going(); step++) {
      const model = `${name} ${step}`
      for (let tries = 0; going() || tries === 0; tries++) {
        const answer = await post(at(step + tries, 'models'), model, `key ${model}`).catch(
          () => undefined,
        )
        const status = answer?.status ?? 0
        ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1)
        if (status === 503) expect(answer?.headers.get('retry-after')).toMatch(/^\d+$/)
        await answer?.arrayBuffer().catch(() => undefined)
        if (status === 201) {
          ledger.kept.add(model)
          break
        }
        // A key whose first request was cut off is free again after ten seconds: go on with the next.
        if (status === 409) break
      }
    }
  }

  async function expectOnce(ledger: Ledger): Promise<void> {
    const names = (await everything('test')).map(({ name }) => name)
    expect(new Set(names.filter(name => / \d/.test(name) && !name.startsWith('page'))).size).toBe(
      names.filter(name => / \d/.test(name) && !name.startsWith('page')).length,
    )
    const there = new Set(names)
    expect([...ledger.kept].filter(name => !there.has(name))).toEqual([])
  }

  test('a server killed under writers: what it acknowledged stays, the other goes on', async () => {
    const ledger: Ledger = { kept: new Set(), statuses: new Map() }
    let writing = true
    const writers = Array.from({ length: 8 }, (_, each) =>
      write(`k.${each}`, ledger, () => writing),
    )
    while (ledger.kept.size < 40) await new Promise(resolve => setTimeout(resolve, 5))
    expect(await servers[1].ended('SIGKILL')).toBe('SIGKILL')
    const more = ledger.kept.size + 40
    while (ledger.kept.size < more) await new Promise(resolve => setTimeout(resolve, 5))
    writing = false
    await Promise.all(writers)
    servers[1] = await start()
    await expectOnce(ledger)
  }, 120_000)

  return { at, output, write, expectOnce }
}
