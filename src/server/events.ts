// Events of requests and responses, for metrics, traces and logs: published on node:diagnostics_channel,
// where somebody subscribes.
import { channel } from 'node:diagnostics_channel'
import type { Principal } from '../auth/scheme.ts'
import type { HttpError } from '../errors.ts'
import type { HttpRequest } from '../http/message.ts'
import { type PoisonEvent, poisonChannel } from '../operations/programs/take.ts'
import { type WorkEvent, workChannel } from '../store/events.ts'

/** Published when the target of a request is known, before credentials are checked. */
export interface RequestEvent {
  /** That of the request: see {@link HttpRequest.id}. The response has it as `X-Request-Id`. */
  readonly id: string
  readonly request: HttpRequest
  /** The client's address, as trusted proxies forward it. */
  readonly client: string | undefined
  /** The method as it was sent. */
  readonly method: string
  /** The path's pattern, such as `/v1/cars/:id`: OpenTelemetry's `http.route`. Absent where nothing stands at the path. */
  readonly route: string | undefined
}

/** Published when the response is made; its body may still have to be sent. */
export interface ResponseEvent extends RequestEvent {
  /** The effective method, `_method` applied. */
  readonly method: string
  /** The status that was sent. */
  readonly status: number
  /** The name of the operation or action; absent for a request that did not come so far. */
  readonly operation: string | undefined
  readonly collection: string | undefined
  readonly principal: Principal | undefined
  /** The error, if the request ended with one; its `cause` is for the log alone. */
  readonly error: HttpError | undefined
  /** Milliseconds. */
  readonly duration: number
}

/** The names of the channels. */
export const REQUEST_CHANNEL = 'rest-conventions:request'
export const RESPONSE_CHANNEL = 'rest-conventions:response'

export const requestChannel = channel(REQUEST_CHANNEL)
export const responseChannel = channel(RESPONSE_CHANNEL)

/**
 * Calls a listener for every request of every api in this process. An error that it throws, or rejects
 * with, is printed by `console.error` and fails nothing.
 * @returns a function that ends the subscription.
 */
export function onRequest(listener: (event: RequestEvent) => void): () => void {
  return subscribe(requestChannel, listener)
}

/** Calls a listener for every response, in the same way. */
export function onResponse(listener: (event: ResponseEvent) => void): () => void {
  return subscribe(responseChannel, listener)
}

/** Calls a listener for every item that `take` leaves out after `maxAttempts`, once, in the same way. */
export function onPoison(listener: (event: PoisonEvent) => void): () => void {
  return subscribe(poisonChannel, listener)
}

/**
 * Calls a listener for work behind requests, in the same way: retries after conflicts, waits, leases of `take`, and contents
 * that could not be removed.
 * @example
 * import { onWork } from 'rest-conventions'
 *
 * onWork(event => {
 *   if (event.type === 'wait') console.log(`Waited ${event.duration} ms for a ${event.for}`)
 * })
 */
export function onWork(listener: (event: WorkEvent) => void): () => void {
  return subscribe(workChannel, listener)
}

function subscribe<E>(to: typeof requestChannel, listener: (event: E) => unknown): () => void {
  const call = (message: unknown) => {
    try {
      const result = listener(message as E) // each channel has one type of events
      if (typeof result === 'object') Promise.resolve(result).catch(reportListener)
    } catch (error) {
      reportListener(error)
    }
  }
  to.subscribe(call)
  return () => {
    to.unsubscribe(call)
  }
}

/** Thrown by a subscriber of a channel, an error would end the process. */
function reportListener(error: unknown): void {
  console.error('[rest-conventions] A listener of events failed', error)
}
