// Lists over HTTP: page after page by `Link`, iterated one page ahead.
import type { List, Page } from '../model/resource.ts'

/** A page as it was received. */
export interface Received<T> {
  readonly value: readonly T[]
  readonly headers: Headers
}

export interface ReadOptions {
  /** Whether to request the total. */
  readonly counts?: boolean
  /** Whether the page belongs to a walk: it is cached only if it is the whole list. */
  readonly walks?: boolean
  readonly stop?: AbortSignal
}

/** Reads the page of a query string. */
export type ReadPage<T> = (query: string, options: ReadOptions) => Promise<Received<T>>

/** The limit of each request of a walk; a collection may return fewer items. */
const PAGE_SIZE = 100
const MAX_ITEMS = 10_000

/**
 * Creates a list.
 * @param print prints the query string, with a limit or without one.
 * @param limit the maximum number of items.
 */
export function createList<T>(
  read: ReadPage<T>,
  print: (limit?: number) => string,
  limit: number | undefined,
): List<T> {
  const most = limit ?? Number.MAX_VALUE

  async function readPage(query: string): Promise<Page<T>> {
    const { value, headers } = await read(query, { counts: true })
    const total = headers.get('x-result-count')
    const follow = async (relation: string) => {
      const link = findLink(headers, relation)
      return link === undefined ? undefined : readPage(link)
    }
    return {
      items: value,
      total: total === null ? undefined : Number(total),
      next: () => follow('next'),
      previous: () => follow('previous'),
    }
  }

  async function* walk(): AsyncGenerator<T, void> {
    const controller = new AbortController()
    const options = { walks: true, stop: controller.signal }
    let left = most
    let ahead = left > 0 ? read(print(Math.min(left, PAGE_SIZE)), options) : undefined
    try {
      while (ahead) {
        const { value, headers }: Received<T> = await ahead
        const next = findLink(headers, 'next')
        const more = next !== undefined && left > value.length
        ahead = more ? read(next, options) : undefined
        // The next turn of the loop throws its failure.
        ahead?.catch(() => {})
        yield* value.slice(0, left)
        left -= value.length
      }
    } finally {
      controller.abort()
    }
  }

  return {
    [Symbol.asyncIterator]: walk,
    page: () => readPage(print(limit)),
    first: async () => (most > 0 ? (await read(print(1), {})).value[0] : undefined),
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
  const links = headers.get('link') ?? ''
  const end = links.indexOf(`>; rel="${relation}"`)
  if (end === -1) return undefined
  const address = links.slice(links.lastIndexOf('<', end), end)
  const query = address.indexOf('?')
  return query === -1 ? '' : address.slice(query)
}
