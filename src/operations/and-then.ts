import type { Awaitable } from '../schema/values.ts'

/** Goes on with a value, at once where it is there already: an `await` would cost every read a turn. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
