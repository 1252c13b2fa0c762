// Lists over HTTP: page after page by `Link`, iterated one page ahead.
import type { List, Page } from '../model/types/resource.ts'
import { notAnAnswer } from './errors.ts'
import { link } from './time.ts'

/** A page as it was received. */
export interface Received<T> {
  readonly status: number
  readonly headers: Headers
  readonly value: readonly T[]
}

/**
 * Reads the page of a query string.
 * @param prefer what to prefer: the total is not always needed.
 * @param walks whether the page belongs to a walk: it is cached only if it is the whole list.
 */
export type ReadPage<T> = (
  query: string,
  signal: AbortSignal | undefined,
  prefer?: string,
  walks?: boolean,
) => Promise<Received<T>>

const NO_TOTAL = 'count=none'

/**
 * Creates a list.
 * @param print prints the query string, with a limit or without one.
 * @param limit the maximum number of items.
 */
export function createList<T>(
  read: ReadPage<T>,
  print: (limit?: number) => string,
  limit: number | undefined,
  signal: AbortSignal | undefined,
): List<T> {
  /** The limit of each request of a walk; a collection may return fewer items. */
  const PAGE_SIZE = 100
  const MAX_ITEMS = 10_000
  const most = limit ?? Infinity

  /** @param walks whether the page, and those that follow it, belong to a walk. */
  async function readPage(query: string, inner = signal, walks?: boolean): Promise<Page<T>> {
    const received = await read(query, inner, walks ? NO_TOTAL : undefined, walks)
    const { value, headers } = received
    const total = headers.get('x-result-count')
    const next = new URLSearchParams(findLink(headers, 'next'))
    const page = {
      items: value,
      total: total ? +total : undefined,
      // Some lists go on by `offset`.
      cursor: next.get('cursor') ?? next.get('offset') ?? undefined,
    }
    // A copy has no functions, and what sends a page elsewhere takes plain objects alone.
    for (const relation of ['next', 'previous'])
      Object.defineProperty(page, relation, {
        async value() {
          const link = findLink(headers, relation)
          if (link === undefined) return undefined
          // It might never end.
          if (relation === 'next' && (!value.length || link === query)) throw notAnAnswer(received)
          return readPage(link, inner, walks)
        },
      })
    return page as Page<T> // just now it got the rest
  }

  async function* walk(): AsyncGenerator<T, void> {
    const [controller, unlink] = link(signal)
    let left = most
    try {
      let ahead: Promise<Page<T> | undefined> | undefined =
        left > 0 ? readPage(print(Math.min(left, PAGE_SIZE)), controller.signal, true) : undefined
      for (let page = await ahead; page; page = await ahead) {
        const { items } = page
        ahead = left > items.length ? page.next() : undefined
        // The next turn of the loop throws its failure.
        ahead?.catch(() => {})
        yield* items.slice(0, left)
        left -= items.length
      }
    } finally {
      unlink()
      controller.abort()
    }
  }

  return {
    [Symbol.asyncIterator]: walk,
    page: async () => readPage(print(limit)),
    first: async () => (most > 0 ? (await read(print(1), signal, NO_TOTAL)).value[0] : undefined),
    async toArray({ max = MAX_ITEMS } = {}) {
      const items: T[] = []
      for await (const item of walk()) {
        if (items.push(item) > max) {
          throw new RangeError(`The list has more than ${max} items`)
        }
      }
      return items
    },
  }
}

/** Finds the query string of a link. Its path is not used: behind a proxy it may be another one. */
export function findLink(headers: Headers, relation: string): string | undefined {
  return headers.get('link')?.match(`<[^>?]*([^>]*)>; rel="${relation}"`)?.[1]
}
