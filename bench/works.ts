// The five works: what is asked, and what a right answer is.
import { deepStrictEqual } from 'node:assert'
// @ts-expect-error: the contestants and their data are plain JavaScript, as their users write it.
import { makeCars, pagesOf, targetOf, valuesOf } from './cars.js'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** What a contestant's file says of itself; the paths are those of all others where it says nothing. */
export interface Contestant {
  readonly name: string
  /** The works it takes part in; all where absent. */
  readonly works?: readonly string[]
  /** Whether its answers are made up. */
  readonly constant?: boolean
  readonly page?: (color: string, offset: number) => string
  readonly readPage?: (answer: Answer) => { items: unknown; total: number }
}

export interface Work {
  readonly title: string
  readonly status: number
  /** The requests of a round, one after another; asks the server where it must. */
  requests(contestant: Contestant, ask: (request: Request) => Promise<Answer>): Promise<Request[]>
  /** @throws AssertionError for a wrong answer. */
  check(contestant: Contestant, request: Request, answer: Answer): void
}

const cars: Record<string, unknown>[] = makeCars()
/** All of them in mixed order: 7919 shares no factor with their number. */
const ids = Array.from(cars, (_, at) => 1 + ((at * 7919) % cars.length))
const fewIds = ids.slice(0, 100)

/** Dates differ where a store sets them. */
function withoutDates(item: unknown): unknown {
  const { created_at: _made, updated_at: _changed, ...values } = Object(item)
  return values
}

const plainRead = ({ body, headers }: Answer) => ({
  items: body,
  total: Number(headers.get('x-result-count')),
})

function pageWork(title: string, texts: number): Work {
  const pages: readonly { color: string; offset: number }[] = pagesOf(texts)
  return {
    title,
    status: 200,
    requests: async ({ page = targetOf }) =>
      pages.map(({ color, offset }) => ({ method: 'GET', path: page(color, offset) })),
    check({ readPage = plainRead }, { path }, answer) {
      const query = new URLSearchParams(path.split('?')[1])
      const offset = Number(query.get('offset') ?? query.get('$skip') ?? query.get('_start'))
      const all = cars.filter(car => car.color === query.get('color'))
      const { items, total } = readPage(answer)
      deepStrictEqual(items, all.slice(offset, offset + 25))
      deepStrictEqual(total, all.length)
    },
  }
}

export const works: Record<string, Work> = {
  W1: {
    title: 'one item by id',
    status: 200,
    requests: async () => ids.map(id => ({ method: 'GET', path: `/cars/${id}` })),
    check(_contestant, { path }, { body }) {
      deepStrictEqual(body, cars[Number(path.slice(6)) - 1])
    },
  },
  W2: pageWork('filtered page of 25 of 10,000, total, Link; 12 texts', 12),
  W2b: pageWork('the same, 8,400 different texts', 8400),
  W3: {
    title: 'revalidation, 304',
    status: 304,
    requests: (_contestant, ask) =>
      Promise.all(
        fewIds.map(async id => {
          const request = { method: 'GET', path: `/cars/${id}` }
          const tag = (await ask(request)).headers.get('etag') ?? 'no ETag'
          return { ...request, headers: { 'If-None-Match': tag } }
        }),
      ),
    check(_contestant, _request, { body }) {
      deepStrictEqual(body, undefined)
    },
  },
  W4: {
    title: 'create, validated, 201',
    status: 201,
    requests: async () =>
      fewIds.map(id => ({
        method: 'POST',
        path: '/cars',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(valuesOf(id - 1)),
      })),
    check(_contestant, { body: sent = '' }, { body }) {
      const { id, ...values } = Object(withoutDates(body))
      deepStrictEqual(values, JSON.parse(sent))
      deepStrictEqual(Number.isInteger(id), true)
    },
  },
}
