// The id of a request, by which logs of several programs are put together.
import { randomUUID } from 'node:crypto'
import type { RequestHeaders } from './message.ts'

const REQUEST_ID = /^[\w.:-]{1,128}$/

/** Reads an id if it can stand in a header, a message and a log. */
export function parseRequestId(id: unknown): string | undefined {
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : undefined
}

/** A request that has an id, which is made if it is read and there is none. */
export abstract class IdentifiedRequest {
  /** The id as far as it is known: of a trusted proxy, or once it was read. */
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
