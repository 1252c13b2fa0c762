// A resource whose calls are those of a transaction, which notices the ones that nobody awaits.
import { iterate } from '../../base/iterate.ts'
import type { List, Resource } from '../../model/types/resource.ts'
import type { RunningCalls } from './running-transaction.ts'

/** Tracks all calls of a resource. A list counts while it reads. */
export function trackCalls<R extends Resource>(resource: R, name: string, calls: RunningCalls): R {
  const track = ([operation, call]: readonly [string, unknown]) => [
    operation,
    // Methods and actions return promises, or the lists below.
    (...given: unknown[]) =>
      calls.track(
        `${name}.${operation}`,
        Reflect.apply(call as () => Promise<unknown>, undefined, given),
      ),
  ]
  const trackList = <T>(operation: string, list: List<T>): List<T> => {
    const within = <V>(call: Promise<V>) => calls.track(`${name}.${operation}`, call)
    return {
      [Symbol.asyncIterator]() {
        const items = list[Symbol.asyncIterator]()
        return iterate(async () => (await within(items.next())).value, items)
      },
      page: () => within(list.page()),
      first: () => within(list.first()),
      toArray: options => within(list.toArray(options)),
    }
  }
  const { list, search, actions, ...methods } = resource
  const lists = {
    list: (...given: Parameters<typeof list>) => trackList('list', list(...given)),
    search: (...given: Parameters<typeof search>) => trackList('search', search(...given)),
  }
  const tracked = {
    ...Object.fromEntries(Object.entries(methods).map(track)),
    ...lists,
    actions: Object.fromEntries(Object.entries(actions).map(track)),
  }
  return tracked
}
