// Specification, "Pagination headers" and `offset`, `limit`; conventions, "Reading".
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item, memoryStore, type Store } from '../../src/index.ts'
import { parseLink } from '../../src/rules/index.ts'
import { example, seed, steppingClock } from '../fixture.ts'
import { type Answer, eachHandler } from '../handlers.ts'

const COUNT = 60

async function sixty() {
  const made = example({ clock: steppingClock() })
  return { ...made, items: await seed(made, COUNT) }
}

const rels = ({ headers }: Answer) =>
  Object.fromEntries(parseLink(headers.get('link') ?? '').map(({ rel, href }) => [rel, href]))

const ids = ({ json }: Answer) => (json as Item[]).map(({ id }) => id)

/** Positions of what a page shows, in the list it was taken from. */
const places = ({ json }: Answer, items: readonly Item[]) =>
  (json as Item[]).map(({ id }) => items.findIndex(item => item.id === id))

const span = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

interface Row {
  readonly row: string
  readonly query?: string
  readonly range?: string
  readonly status?: number
  /** First and last position; absent for an empty page. */
  readonly page?: readonly [number, number]
  readonly rels: string
}

const ROWS: readonly Row[] = [
  { row: 'limit defaults to 25', page: [0, 24], rels: 'next first last' },
  { row: 'limit', query: 'limit=10', page: [0, 9], rels: 'next first last' },
  { row: 'limit of the whole', query: 'limit=60', page: [0, 59], rels: 'first last' },
  { row: 'limit above the total', query: 'limit=1000', page: [0, 59], rels: 'first last' },
  { row: 'limit=0: the headers alone', query: 'limit=0', rels: '' },
  { row: 'offset', query: 'offset=25', page: [25, 49], rels: 'next previous first last prev' },
  {
    row: 'offset and limit',
    query: 'offset=5&limit=10',
    page: [5, 14],
    rels: 'next previous first last prev',
  },
  { row: 'offset=0', query: 'offset=0&limit=10', page: [0, 9], rels: 'next first last' },
  {
    row: 'the last page by offset',
    query: 'offset=50&limit=25',
    page: [50, 59],
    rels: 'previous first last prev',
  },
  { row: 'offset at the end', query: 'offset=60', rels: 'previous first last prev' },
  { row: 'offset beyond the end', query: 'offset=9999', rels: 'previous first last prev' },
  {
    row: 'an offset of 20 digits',
    query: 'offset=99999999999999999999',
    rels: 'previous first last prev',
  },
  {
    row: 'Range: 206 for a part',
    range: 'cars=0-9',
    status: 206,
    page: [0, 9],
    rels: 'next first last',
  },
  {
    row: 'Range in the middle',
    range: 'cars=20-29',
    status: 206,
    page: [20, 29],
    rels: 'next previous first last prev',
  },
  {
    row: 'Range to the end',
    range: 'cars=50-',
    status: 206,
    page: [50, 59],
    rels: 'previous first last prev',
  },
  {
    row: 'Range past the end',
    range: 'cars=50-99',
    status: 206,
    page: [50, 59],
    rels: 'previous first last prev',
  },
  { row: 'Range of the whole: 200', range: 'cars=0-59', page: [0, 59], rels: 'first last' },
  { row: 'Range past the whole: 200', range: 'cars=0-99', page: [0, 59], rels: 'first last' },
  { row: 'Range without an end', range: 'cars=0-', page: [0, 59], rels: 'first last' },
  {
    row: 'Range of one',
    range: 'cars=59-59',
    status: 206,
    page: [59, 59],
    rels: 'previous first last prev',
  },
  {
    row: 'Range of another unit is ignored',
    range: 'bytes=0-9',
    page: [0, 24],
    rels: 'next first last',
  },
  { row: 'malformed Range is ignored', range: 'cars=9-0', page: [0, 24], rels: 'next first last' },
  {
    row: 'several ranges are ignored',
    range: 'cars=0-1,5-6',
    page: [0, 24],
    rels: 'next first last',
  },
  { row: 'a suffix range is ignored', range: 'cars=-5', page: [0, 24], rels: 'next first last' },
  {
    row: 'limit in the query: Range is ignored',
    query: 'limit=5',
    range: 'cars=10-19',
    page: [0, 4],
    rels: 'next first last',
  },
  {
    row: 'offset in the query: Range is ignored',
    query: 'offset=5',
    range: 'cars=10-19',
    page: [5, 29],
    rels: 'next previous first last prev',
  },
]

describe('Pagination headers', () => {
  eachHandler(
    sixty,
    (handler, made) => {
      it.each(ROWS)('$row', async ({ query = '', range, status = 200, page, rels: expected }) => {
        const { items } = made()
        const answer = await handler.request(`/cars?${query}`, {
          ...(range && { headers: { range } }),
        })
        expect(answer.status).toBe(status)
        expect(places(answer, items)).toEqual(page ? span(...page) : [])
        expect(answer.headers.get('x-result-count')).toBe('60')
        expect(answer.headers.get('content-range')).toBe(
          page ? `cars ${page[0]}-${page[1]}/60` : 'cars */60',
        )
        expect(answer.headers.get('accept-ranges')).toBe('cars')
        expect(Object.keys(rels(answer)).join(' ')).toBe(expected)
      })

      it.each(['cars=60-', 'cars=60-99', 'cars=999999999999999-', 'cars=99999999999999999999-'])(
        'Range from behind the end is 416: %s',
        async range => {
          const answer = await handler.request('/cars', { headers: { range } })
          expect(answer.status).toBe(416)
          expect(answer.headers.get('content-range')).toBe('cars */60')
          expect(answer.json).toMatchObject({
            errors: [{ code: 416, type: 'range_not_satisfiable' }],
          })
        },
      )

      it.each(['/accounts', '/cars?color=none', '/cars/search?q=nothing'])(
        'Range from the first position of an empty list is the empty list: %s',
        async path => {
          const unit = path.startsWith('/cars') ? 'cars' : 'accounts'
          for (const range of [`${unit}=0-24`, `${unit}=0-`, `${unit}=0-0`]) {
            const answer = await handler.request(path.replace('none', 'red&price[lt]=0'), {
              headers: { range },
            })
            expect(answer).toMatchObject({ status: 200, text: '[]' })
            expect(answer.headers.get('content-range')).toBe(`${unit} */0`)
            expect(answer.headers.get('x-result-count')).toBe('0')
          }
          const headers = { range: `${unit}=0-24`, prefer: 'count=none' }
          expect(await handler.request('/accounts', { headers })).toMatchObject({ status: 200 })
        },
      )

      it('Range from a later position of an empty list is 416', async () => {
        const answer = await handler.request('/accounts', { headers: { range: 'accounts=1-24' } })
        expect(answer.status).toBe(416)
        expect(answer.headers.get('content-range')).toBe('accounts */0')
      })

      it('an empty list', async () => {
        const answer = await handler.request('/accounts')
        expect(answer).toMatchObject({ status: 200, text: '[]' })
        expect(answer.headers.get('x-result-count')).toBe('0')
        expect(answer.headers.get('content-range')).toBe('accounts */0')
      })

      it('Range counts for the filtered list', async () => {
        const answer = await handler.request('/cars?color=red', { headers: { range: 'cars=0-4' } })
        expect(answer.status).toBe(206)
        expect(answer.headers.get('content-range')).toBe('cars 0-4/12')
        const beyond = await handler.request('/cars?color=red', {
          headers: { range: 'cars=12-13' },
        })
        expect(beyond.headers.get('content-range')).toBe('cars */12')
      })

      it.each(['HEAD', 'count', 'item'])('Range counts on GET of a list only: %s', async what => {
        const path =
          what === 'count'
            ? '/cars/count'
            : what === 'item'
              ? `/cars/${made().items[0]?.id}`
              : '/cars'
        const answer = await handler.request(path, {
          method: what === 'HEAD' ? 'HEAD' : 'GET',
          headers: { range: 'cars=90-99' },
        })
        expect(answer.status).toBe(200)
      })

      it('with If-Range the whole is sent: a page never is the part that was meant', async () => {
        const { headers } = await handler.request('/cars', { headers: { range: 'cars=0-4' } })
        for (const condition of [
          headers.get('etag') ?? '',
          '"other"',
          'Thu, 01 Jan 1970 00:00:00 GMT',
        ]) {
          const answer = await handler.request('/cars', {
            headers: { range: 'cars=0-4', 'if-range': condition },
          })
          expect([answer.status, answer.headers.get('content-range')]).toEqual([
            200,
            'cars 0-24/60',
          ])
        }
      })
    },
    { once: true },
  )
})

/** How a walk begins and what its links must look like. */
const WALKS: readonly (readonly [string, string, Record<string, string>, RegExp])[] = [
  ['a plain list continues by cursor', '/cars?limit=7', {}, /[?&]cursor=/],
  ['an offset continues by offset', '/cars?offset=0&limit=7', {}, /[?&]offset=\d+/],
  ['a Range continues by offset', '/cars', { range: 'cars=0-6' }, /[?&]offset=\d+/],
]

describe('Pagination headers: the size of a page', () => {
  eachHandler(
    async () => {
      const made = example()
      return { ...made, items: await seed(made, 101) }
    },
    handler => {
      it('25 items by default', async () => {
        const { headers, json } = await handler.request('/cars')
        expect(json).toHaveLength(25)
        expect(headers.get('content-range')).toBe('cars 0-24/101')
      })

      it('at most 100 items, by limit and by Range', async () => {
        const range = { headers: { range: 'cars=0-' } }
        for (const [query, init] of [
          ['?limit=101', {}],
          ['?limit=100', {}],
          ['', range],
        ] as const) {
          const { headers, json } = await handler.request(`/cars${query}`, init)
          expect(json).toHaveLength(100)
          expect(headers.get('content-range')).toBe('cars 0-99/101')
        }
      })
    },
    { once: true },
  )
})

describe('Pagination headers: Link', () => {
  eachHandler(
    sixty,
    (handler, made) => {
      it.each(WALKS)('%s, forth and back', async (_row, start, headers, form) => {
        const { items } = made()
        let answer = await handler.request(start, { headers })
        const forth: number[][] = [places(answer, items)]
        for (let next = rels(answer).next; next; next = rels(answer).next) {
          expect(next).toMatch(form)
          answer = await handler.request(next)
          forth.push(places(answer, items))
        }
        expect(forth.flat()).toEqual(span(0, COUNT - 1))
        expect(forth.map(page => page.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 4])
        const back: number[][] = [places(answer, items)]
        for (let link = rels(answer).previous; link; link = rels(answer).previous) {
          answer = await handler.request(link)
          back.unshift(places(answer, items))
        }
        expect(back).toEqual(forth)
      })

      it.each(WALKS)('%s: first and last', async (_row, start, headers) => {
        const { items } = made()
        const { first = '', last = '' } = rels(await handler.request(start, { headers }))
        expect(places(await handler.request(first), items)).toEqual(span(0, 6))
        const end = await handler.request(last)
        expect(places(end, items).at(-1)).toBe(COUNT - 1)
        expect(end.headers.get('content-range')).toMatch(/^cars 5[36]-59\/60$/)
        expect(rels(end).next).toBeUndefined()
        let seen = places(end, items)
        let answer = end
        for (let link = rels(answer).previous; link; link = rels(answer).previous) {
          answer = await handler.request(link)
          seen = [...places(answer, items), ...seen]
        }
        expect(seen).toEqual(span(0, COUNT - 1))
      })

      it('previous and prev are the same, each as its own entry', async () => {
        const answer = await handler.request('/cars?offset=20&limit=10')
        const { previous, prev } = rels(answer)
        expect(previous).toBe(prev)
        expect(answer.headers.get('link')).toContain('>; rel="previous", <')
        expect(answer.headers.get('link')).toContain('>; rel="prev"')
      })

      it('is printed for stock parsers: absolute, rel first and quoted, no comma inside', async () => {
        const query = 'fields=id,color&color[in]=red,blue&immatriculation[like]=*;"*&limit=2'
        const link = (await handler.request(`/cars?${query}&immatriculation=`)).headers.get('link')
        const full =
          (await handler.request('/cars?fields=id,color&color[in]=red,blue&limit=2')).headers.get(
            'link',
          ) ?? ''
        for (const entry of [...(link ?? '').split(', '), ...full.split(', ')]) {
          expect(entry).toMatch(/^<[^<>,;"]+>; rel="[a-z]+"$/)
          expect(entry.startsWith(`<${handler.base}/cars?`)).toBe(true)
        }
        expect(full).toContain('fields=id%2Ccolor&color%5Bin%5D=red%2Cblue&limit=2')
      })

      it('keeps every filter, fields and sort, but for the place', async () => {
        const query =
          'color[in]=red,blue&price[gte]=1000&fields=id&sort=-price&limit=3&since=2024-01-01&suppress_error_codes'
        const answer = await handler.request(`/cars?offset=3&${query}`)
        const { next = '', previous = '', first = '', last = '' } = rels(answer)
        for (const href of [next, previous, first, last]) {
          const url = new URL(href)
          const names = [...url.searchParams.keys()]
          expect(names).toEqual([
            'color[in]',
            'price[gte]',
            'fields',
            'sort',
            'limit',
            'since',
            'suppress_error_codes',
            'offset',
          ])
          expect(url.searchParams.get('color[in]')).toBe('red,blue')
        }
        const all = await handler.request(
          '/cars?color[in]=red,blue&fields=id&sort=-price&limit=100',
        )
        const page = await handler.request(next)
        expect(page.json).toEqual((all.json as Item[]).slice(6, 9))
      })

      it('keeps a Range’s size as limit', async () => {
        const { next = '' } = rels(
          await handler.request('/cars?color=red', { headers: { range: 'cars=0-3' } }),
        )
        expect(new URL(next).search).toBe('?color=red&limit=4&offset=4')
      })

      it('previous of an offset that is no multiple of the limit does not overlap', async () => {
        const { items } = made()
        const { previous = '' } = rels(await handler.request('/cars?offset=3&limit=5'))
        expect(places(await handler.request(previous), items)).toEqual([0, 1, 2])
      })

      it('nothing has no page before it', async () => {
        const { previous, first } = rels(
          await handler.request('/cars?immatriculation=none&offset=10'),
        )
        expect(previous).toBeUndefined()
        expect(first).toContain('offset=0')
      })

      it('a cursor of another sort is 400', async () => {
        const { next = '' } = rels(await handler.request('/cars?sort=price&limit=5'))
        const answer = await handler.request(next.replace('sort=price', 'sort=-price'))
        expect(answer.status).toBe(400)
        expect(answer.json).toMatchObject({ errors: [{ field: 'cursor', type: 'invalid_cursor' }] })
      })

      it('a cursor that was tampered with is 400', async () => {
        const { next = '' } = rels(await handler.request('/cars?limit=5'))
        const url = new URL(next)
        const cursor = url.searchParams.get('cursor') ?? ''
        url.searchParams.set('cursor', `${cursor.slice(0, -3)}AAA`)
        const answer = await handler.request(url.href)
        expect(answer.status).toBe(400)
        expect(answer.json).toMatchObject({ errors: [{ field: 'cursor', type: 'invalid_cursor' }] })
      })

      it('a cursor of another collection is 400 where it does not fit', async () => {
        await handler.request('/models', { method: 'POST', json: { name: 'Clio' } })
        await handler.request('/models', { method: 'POST', json: { name: 'Zoé' } })
        const { next = '' } = rels(await handler.request('/cars?sort=id&limit=5'))
        const answer = await handler.request(
          `/models?sort=id&cursor=${new URL(next).searchParams.get('cursor')}`,
        )
        expect(answer.status).toBe(400)
        expect(answer.json).toMatchObject({ errors: [{ type: 'invalid_cursor' }] })
        const head = await handler.request(
          `/models?sort=id&cursor=${new URL(next).searchParams.get('cursor')}`,
          { method: 'HEAD' },
        )
        expect(head.status).toBe(400)
      })

      it('offset and cursor together are 400', async () => {
        const { next = '' } = rels(await handler.request('/cars?limit=5'))
        expect((await handler.request(`${next}&offset=5`)).status).toBe(400)
      })
    },
    { once: true },
  )

  eachHandler(sixty, (handler, made) => {
    it('pages by cursor neither skip nor repeat while others delete and create', async () => {
      const { items } = made()
      const first = await handler.request('/cars?limit=10')
      for (const at of [2, 9, 12])
        await handler.request(`/cars/${items[at]?.id}`, { method: 'DELETE' })
      const second = await handler.request(rels(first).next ?? '')
      expect(places(second, items)).toEqual([10, 11, 13, 14, 15, 16, 17, 18, 19, 20])
      const back = await handler.request(rels(second).previous ?? '')
      expect(places(back, items)).toEqual([0, 1, 3, 4, 5, 6, 7, 8])
    })

    it('the last page has its exact place, whatever was deleted before it', async () => {
      const { items } = made()
      const first = await handler.request('/cars?limit=50')
      for (const at of [0, 1, 2])
        await handler.request(`/cars/${items[at]?.id}`, { method: 'DELETE' })
      const second = await handler.request(rels(first).next ?? '')
      expect(second.headers.get('content-range')).toBe('cars 47-56/57')
    })

    it('the page of a `last` link has its exact place when items were added', async () => {
      const { last = '' } = rels(await handler.request('/cars?limit=50'))
      await handler.request('/cars', {
        method: 'POST',
        json: { immatriculation: 'new', color: 'red' },
      })
      const answer = await handler.request(last)
      expect(answer.headers.get('content-range')).toBe('cars 11-60/61')
    })
  })
})

/** Counts a store's calls by name, and passes them on. */
function counted(store: Store, calls: string[]): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        calls.push(String(name))
        return value.apply(target, parameters)
      }
    },
  })
}

async function sixtyCounted() {
  const calls: string[] = []
  const made = example({ storeOf: (_name, store) => counted(store, calls) })
  const items = await seed(made, COUNT)
  return { ...made, items, calls }
}

describe('Pagination headers: no more work than needed', () => {
  eachHandler(
    sixtyCounted,
    (handler, made) => {
      it.each([
        ['HEAD', '/cars', ['count']],
        ['HEAD', '/cars?color=red&offset=5&limit=2', ['count']],
        ['HEAD', '/cars/search?q=clio', ['count']],
        ['GET', '/cars', ['list']],
        ['GET', '/cars/count', ['count']],
        ['HEAD', '/cars/count', ['count']],
        ['GET', '/cars/<id>', ['find']],
        ['HEAD', '/cars/<id>', ['find']],
        ['HEAD', '/cars/<id>/options', ['find', 'count']],
        ['OPTIONS', '/cars', []],
        ['GET', '/', []],
        ['GET', '/cars?colr=red', []],
      ])('%s %s asks the store for %j', async (method, path, expected) => {
        const { calls, items } = made()
        calls.length = 0
        await handler.request(path.replace('<id>', String(items[0]?.id)), { method })
        expect(calls).toEqual(expected)
      })

      it.each([
        '/cars',
        '/cars?limit=0',
        '/cars?offset=5&limit=2&color=red',
        '/cars?offset=999',
        '/cars?sort=-price&fields=id',
      ])('HEAD %s has the headers of GET', async path => {
        const get = await handler.request(path)
        const head = await handler.request(path, { method: 'HEAD' })
        expect([head.status, head.text]).toEqual([200, ''])
        const names = [
          'x-result-count',
          'content-range',
          'accept-ranges',
          'content-type',
          'vary',
          'cache-control',
          'access-control-allow-origin',
          'x-content-type-options',
        ]
        for (const name of names)
          expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)])
        // By cursor GET knows the key to continue from, which HEAD would have to list for.
        const link = path.includes('offset') ? get.headers.get('link') : null
        expect(head.headers.get('link')).toBe(link)
      })

      it('links go by names, however they are escaped', async () => {
        const { previous = '' } = rels(await handler.request('/cars?offset=3&%6Cimit=5'))
        expect(await handler.request(previous)).toMatchObject({ status: 200 })
        expect(previous).toContain('offset=0&limit=3')
      })

      it('HEAD with a condition on the tag answers as GET does', async () => {
        const get = await handler.request('/cars?limit=3')
        const tag = get.headers.get('etag') ?? ''
        const ask = (headers: Record<string, string>) =>
          handler.request('/cars?limit=3', { method: 'HEAD', headers })
        expect((await ask({ 'if-none-match': tag })).status).toBe(304)
        expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200)
        expect((await ask({ 'if-match': tag })).status).toBe(200)
        expect((await ask({ 'if-match': '"other"' })).status).toBe(412)
      })
    },
    { once: true },
  )
})

describe('Pagination headers: Prefer: count', () => {
  eachHandler(
    sixty,
    (handler, made) => {
      it.each([
        ['exact', '60', 'cars 0-24/60'],
        ['estimated', '60', 'cars 0-24/60'],
        ['none', null, 'cars 0-24/*'],
      ])('count=%s', async (mode, total, contentRange) => {
        const { headers, json } = await handler.request('/cars', {
          headers: { prefer: `count=${mode}` },
        })
        expect(json).toHaveLength(25)
        expect(headers.get('x-result-count')).toBe(total)
        expect(headers.get('content-range')).toBe(contentRange)
        expect(headers.get('preference-applied')).toBe(`count=${mode}`)
        expect(headers.get('vary')).toContain('Prefer')
      })

      it('next does not depend on the total', async () => {
        const { items } = made()
        const headers = { prefer: 'count=none' }
        let answer = await handler.request('/cars?limit=7', { headers })
        const seen = [places(answer, items)]
        for (let next = rels(answer).next; next; next = rels(answer).next) {
          expect(rels(answer).last).toBeUndefined()
          answer = await handler.request(next, { headers })
          seen.push(places(answer, items))
        }
        expect(seen.flat()).toEqual(span(0, COUNT - 1))
      })

      it('without a total an empty page has no Content-Range', async () => {
        const headers = { prefer: 'count=none' }
        const answer = await handler.request('/cars?offset=100', { headers })
        expect(answer).toMatchObject({ status: 200, text: '[]' })
        expect(answer.headers.get('content-range')).toBeNull()
      })

      it.each([
        ['GET', 'count=exact'],
        ['GET', 'count=none'],
        ['HEAD', 'count=exact'],
      ])(
        '%s of a list that is streamed whole does not say that %s was applied',
        async (method, prefer) => {
          const headers = { prefer, range: 'cars=0-1' }
          const answer = await handler.request('/cars.ndjson', { method, headers })
          expect(answer.status).toBe(200)
          for (const name of ['preference-applied', 'x-result-count', 'content-range', 'vary'])
            expect([name, answer.headers.get(name)]).toEqual([name, null])
        },
      )

      it('without a total a Range from behind the end is 416 still', async () => {
        const headers = { prefer: 'count=none', range: 'cars=100-109' }
        const answer = await handler.request('/cars', { headers })
        expect(answer.status).toBe(416)
      })

      it('HEAD with count=none asks no store and has no total', async () => {
        const headers = { prefer: 'count=none' }
        const answer = await handler.request('/cars', { method: 'HEAD', headers })
        expect(answer.status).toBe(200)
        expect(answer.headers.get('x-result-count')).toBeNull()
        expect(answer.headers.get('preference-applied')).toBe('count=none')
      })

      it.each(['none', 'estimated'])('HEAD with count=%s agrees with GET', async mode => {
        const headers = { prefer: `count=${mode}` }
        for (const path of ['/cars', '/cars?offset=30&limit=5', '/cars?limit=0']) {
          const get = await handler.request(path, { headers })
          const head = await handler.request(path, { method: 'HEAD', headers })
          expect(head.status).toBe(200)
          for (const name of ['accept-ranges', 'x-result-count', 'preference-applied', 'vary'])
            expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)])
          expect([head.headers.get('link'), head.headers.get('content-range')]).toEqual([
            null,
            null,
          ])
        }
      })

      it.each([
        ['exact', 'count=exact'],
        ['estimated', 'count=estimated'],
        ['none', null],
      ])('GET /<collection>/count with count=%s applies what it can', async (mode, applied) => {
        const { headers, json } = await handler.request('/cars/count', {
          headers: { prefer: `count=${mode}` },
        })
        expect(json).toEqual({ count: 60 })
        expect(headers.get('preference-applied')).toBe(applied)
      })

      it.each([undefined, 'count=many', 'return=minimal'])(
        'no preference that counts: %s',
        async prefer => {
          const { headers } = await handler.request('/cars', {
            headers: { ...(prefer && { prefer }) },
          })
          expect(headers.get('x-result-count')).toBe('60')
          expect(headers.get('preference-applied')).toBeNull()
        },
      )
    },
    { once: true },
  )
})

describe('Pagination headers: sub-collections and relations', () => {
  const make = async () => {
    const made = example()
    const items = await seed(made, 3)
    for (let at = 0; at < 30; at++) {
      await made.api
        .collection('options')
        .create({ car_id: String(items[at % 2]?.id), name: `o${at}` })
    }
    return { ...made, items }
  }
  eachHandler(
    make,
    (handler, made) => {
      it('pages of /<collection>/<id>/<sub_collection>', async () => {
        const [one] = made().items
        const path = `/cars/${one?.id}/options`
        const answer = await handler.request(`${path}?limit=10`)
        expect(answer.json).toHaveLength(10)
        expect((answer.json as Item[]).every(({ car_id }) => car_id === one?.id)).toBe(true)
        expect(answer.headers.get('content-range')).toBe('options 0-9/15')
        const { next = '' } = rels(answer)
        expect(next.startsWith(`${handler.base}${path}?limit=10&cursor=`)).toBe(true)
        expect((await handler.request(next)).json).toHaveLength(5)
        expect((await handler.request(`${path}/count`)).json).toEqual({ count: 15 })
      })

      it('a parent without any, and a parent that does not exist', async () => {
        const [, , three] = made().items
        expect(await handler.request(`/cars/${three?.id}/options`)).toMatchObject({
          status: 200,
          text: '[]',
        })
        expect((await handler.request('/cars/nobody/options')).status).toBe(404)
        expect((await handler.request('/cars/nobody/options/count')).status).toBe(404)
      })
    },
    { once: true },
  )
})

describe('Pagination headers: a place that no link can hold', () => {
  const TEXTS = ['a', 'b'.repeat(20_000), 'c'.repeat(1600), `d${'é'.repeat(900)}`, 'z']
  const LONG_NAME = 'x'.repeat(800)
  const make = async () => {
    const notes = defineCollection({
      name: 'notes',
      id: 'integer',
      schema: z.object({ text: z.string(), [LONG_NAME]: z.string().optional() }),
      store: memoryStore(),
    })
    const api = defineApi({ collections: [notes] })
    for (const text of TEXTS) await api.collection(notes).create({ text })
    return { api }
  }
  eachHandler(make, handler => {
    it.each([
      ['', ''],
      ['the total unknown', 'count=none'],
    ])('is gone on from by position %s', async (_row, prefer) => {
      const page = (href: string) => handler.request(href, { headers: { prefer } })
      let answer = await page('/notes?sort=text&fields=id&limit=1')
      const forth = [ids(answer)]
      const forms: string[] = []
      for (let next = rels(answer).next; next; next = rels(answer).next) {
        forms.push(/(offset|cursor)=/.exec(next)?.[1] ?? '')
        expect(answer.headers.get('link')?.length).toBeLessThan(2800)
        answer = await page(next)
        forth.push(ids(answer))
      }
      expect(forth.flat()).toEqual([1, 2, 3, 4, 5])
      expect(forms).toEqual(['cursor', 'offset', 'offset', 'offset'])
    })

    it('leads on by headers that nginx reads unless configured otherwise, 4 KiB, for a filter of 2 KiB', async () => {
      const values = Array.from({ length: 54 }, () => randomUUID())
      const answer = await handler.request(`/notes?text[in]=${['a', 'z', ...values]}&limit=1`)
      expect(Object.keys(rels(answer))).toEqual(['next'])
      const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}\r\n`)
      expect(lines.join('').length).toBeLessThan(4096 - 100)
    })

    it('backwards too; the length of the sort does not count', async () => {
      let answer = await handler.request('/notes?sort=text&fields=id&limit=2')
      answer = await handler.request(rels(answer).last ?? '')
      expect(ids(answer)).toEqual([4, 5])
      const { previous = '' } = rels(answer)
      expect(new URL(previous).search).toBe('?sort=text&fields=id&limit=2&offset=1')
      expect(ids(await handler.request(previous))).toEqual([2, 3])

      answer = await handler.request(`/notes?sort=${LONG_NAME}&fields=id&limit=2`)
      const { next = '', last = '' } = rels(answer)
      expect([next, last].every(href => new URL(href).searchParams.has('cursor'))).toBe(true)
      expect(ids(await handler.request(next))).toEqual([3, 4])
    })
  })
})
