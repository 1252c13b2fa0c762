// One rate limit for several servers, counted in a real Redis, also while that is down.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasRedis, type RedisServer, redisServer } from './redis.ts'

// CI must have a redis-server.
const missing = !(await hasRedis())
if (missing && process.env.CI === 'true') throw new Error('There is no redis-server')
if (missing) console.warn('Skipped: there is no redis-server')

/** The ports of one process: an api that refuses while Redis is down, and one that does not. */
interface Ports {
  readonly closed: number
  readonly open: number
}

const LIMIT = 30

describe.skipIf(missing)('two servers and one Redis', () => {
  let redis: RedisServer
  let children: ChildProcess[] = []
  let nodes: Ports[]

  beforeAll(async () => {
    redis = await redisServer()
    await redis.start()
    const file = fileURLToPath(new URL('redis-node.ts', import.meta.url))
    const args = [String(redis.port), String(LIMIT)]
    children = [0, 1].map(() => fork(file, args, { execArgv: ['--import', 'tsx'] }))
    nodes = await Promise.all(children.map(async child => (await once(child, 'message'))[0]))
  })
  afterAll(async () => {
    for (const child of children) child.disconnect()
    redis?.thaw()
    await redis?.stop()
  })
  beforeEach(forget)

  /** Has Redis forget what was counted. */
  async function forget(): Promise<void> {
    const client = new Redis(redis.port)
    await client.flushall()
    client.disconnect()
  }

  const ask = (port: number) => fetch(`http://127.0.0.1:${port}/cars`)

  /** Asks each process twice the limit, both at once, half of it each api. */
  async function burst(): Promise<Response[]> {
    const ports = nodes.flatMap(({ closed, open }) => [closed, open])
    return Promise.all(
      Array.from({ length: 4 * LIMIT }, (_, at) => ask(ports[at % ports.length] ?? 0)),
    )
  }

  const remaining = (answer: Response) => answer.headers.get('x-ratelimit-remaining')

  async function expectOneLimit(): Promise<void> {
    const answers = await burst()
    const passed = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    expect([passed.length, refused.length]).toEqual([LIMIT, 3 * LIMIT])
    // Each request was counted once: no two were told the same.
    expect(passed.map(answer => Number(remaining(answer))).sort((a, b) => b - a)).toEqual(
      Array.from({ length: LIMIT }, (_, at) => LIMIT - 1 - at),
    )
    expect(new Set(refused.map(remaining))).toEqual(new Set(['0']))
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(500)
  }

  /** The declared behaviour, in both processes. */
  async function expectDown(): Promise<void> {
    for (const { closed, open } of nodes) {
      const refusal = await ask(closed)
      expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([503, '5'])
      const text = await refusal.text()
      expect(JSON.parse(text).errors).toMatchObject([{ code: 503, type: 'unavailable' }])
      expect(text).not.toMatch(/redis|connection|ECONN|127\.0\.0\.1/i)
      const passed = await ask(open)
      expect([passed.status, remaining(passed)]).toEqual([200, null])
    }
  }

  /** Both processes find Redis again by themselves, and share one limit as before. */
  async function expectRecovered(): Promise<void> {
    for (const { closed, open } of nodes) {
      const options = { timeout: 60_000, interval: 20 }
      await expect.poll(async () => (await ask(closed)).status, options).toBe(200)
      await expect.poll(async () => remaining(await ask(open)), options).not.toBeNull()
      await forget()
    }
    await expectOneLimit()
  }

  test('count together: a burst over both passes no more than the limit', expectOneLimit)

  test('Redis stops: closed is 503, open lets pass; Redis is back: they count together', async () => {
    await redis.stop()
    await expectDown()
    await redis.start()
    await expectRecovered()
  })

  test('Redis hangs: the same, and no request waits for it for long', async () => {
    redis.freeze()
    try {
      await expectDown()
    } finally {
      redis.thaw()
    }
    await expectRecovered()
  })
})
