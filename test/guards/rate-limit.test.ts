// Rate limits (promise 20): kept under a burst, reported correctly, one for each client.
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { addressKey } from '../../src/auth/client-key.ts'
import { WindowCounter } from '../../src/auth/window-counter.ts'
import { basic, type Limiter, type Policies, type RateLimitOptions } from '../../src/index.ts'
import { example } from '../fixture.ts'
import { fetchChecked } from '../handlers.ts'

beforeEach(() => {
  // Only the clocks stand still: what waits goes on.
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.parse('2026-01-01T00:00:00.250Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

function limited(rateLimit: RateLimitOptions, more: Policies = {}) {
  const { api } = example({
    baseUrl: 'https://api.example',
    rateLimit,
    onError: () => undefined,
    ...more,
  })
  return (path = '/cars', { method = 'GET', ...headers }: Record<string, string> = {}) =>
    fetchChecked(
      api,
      new Request(`https://api.example${path}`, {
        method,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      }),
    )
}

const header = (name: string) => (answer: Response) => answer.headers.get(name)

describe('one policy', () => {
  test('every response has what is left; over the limit it is 429', async () => {
    const ask = limited({ policies: [{ limit: 3, window: 60 }] })
    const answers = [await ask(), await ask('/nothing'), await ask('/cars?limit=x'), await ask()]
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 429])
    expect(answers.map(header('x-ratelimit-limit'))).toEqual(['3', '3', '3', '3'])
    expect(answers.map(header('x-ratelimit-remaining'))).toEqual(['2', '1', '0', '0'])
    const reset = Date.parse('2026-01-01T00:01:01Z') / 1000
    expect(answers.map(header('x-ratelimit-reset'))).toEqual(Array(4).fill(String(reset)))
    expect(answers.map(header('ratelimit-policy'))).toEqual(Array(4).fill('"3/60";q=3;w=60'))
    expect(answers.map(header('ratelimit'))).toEqual(
      [2, 1, 0, 0].map(left => `"3/60";r=${left};t=60`),
    )
    expect(answers.map(header('retry-after'))).toEqual([null, null, null, '60'])
    const [error] = Object(await answers[3]?.json()).errors
    expect(error).toMatchObject({ code: 429, type: 'too_many_requests' })
    expect(answers[3]?.headers.get('access-control-expose-headers')).toBe('*')

    vi.advanceTimersByTime(59_999)
    expect((await ask()).status).toBe(429)
    vi.advanceTimersByTime(1)
    const fresh = await ask()
    expect([fresh.status, header('x-ratelimit-remaining')(fresh)]).toEqual([200, '2'])
  })

  test('a clock that is set back an hour locks nobody out', async () => {
    const ask = limited({ policies: [{ limit: 1, window: 60 }] })
    await ask()
    vi.setSystemTime(Date.now() - 3_600_000)
    const refused = await ask()
    expect([refused.status, header('retry-after')(refused)]).toEqual([429, '60'])
    // By the clock that the client sees by now.
    const reset = Math.ceil((Date.now() + 60_000) / 1000)
    expect(header('x-ratelimit-reset')(refused)).toBe(String(reset))
    vi.advanceTimersByTime(60_000)
    expect((await ask()).status).toBe(200)
  })

  test.each([
    ['a target that is too long', `/${'x'.repeat(9000)}`, {}, 414],
    ['a query that cannot be read', '/cars?%zz', {}, 400],
    ['a method that is not there', '/cars', { method: 'DELETE' }, 405],
    ['an answer that nobody takes', '/cars', { accept: 'x/y' }, 406],
  ])('%s counts', async (_, path, headers, status) => {
    const ask = limited({ policies: [{ limit: 2, window: 60 }] })
    const answers = [await ask(path, headers), await ask(path, headers), await ask(path, headers)]
    expect(answers.map(answer => answer.status)).toEqual([status, status, 429])
    expect(answers.map(header('x-ratelimit-remaining'))).toEqual(['1', '0', '0'])
  })

  test('its code can be suppressed', async () => {
    const ask = limited({ policies: [{ limit: 1, window: 60 }] })
    await ask()
    const answer = await ask('/cars?suppress_error_codes')
    expect([
      answer.status,
      Object(await answer.json()).errors[0].code,
      header('retry-after')(answer),
    ]).toEqual([200, 429, '60'])
  })

  test('of a burst of four times the limit no more than the limit passes', async () => {
    const ask = limited({ policies: [{ limit: 50, window: 60 }] })
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(150)
  })

  test('the reset can be printed as ISO 8601', async () => {
    const ask = limited({ policies: [{ limit: 3, window: 60 }], reset: 'iso' })
    expect(header('x-ratelimit-reset')(await ask())).toBe('2026-01-01T00:01:00.250Z')
  })
})

describe('several policies', () => {
  test('the tightest is reported, all are listed, and the short one does not use up the long one', async () => {
    const ask = limited({
      policies: [
        { name: 'day', limit: 5, window: 86_400 },
        { name: 'burst', limit: 2, window: 1 },
      ],
    })
    const first = await ask()
    expect(header('ratelimit-policy')(first)).toBe('"burst";q=2;w=1, "day";q=5;w=86400')
    expect(header('ratelimit')(first)).toBe('"burst";r=1;t=1, "day";r=4;t=86400')
    expect(header('x-ratelimit-limit')(first)).toBe('2')
    await ask()
    for (let at = 0; at < 10; at++) expect((await ask()).status).toBe(429)
    vi.advanceTimersByTime(1000)
    expect(header('ratelimit')(await ask())).toBe('"burst";r=1;t=1, "day";r=2;t=86399')
    await ask()
    vi.advanceTimersByTime(1000)
    await ask()
    const over = await ask()
    expect([over.status, header('retry-after')(over), header('x-ratelimit-limit')(over)]).toEqual([
      429,
      '86398',
      '5',
    ])
  })

  test.each([
    [3, 100, '3', '2'],
    [100, 3, '3', '2'],
  ])(
    'of %i in 10 s and %i in 60 s the one with less left is told',
    async (short, long, limit, left) => {
      const policies = [
        { limit: long, window: 60 },
        { limit: short, window: 10 },
      ]
      const answer = await limited({ policies })()
      expect(header('x-ratelimit-limit')(answer)).toBe(limit)
      expect(header('x-ratelimit-remaining')(answer)).toBe(left)
    },
  )

  test('reads and writes are counted apart, by the effective method', async () => {
    const ask = limited({
      policies: [
        { on: 'reads', limit: 3, window: 60 },
        { on: 'writes', limit: 1, window: 60 },
      ],
    })
    const json = { 'content-type': 'application/json' }
    expect((await ask('/cars', { method: 'POST', ...json })).status).toBe(400)
    expect((await ask('/cars', { method: 'POST', ...json })).status).toBe(429)
    expect((await ask('/cars')).status).toBe(200)
    expect((await ask('/cars')).status).toBe(200)
    expect((await ask('/cars', { method: 'OPTIONS' })).status).toBe(200)
    expect((await ask('/cars')).status).toBe(429)
  })

  test('a preflight counts for no limit, and is answered over it too', async () => {
    const ask = limited({ policies: [{ limit: 1, window: 60 }] })
    const preflight = {
      method: 'OPTIONS',
      origin: 'https://app.example',
      'access-control-request-method': 'PATCH',
    }
    for (const path of ['/cars', '/nothing', '/cars/count'])
      expect((await ask(path, preflight)).status).toBe(204)
    expect((await ask('/cars', { method: 'OPTIONS', origin: 'https://app.example' })).status).toBe(
      200,
    )
    expect((await ask()).status).toBe(429)
    expect((await ask('/cars', preflight)).status).toBe(204)
  })

  test.each([
    [{ policies: [] }],
    [{ policies: [{ limit: 0, window: 1 }] }],
    [{ policies: [{ limit: 1.5, window: 1 }] }],
    [{ policies: [{ limit: 1, window: 0 }] }],
    [
      {
        policies: [
          { limit: 1, window: 1 },
          { limit: 1, window: 1 },
        ],
      },
    ],
    [{ policies: [{ name: 'a"b', limit: 1, window: 1 }] }],
    [{ policies: [{ limit: 1, window: 1 }], whenDown: 'maybe' }],
    [{ policies: [{ limit: 1, window: 1 }], timeout: 0 }],
    [{ policies: [{ limiter: { consume: () => undefined, points: 0, duration: 1 } }] }],
    [{ policies: [{ limiter: { consume: () => undefined, points: 1, duration: 0 } }] }],
  ])('%j is a TypeError', options => {
    // Wrong on purpose.
    expect(() => limited(options as RateLimitOptions)).toThrow(TypeError)
  })
})

describe('clients', () => {
  const verify = (user: string, password: string) => (password === 'x' ? { id: user } : undefined)
  const as = (user: string, password = 'x') => ({
    authorization: `Basic ${btoa(`${user}:${password}`)}`,
  })
  const rateLimit = { policies: [{ limit: 2, window: 60 }] }

  test('a principal has one limit for all addresses', async () => {
    const ask = limited(rateLimit, { schemes: [basic({ verify })], trustProxy: 1 })
    const from = (address: string) => ({ ...as('ann'), 'x-forwarded-for': address })
    const answers = [
      await ask('/cars', from('1.1.1.1')),
      await ask('/cars', from('2.2.2.2')),
      await ask('/cars', from('3.3.3.3')),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect((await ask('/cars', { ...as('bob'), 'x-forwarded-for': '1.1.1.1' })).status).toBe(200)
  })

  test('a request with an unknown cookie counts for its address', async () => {
    const ask = limited(
      { policies: [{ limit: 2, window: 60 }] },
      {
        schemes: [
          {
            name: 'Cookie',
            challenge: () => 'Cookie',
            authenticate: async ({ headers }) =>
              headers.cookie === 'a=b' ? { id: 'ann' } : undefined,
          },
        ],
      },
    )
    const statuses: number[] = []
    for (const cookie of ['a=b', 'a=b', 'x=y', 'x=y', 'x=y', 'a=b']) {
      statuses.push((await ask('/cars', { cookie })).status)
    }
    expect(statuses).toEqual([200, 200, 401, 401, 429, 429])
  })

  test('wrong credentials count for the address, and end in 429', async () => {
    const ask = limited(rateLimit, { schemes: [basic({ verify })], trustProxy: 1 })
    const from = (address: string, user: string, password?: string) =>
      ask('/cars', { ...as(user, password), 'x-forwarded-for': address })
    const guesses = []
    for (const user of ['a', 'b', 'c', 'd'])
      guesses.push((await from('1.1.1.1', user, 'wrong')).status)
    expect(guesses).toEqual([401, 401, 429, 429])
    // Even the right one is not looked at any more; from elsewhere it is.
    expect((await from('1.1.1.1', 'ann')).status).toBe(429)
    expect((await from('2.2.2.2', 'ann')).status).toBe(200)
    // A clock that is set back does not lock it out for longer.
    vi.setSystemTime(Date.now() - 3_600_000)
    vi.advanceTimersByTime(60_000)
    expect((await from('1.1.1.1', 'ann')).status).toBe(200)
  })

  describe('through fetch, without a connection', () => {
    const schemes = [basic({ verify })]

    test('failed logins do not count without an address', async () => {
      const ask = limited(rateLimit, { schemes })
      for (let at = 0; at < 4; at++) await ask('/cars', as('ann', 'wrong'))
      expect((await ask('/cars', as('ann'))).status).toBe(200)
    })

    test('clientAddress reads the request and its further arguments', async () => {
      const { api } = example({
        rateLimit,
        schemes,
        onError: () => undefined,
        clientAddress: (_request, env: { address?: string | null }) => env.address,
      })
      const statuses = async (address: string | null | undefined, password: string) => {
        const request = () =>
          new Request('https://api.example/cars', { headers: as('ann', password) })
        const answers = [await api.fetch(request(), { address })]
        for (let at = 0; at < 2; at++) answers.push(await api.fetch(request(), { address }))
        return answers.map(({ status }) => status)
      }
      const anonymous = await api.fetch(new Request('https://api.example/cars'), {
        address: '3.3.3.3',
      })
      expect(anonymous.status).toBe(401)
      expect(await statuses('1.1.1.1', 'wrong')).toEqual([401, 401, 429])
      expect(await statuses('2001:db8::1', 'wrong')).toEqual([401, 401, 429])
      // Nothing else is an address: these three have what is left for all who have none.
      expect(await statuses('127.0.0.1, 1.1.1.1', 'wrong')).toEqual([401, 401, 429])
      expect(await statuses(null, 'wrong')).toEqual([429, 429, 429])
      expect(await statuses(undefined, 'x')).toEqual([200, 200, 429])
    })

    test('X-Forwarded-For of a trusted proxy comes first', async () => {
      const ask = limited(rateLimit, { trustProxy: 1, clientAddress: () => '1.1.1.1' })
      const left = async (address: string) =>
        header('x-ratelimit-remaining')(await ask('/cars', { 'x-forwarded-for': address }))
      expect([await left('2.2.2.2'), await left('3.3.3.3'), await left('')]).toEqual([
        '1',
        '1',
        '1',
      ])
      expect(await left('1.1.1.1')).toBe('0')
    })

    test('clientAddress must be a function', () => {
      // Wrong on purpose.
      const wrong = { clientAddress: '1.1.1.1' } as unknown as Policies
      expect(() => example(wrong)).toThrow(
        new TypeError('defineApi: clientAddress must be a function, not "1.1.1.1"'),
      )
    })
  })

  test.each<[string, boolean | number, string[], number]>([
    ['spoofed headers count for nothing', false, ['1.1.1.1', '2.2.2.2', '3.3.3.3'], 1],
    [
      'behind one proxy the last entry counts',
      1,
      ['1.1.1.1', '9.9.9.9, 2.2.2.2', '8.8.8.8, 1.1.1.1'],
      2,
    ],
    ['true is one proxy', true, ['x, 1.1.1.1', 'y, 1.1.1.1', '2.2.2.2'], 2],
    [
      'behind two the second from the end',
      2,
      ['1.1.1.1, 5.5.5.5', 'x, 1.1.1.1, 6.6.6.6', '2.2.2.2, 5.5.5.5'],
      2,
    ],
    ['what is no address counts for nothing', 1, ['nonsense', '<script>', 'unknown'], 1],
    ['an address may have a port', 1, ['1.1.1.1:80', '1.1.1.1:81', '[2001:db8::1]:80'], 2],
    [
      'IPv6 counts by its /64',
      1,
      ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:db8:1:3::1'],
      2,
    ],
    ['IPv4 in IPv6 is IPv4', 1, ['::ffff:1.2.3.4', '1.2.3.4', '::ffff:1.2.3.5'], 2],
  ])('%s', async (_, trustProxy, addresses, buckets) => {
    const ask = limited({ policies: [{ limit: 100, window: 60 }] }, { trustProxy })
    let fresh = 0
    for (const address of addresses) {
      const answer = await ask('/cars', {
        'x-forwarded-for': address,
        'x-real-ip': address,
        'client-ip': address,
        forwarded: `for=${address}`,
      })
      if (header('x-ratelimit-remaining')(answer) === '99') fresh++
    }
    expect(fresh).toBe(buckets)
  })

  test.each([
    ['2001:db8::', 'address:2001:db8:0:0::/64'],
    ['::1', 'address:0:0:0:0::/64'],
    ['::', 'address:0:0:0:0::/64'],
    ['2001:0DB8:0001:0002:3:4:5:6', 'address:2001:db8:1:2::/64'],
    ['1:2::7:8', 'address:1:2:0:0::/64'],
    ['1:2:3:4:5:6:7::', 'address:1:2:3:4::/64'],
    ['fe80::1%eth0', 'address:fe80:0:0:0::/64'],
    ['10.0.0.1', 'address:10.0.0.1'],
    [undefined, 'address:unknown'],
  ])('%s is %s', (address, key) => {
    expect(addressKey(address)).toBe(key)
  })
})

describe('policies by principal', () => {
  const FREE = [{ limit: 2, window: 60 }]
  const PRO = [{ limit: 4, window: 60 }]
  const OPEN: typeof FREE = []
  const plans: Readonly<Record<string, typeof FREE>> = { pro: PRO, root: OPEN }
  const schemes = [basic({ verify: id => ({ id, plan: plan.of ?? id }) })]
  const plan: { of?: string } = {}
  const asUser = (name: string) => ({ authorization: `Basic ${btoa(`${name}:x`)}` })
  const policies = (principal?: { readonly [claim: string]: unknown }) =>
    plans[String(principal?.plan)] ?? FREE
  afterEach(() => {
    delete plan.of
  })

  test('each has its own, and the headers say so', async () => {
    const ask = limited({ policies }, { schemes })
    const seen = async (headers: Record<string, string> = {}) => {
      const answer = await ask('/cars', headers)
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'ratelimit-policy', 'ratelimit']
      return [answer.status, ...names.map(name => answer.headers.get(name))]
    }
    expect(await seen(asUser('pro'))).toEqual([200, '4', '3', '"4/60";q=4;w=60', '"4/60";r=3;t=60'])
    expect(await seen(asUser('ann'))).toEqual([200, '2', '1', '"2/60";q=2;w=60', '"2/60";r=1;t=60'])
    expect(await seen()).toEqual([401, '2', '1', '"2/60";q=2;w=60', '"2/60";r=1;t=60'])
    for (let at = 0; at < 9; at++)
      expect(await seen(asUser('root'))).toEqual([200, null, null, null, null])
    await ask('/cars', asUser('ann'))
    expect((await seen(asUser('ann'))).slice(0, 3)).toEqual([429, '2', '0'])
    // Another plan has the same window: what was used is used.
    plan.of = 'pro'
    expect((await seen(asUser('ann'))).slice(0, 3)).toEqual([200, '4', '0'])
    expect((await seen(asUser('ann'))).slice(0, 3)).toEqual([429, '4', '0'])
  })

  test('failed logins count by those of a client without a principal', async () => {
    const refusing = [basic({ verify: () => undefined })]
    const ask = limited({ policies }, { schemes: refusing, clientAddress: () => '192.0.2.1' })
    const statuses = []
    for (let at = 0; at < 3; at++) statuses.push((await ask('/cars', asUser('x'))).status)
    expect(statuses).toEqual([401, 401, 429])
  })

  test.each<[unknown, RegExp]>([
    [() => [], /policies\(undefined\) gives no policy/],
    [() => undefined, /policies must be/],
    [() => [{ limit: 0, window: 1 }], /limit must be/],
    [
      [
        { limit: 1, window: 9 },
        { limit: 2, window: 9 },
      ],
      /count the same requests/,
    ],
    [7, /policies must be a list of policies that is not empty, or a function/],
  ])('%s is a TypeError', (wrong, message) => {
    expect(() => limited({ policies: wrong as never })).toThrow(message)
  })
})

test('windows that have ended are removed, ten at most by one request', () => {
  const counter = new WindowCounter(60)
  for (let at = 0; at < 100; at++) counter.add(`key ${at}`, 1000 + at)
  expect(counter.size).toBe(100)
  expect(counter.add('key 99', 61_000).used).toBe(2)
  // The windows of the first five keys have ended.
  expect(counter.add('key 4', 61_004).used).toBe(1)
  expect(counter.size).toBe(96)
  counter.add('new', 70_000)
  expect(counter.size).toBe(87)
})

describe('a shared store', () => {
  test('two nodes count together', async () => {
    const limiter = new RateLimiterMemory({ points: 3, duration: 60 })
    const nodes = [limited({ policies: [{ limiter }] }), limited({ policies: [{ limiter }] })]
    const statuses = []
    for (let at = 0; at < 4; at++) statuses.push((await nodes[at % 2]?.())?.status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  const down: Limiter = {
    points: 5,
    duration: 60,
    consume: () => Promise.reject(new Error('redis://secret@host is down')),
  }
  test('that is down: 503, or uncounted where the limit is open', async () => {
    const closed = await limited({ policies: [{ limiter: down }] })()
    expect([closed.status, header('retry-after')(closed)]).toEqual([503, '5'])
    expect(await closed.text()).not.toContain('redis')
    const open = await limited({
      policies: [{ limiter: down }, { limit: 7, window: 60 }],
      whenDown: 'open',
    })()
    expect([open.status, header('x-ratelimit-limit')(open)]).toEqual([200, '7'])
  })

  test('that never answers counts as down', async () => {
    vi.useRealTimers()
    const policies = [{ limiter: { ...down, consume: () => new Promise<never>(() => {}) } }]
    expect((await limited({ policies, timeout: 20 })()).status).toBe(503)
    expect((await limited({ policies, timeout: 20, whenDown: 'open' })()).status).toBe(200)
  })
})
