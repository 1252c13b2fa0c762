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

/** The ports of one process: an api that refuses while Redis is down, one that does not, and one with logins. */
interface Ports {
  readonly closed: number
  readonly open: number
  readonly login: number
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

  describe('logins that fail', () => {
    /** Logs in at a server, from an address of its own for each test. */
    async function logIn(at: number, address: string, password = 'wrong'): Promise<number> {
      const authorization = `Basic ${btoa(`ann:${password}`)}`
      const headers = { authorization, 'x-forwarded-for': address }
      const { status } = await fetch(`http://127.0.0.1:${nodes[at]?.login}/cars`, { headers })
      return status
    }

    /** Guesses at both servers by turns until both refuse. @returns how many guesses were verified. */
    async function guess(address: string): Promise<number> {
      let verified = 0
      for (let refused = 0, at = 0; refused < 2; at++) {
        const status = await logIn(at % 2, address)
        refused = status === 429 ? refused + 1 : 0
        if (status === 401) verified++
      }
      return verified
    }

    test('count together, by address: one more guess at the other server', async () => {
      expect(await guess('192.0.2.1')).toBe(LIMIT + 1)
      expect(await logIn(0, '192.0.2.1', 'right')).toBe(429)
      expect(await logIn(1, '192.0.2.2', 'right')).toBe(200)
      expect(await logIn(1, '192.0.2.2')).toBe(401)
    })

    test('sent together reach the limit of each server at most', async () => {
      const sent = Array.from({ length: 4 * LIMIT }, (_, at) => logIn(at % 2, '192.0.2.3'))
      const verified = (await Promise.all(sent)).filter(status => status === 401)
      expect(verified.length).toBeLessThanOrEqual(2 * LIMIT)
      expect(await guess('192.0.2.3')).toBe(0)
    })

    test('are counted by each server while Redis is down', async () => {
      await redis.stop()
      try {
        expect(await guess('192.0.2.4')).toBe(2 * LIMIT)
      } finally {
        await redis.start()
      }
    })
  })
})
