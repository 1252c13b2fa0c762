// Specification, "Cache headers" and status 304; conventions, "Caching". Reads; writes are in writing tests.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { basic, type Item, json, type Scheme, xml } from '../../src/index.ts'
import { carValues, example, seed } from '../fixture.ts'
import { type Answer, eachHandler } from '../handlers.ts'

const CHANGED = Date.parse('2024-03-01T12:00:00.700Z')
const DATES: Readonly<Record<string, string>> = {
  '<date>': 'Fri, 01 Mar 2024 12:00:00 GMT',
  '<before>': 'Fri, 01 Mar 2024 11:59:59 GMT',
  '<after>': 'Fri, 01 Mar 2024 12:00:01 GMT',
  '<date, RFC 850>': 'Friday, 01-Mar-24 12:00:00 GMT',
  '<date, asctime>': 'Fri Mar  1 12:00:00 2024',
}

async function three() {
  const made = example({ clock: () => CHANGED, formats: [json, xml] })
  return { ...made, items: await seed(made, 3) }
}

/** Each row: the headers, then the status for an item, a list (which has no date) and what does not exist. */
const ROWS: readonly (readonly [string, Record<string, string>, number, number, number])[] = [
  ['no condition', {}, 200, 200, 404],
  ['If-None-Match: the tag', { 'if-none-match': '<tag>' }, 304, 304, 404],
  ['If-None-Match: the tag as a weak one', { 'if-none-match': 'W/<tag>' }, 304, 304, 404],
  ['If-None-Match: in a list', { 'if-none-match': '"a", <tag>, W/"b"' }, 304, 304, 404],
  ['If-None-Match: *', { 'if-none-match': '*' }, 304, 304, 404],
  ['If-None-Match: another', { 'if-none-match': '"other"' }, 200, 200, 404],
  ['If-None-Match: malformed, so ignored', { 'if-none-match': 'nonsense' }, 200, 200, 404],
  ['If-Modified-Since: the date', { 'if-modified-since': '<date>' }, 304, 200, 404],
  [
    'If-Modified-Since: the date as RFC 850',
    { 'if-modified-since': '<date, RFC 850>' },
    304,
    200,
    404,
  ],
  [
    'If-Modified-Since: the date as asctime',
    { 'if-modified-since': '<date, asctime>' },
    304,
    200,
    404,
  ],
  ['If-Modified-Since: later', { 'if-modified-since': '<after>' }, 304, 200, 404],
  ['If-Modified-Since: earlier', { 'if-modified-since': '<before>' }, 200, 200, 404],
  ['If-Modified-Since: no date, so ignored', { 'if-modified-since': 'yesterday' }, 200, 200, 404],
  [
    'If-None-Match wins over If-Modified-Since',
    { 'if-none-match': '"other"', 'if-modified-since': '<after>' },
    200,
    200,
    404,
  ],
  [
    'If-None-Match wins over If-Modified-Since, malformed too',
    { 'if-none-match': 'nonsense', 'if-modified-since': '<after>' },
    200,
    200,
    404,
  ],
  [
    'If-None-Match holds whatever the date',
    { 'if-none-match': '<tag>', 'if-modified-since': '<before>' },
    304,
    304,
    404,
  ],
  ['If-Match: the tag', { 'if-match': '<tag>' }, 200, 200, 404],
  ['If-Match: in a list', { 'if-match': '"a", <tag>' }, 200, 200, 404],
  ['If-Match: *', { 'if-match': '*' }, 200, 200, 404],
  ['If-Match: the tag as a weak one never matches', { 'if-match': 'W/<tag>' }, 412, 412, 404],
  ['If-Match: another', { 'if-match': '"other"' }, 412, 412, 404],
  ['If-Match: malformed', { 'if-match': 'nonsense' }, 400, 400, 400],
  ['If-Unmodified-Since: the date', { 'if-unmodified-since': '<date>' }, 200, 200, 404],
  ['If-Unmodified-Since: later', { 'if-unmodified-since': '<after>' }, 200, 200, 404],
  ['If-Unmodified-Since: earlier', { 'if-unmodified-since': '<before>' }, 412, 200, 404],
  ['If-Unmodified-Since: no date, so ignored', { 'if-unmodified-since': '0' }, 200, 200, 404],
  [
    'If-Match wins over If-Unmodified-Since',
    { 'if-match': '<tag>', 'if-unmodified-since': '<before>' },
    200,
    200,
    404,
  ],
  ['If-Match is asked first', { 'if-match': '"other"', 'if-none-match': '<tag>' }, 412, 412, 404],
  [
    'If-Match holds, then If-None-Match',
    { 'if-match': '<tag>', 'if-none-match': '<tag>' },
    304,
    304,
    404,
  ],
  [
    'If-Unmodified-Since holds, then If-Modified-Since',
    { 'if-unmodified-since': '<date>', 'if-modified-since': '<date>' },
    304,
    200,
    404,
  ],
]

describe('Cache headers: conditional reads', () => {
  eachHandler(
    three,
    (handler, made) => {
      const target = (what: string) =>
        what === 'list'
          ? '/cars?limit=2'
          : `/cars/${what === 'item' ? made().items[0]?.id : 'nobody'}`

      for (const method of ['GET', 'HEAD']) {
        it.each(ROWS)(`${method}, %s`, async (_row, headers, item, list, missing) => {
          const expected = { item, list, missing }
          for (const [what, status] of Object.entries(expected)) {
            const tag = (await handler.request(target(what))).headers.get('etag') ?? '"none"'
            const filled = Object.entries(headers).map(([name, value]) => [
              name,
              (DATES[value] ?? value).replace('<tag>', tag),
            ])
            const answer = await handler.request(target(what), {
              method,
              headers: Object.fromEntries(filled),
            })
            expect([what, answer.status]).toEqual([what, status])
            if (answer.status === 304 || method === 'HEAD') expect(answer.text).toBe('')
            if (answer.status === 304) expect(answer.headers.get('etag')).toBe(tag)
          }
        })
      }

      it.each<[string, Record<string, string>, number]>([
        ['If-None-Match: *', { 'if-none-match': '*' }, 304],
        ['If-None-Match: a tag', { 'if-none-match': '"x"' }, 200],
        ['If-None-Match: malformed, so ignored', { 'if-none-match': 'x' }, 200],
        ['If-Modified-Since', { 'if-modified-since': '<after>' }, 200],
        ['If-Match: *', { 'if-match': '*' }, 200],
        ['If-Match: a tag', { 'if-match': '"x"' }, 412],
        ['If-Match: malformed', { 'if-match': 'x' }, 400],
        ['If-Unmodified-Since', { 'if-unmodified-since': '<before>' }, 200],
      ])('the root, which has neither tag nor date: %s', async (_row, conditions, status) => {
        const headers = Object.fromEntries(
          Object.entries(conditions).map(([name, value]) => [name, DATES[value] ?? value]),
        )
        for (const method of ['GET', 'HEAD']) {
          const answer = await handler.request('/', { method, headers })
          expect(answer.status).toBe(status)
          if (status === 304)
            expect([answer.text, answer.headers.get('vary')]).toEqual(['', 'Accept'])
        }
        const quiet = await handler.request('/?suppress_error_codes', { headers })
        expect([quiet.status, quiet.text === '']).toEqual([200, false])
      })

      it('two types of one format have two tags', async () => {
        const path = `/cars/${made().items[0]?.id}`
        for (const target of [path, '/cars', '/cars/count']) {
          const tags = new Map<string | null, string | null>()
          for (const accept of ['application/json', 'application/xml', 'text/xml']) {
            const { headers } = await handler.request(target, { headers: { accept } })
            expect(headers.get('content-type')).toContain(accept)
            tags.set(accept, headers.get('etag'))
          }
          if (target !== '/cars/count') expect(new Set(tags.values()).size).toBe(3)
        }
        const accept = 'text/xml'
        const tag = (await handler.request(path, { headers: { accept } })).headers.get('etag') ?? ''
        const ask = (headers: Record<string, string>) => handler.request(path, { headers })
        expect((await ask({ accept, 'if-none-match': tag })).status).toBe(304)
        expect((await ask({ accept: 'application/xml', 'if-none-match': tag })).status).toBe(200)
        const change = { method: 'PATCH', json: { color: 'blue' }, headers: { 'if-match': tag } }
        expect((await handler.request(path, change)).status).toBe(200)
      })

      it('a Range that is not modified is 304, as without it', async () => {
        const { status, headers } = await handler.request('/cars', {
          headers: { range: 'cars=0-1' },
        })
        expect(status).toBe(206)
        const again = await handler.request('/cars', {
          headers: { range: 'cars=0-1', 'if-none-match': headers.get('etag') ?? '' },
        })
        expect(again.status).toBe(304)
        const other = await handler.request('/cars', {
          headers: { range: 'cars=0-1', 'if-match': '"other"' },
        })
        expect(other.status).toBe(412)
      })

      it.each([
        [{ 'if-none-match': '*' }, 304],
        [{ 'if-match': '"other"' }, 412],
        [{}, 416],
      ])('a Range behind the end counts after the conditions %j', async (headers, status) => {
        const answer = await handler.request('/cars', {
          headers: { range: 'cars=500-', ...headers },
        })
        expect(answer.status).toBe(status)
      })

      it('under suppress_error_codes there is no 304, and 412 is in the body', async () => {
        const path = `${target('item')}?suppress_error_codes`
        const { headers } = await handler.request(path)
        const tag = headers.get('etag') ?? ''
        const same = await handler.request(path, { headers: { 'if-none-match': tag } })
        expect(same).toMatchObject({ status: 200, json: { id: made().items[0]?.id } })
        expect(same.headers.get('cache-control')).toBe('no-store')
        const failed = await handler.request(path, { headers: { 'if-match': '"other"' } })
        expect(failed).toMatchObject({ status: 200, json: { errors: [{ code: 412 }] } })
      })

      it('304 carries the headers that a 200 would have', async () => {
        const paths = [
          target('item'),
          '/cars?limit=2',
          '/cars?offset=1&limit=1',
          '/cars.json?limit=2',
        ]
        for (const path of paths) {
          const init = { headers: { prefer: 'count=exact', origin: 'https://app.example' } }
          const full = await handler.request(path, init)
          const tag = full.headers.get('etag') ?? ''
          const short = await handler.request(path, {
            headers: { ...init.headers, 'if-none-match': tag },
          })
          expect(short.status).toBe(304)
          expect(comparable(short)).toEqual(comparable(full))
          expect(short.headers.get('content-type')).toBeNull()
        }
      })
    },
    { once: true },
  )
})

/** The headers without those of the content, the connection and the moment. */
function comparable({ headers }: Answer) {
  const own =
    /^(?:content-length|content-type|x-content-type-options|date|connection|keep-alive|transfer-encoding)$/
  return Object.fromEntries([...headers].filter(([name]) => !own.test(name)))
}

describe('Cache headers: ETag', () => {
  eachHandler(three, (handler, made) => {
    const tagOf = async (path: string, headers: Record<string, string> = {}) =>
      (await handler.request(path, { headers })).headers.get('etag') ?? ''

    it('is strong, and differs by format and by fields', async () => {
      const path = `/cars/${made().items[0]?.id}`
      const tags = [
        await tagOf(path),
        await tagOf(path, { accept: 'application/xml' }),
        await tagOf(`${path}?fields=color`),
        await tagOf(`${path}?fields=color,price`),
        await tagOf(`${path}.xml?fields=color`),
      ]
      for (const tag of tags) expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/)
      expect(new Set(tags).size).toBe(tags.length)
    })

    it('is the same for the same representation, however it was requested', async () => {
      const path = `/cars/${made().items[0]?.id}`
      expect(await tagOf(path)).toBe(await tagOf(`${path}.json`))
      expect(await tagOf(path)).toBe(await tagOf(path, { accept: 'application/json' }))
      expect(await tagOf(`${path}.xml`)).toBe(await tagOf(path, { accept: 'application/xml' }))
    })

    it('the tag of an item changes with every write of it, and with no other', async () => {
      const [one, other] = made().items.map(({ id }) => `/cars/${id}`)
      const before = [await tagOf(one ?? ''), await tagOf(other ?? '')]
      await handler.request(one ?? '', { method: 'PATCH', json: { price: 1 } })
      const after = [await tagOf(one ?? ''), await tagOf(other ?? '')]
      expect(after[0]).not.toBe(before[0])
      expect(after[1]).toBe(before[1])
    })

    it('an item that was deleted and made again has another tag', async () => {
      await handler.request('/accounts', { method: 'POST', json: { id: 'a', name: 'A' } })
      const before = await tagOf('/accounts/a')
      await handler.request('/accounts/a', { method: 'DELETE' })
      await handler.request('/accounts', { method: 'POST', json: { id: 'a', name: 'A' } })
      expect(await tagOf('/accounts/a')).not.toBe(before)
    })

    it.each([
      ['an item of the page is changed', 'PATCH', 0],
      ['an item of the page is deleted', 'DELETE', 0],
      ['the total changes', 'DELETE', 2],
      ['an item is added', 'POST', undefined],
    ])('the tag of a list changes when %s', async (_row, method, at) => {
      const { items } = made()
      const before = await tagOf('/cars?limit=2')
      const path = at === undefined ? '/cars' : `/cars/${items[at]?.id}`
      const sent = method === 'PATCH' ? { price: 1 } : carValues(9)
      await handler.request(path, { method, ...(method !== 'DELETE' && { json: sent }) })
      expect(await tagOf('/cars?limit=2')).not.toBe(before)
    })

    it('the tag of a list stays while an item outside of the page and the total changes', async () => {
      const before = await tagOf('/cars?limit=2')
      await handler.request(`/cars/${made().items[2]?.id}`, { method: 'PATCH', json: { price: 1 } })
      expect(await tagOf('/cars?limit=2')).toBe(before)
    })

    it('the tag of a list differs by format, fields, place and Prefer', async () => {
      const tags = [
        await tagOf('/cars?limit=1'),
        await tagOf('/cars.xml?limit=1'),
        await tagOf('/cars?limit=1&fields=id'),
        await tagOf('/cars?limit=1&offset=1'),
        await tagOf('/cars?limit=1&offset=9'),
        await tagOf('/cars?limit=1', { prefer: 'count=none' }),
      ]
      expect(new Set(tags).size).toBe(tags.length)
    })

    it('a list has no Last-Modified', async () => {
      expect((await handler.request('/cars')).headers.get('last-modified')).toBeNull()
    })

    it.each([
      ['the whole', '', {}],
      ['fields', '?fields=color', {}],
      ['XML', '.xml', {}],
      ['XML by Accept, with fields', '?fields=id', { accept: 'application/xml' }],
    ])(
      'If-Match accepts the tag of any representation for a write: %s',
      async (_row, suffix, headers) => {
        const path = `/cars/${made().items[0]?.id}`
        const tag = await tagOf(path + suffix, headers)
        const patch = (price: number) =>
          handler.request(path, { method: 'PATCH', json: { price }, headers: { 'if-match': tag } })
        expect((await patch(1)).status).toBe(200)
        expect((await patch(2)).status).toBe(412)
      },
    )
  })
})

describe('Cache headers: Last-Modified', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  eachHandler(
    () => {
      vi.useFakeTimers({ toFake: ['Date'], now: CHANGED })
      return three()
    },
    (handler, made) => {
      const path = () => `/cars/${made().items[0]?.id}`

      it.each([
        [0, null],
        [1999, null],
        [2000, 'Fri, 01 Mar 2024 12:00:00 GMT'],
        [60_000, 'Fri, 01 Mar 2024 12:00:00 GMT'],
      ])('%d ms after a change: %s', async (later, date) => {
        vi.setSystemTime(CHANGED + later)
        expect((await handler.request(path())).headers.get('last-modified')).toBe(date)
        expect(
          (await handler.request(path(), { method: 'HEAD' })).headers.get('last-modified'),
        ).toBe(date)
      })

      it('within two seconds of a change no date-only client gets a 304', async () => {
        vi.setSystemTime(CHANGED + 1900)
        const headers = { 'if-modified-since': 'Fri, 01 Mar 2024 12:00:00 GMT' }
        expect((await handler.request(path(), { headers })).status).toBe(200)
        vi.setSystemTime(CHANGED + 2000)
        expect((await handler.request(path(), { headers })).status).toBe(304)
      })

      it('is updated_at, floored to the second', async () => {
        vi.setSystemTime(CHANGED + 60_000)
        const { headers, json: item } = await handler.request(path())
        // An item has its dates.
        const { updated_at } = item as { updated_at: string }
        expect(updated_at).toBe('2024-03-01T12:00:00.700Z')
        expect(headers.get('last-modified')).toBe('Fri, 01 Mar 2024 12:00:00 GMT')
      })
    },
  )
})

describe('Cache headers: a failed If-Match', () => {
  eachHandler(three, (handler, made) => {
    it.each([
      ['W/<tag>', 'never matches a weak tag'],
      ['W/<tag>, W/"a"', 'never matches a weak tag'],
      ['"other"', 'Read it again'],
      ['W/<tag>, "other"', 'Read it again'],
    ])('%s: %s', async (text, message) => {
      const target = `/cars/${made().items[0]?.id}`
      const tag = (await handler.request(target)).headers.get('etag') ?? ''
      const headers = { 'if-match': text.replace('<tag>', tag) }
      for (const method of ['GET', 'DELETE']) {
        expect(await handler.request(target, { method, headers })).toMatchObject({
          status: 412,
          json: {
            errors: [
              { message: expect.stringContaining(message), code: 412, type: 'precondition_failed' },
            ],
          },
        })
      }
    })
  })
})

describe('Cache headers: Cache-Control and Vary', () => {
  eachHandler(
    three,
    (handler, made) => {
      it.each([
        ['/', 'no-cache, max-age=0', 'Accept'],
        ['/cars', 'no-cache, max-age=0', 'Accept, Prefer, Range'],
        ['/cars?limit=1', 'no-cache, max-age=0', 'Accept, Prefer'],
        ['/cars.json', 'no-cache, max-age=0', 'Prefer, Range'],
        ['/cars/count', 'no-cache, max-age=0', 'Accept, Prefer'],
        ['/cars/<id>', 'no-cache, max-age=0', 'Accept'],
        ['/cars/<id>.json', 'no-cache, max-age=0', null],
        ['/cars/nobody', 'no-store', 'Accept'],
        ['/cars/<id>?suppress_error_codes', 'no-store', 'Accept'],
      ])('%s', async (path, cacheControl, vary) => {
        const target = path.replace('<id>', String(made().items[0]?.id))
        const { headers } = await handler.request(target)
        expect([headers.get('cache-control'), headers.get('vary')]).toEqual([cacheControl, vary])
      })
    },
    { once: true },
  )

  eachHandler(
    () => example({ cors: { origins: ['https://app.example'] } }),
    handler => {
      it('names Origin where origins are distinguished', async () => {
        for (const headers of [
          {},
          { origin: 'https://app.example' },
          { origin: 'https://evil.example' },
        ]) {
          const answer = await handler.request('/cars?limit=1', { headers })
          expect(answer.headers.get('vary')).toBe('Accept, Prefer, Origin')
        }
      })
    },
    { once: true },
  )

  const scheme = (headers?: readonly string[]): Scheme => ({
    name: 'Own',
    challenge: () => 'Own',
    authenticate: async () => undefined,
    ...(headers && { headers }),
  })
  const passwords = basic({ verify: id => ({ id }) })

  // A cache keeps what it was given with one cookie from who comes with another.
  describe.each<[string, Scheme[], string]>([
    ['passwords', [passwords], 'Accept, Prefer, Authorization'],
    ['a scheme that does not say', [scheme()], 'Accept, Prefer, Authorization, Cookie'],
    ['a scheme that says', [scheme(['X-Api-Key'])], 'Accept, Prefer, X-Api-Key'],
    ['several', [passwords, scheme(['Cookie']), scheme()], 'Accept, Prefer, Authorization, Cookie'],
  ])('names where credentials may stand: %s', (_, schemes, vary) => {
    eachHandler(
      () => example({ schemes, access: { default: 'public' } }),
      handler => {
        it('whether or not any came', async () => {
          for (const headers of [{}, { cookie: 'sid=1' }]) {
            const answer = await handler.request('/cars?limit=1', { headers })
            expect([answer.status, answer.headers.get('vary')]).toEqual([200, vary])
          }
        })
      },
      { once: true },
    )
  })
})

describe('Cache headers: items of the same moment', () => {
  eachHandler(three, (handler, made) => {
    it('two items never share a tag', async () => {
      const tags = await Promise.all(
        made().items.map(async ({ id }: Item) =>
          (await handler.request(`/cars/${id}`)).headers.get('etag'),
        ),
      )
      expect(new Set(tags).size).toBe(3)
    })
  })
})
