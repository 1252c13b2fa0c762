// The id of a request, which connects the logs of several programs.
import { randomUUID } from 'node:crypto'
import type { RequestHeaders } from './message.ts'

const REQUEST_ID = /^[\w.:-]{1,128}$/

/** Reads an id if it is safe in a header, a message and a log. */
export function parseRequestId(id: unknown): string | undefined {
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : undefined
}

/** A request with an id. Without one, reading it creates one. */
export abstract class IdentifiedRequest {
  /** The id from a trusted proxy, or the id that was created; `undefined` before it is created. */
  knownId: string | undefined

  /** @param hops how many proxies are trusted. */
  constructor(headers: RequestHeaders, hops: number) {
    this.knownId = hops === 0 ? undefined : parseRequestId(headers['x-request-id'])
  }

  get id(): string {
    this.knownId ??= parseRequestId(this.hostId) ?? randomUUID()
    return this.knownId
  }

  /** The id that a host server has given it. */
  protected get hostId(): unknown {
    return undefined
  }
}
