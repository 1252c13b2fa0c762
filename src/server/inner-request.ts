// A request that another one makes in this process: it has the connection of that one, and ends with it.

import type { TextBudget } from '../base/text-budget.ts'
import type { ReceivedRequest, RequestBody, RequestHeaders } from '../http/message.ts'
import { createHeaders } from '../http/request-headers.ts'

interface InnerOptions {
  readonly method: string
  readonly target: string
  /** Default none. */
  readonly prefix?: string
  /** Values that are `undefined` are not there. */
  readonly headers: RequestHeaders
  readonly body?: RequestBody | undefined
}

export class InnerRequest implements ReceivedRequest {
  readonly target: string
  readonly prefix: string
  readonly headers: RequestHeaders
  readonly headerCount = 0
  readonly body: RequestBody | undefined
  readonly address: string | undefined
  readonly secure: boolean | undefined
  readonly needsHost: boolean
  readonly method: string
  readonly textBudget: TextBudget
  readonly #outer: ReceivedRequest

  constructor(
    outer: ReceivedRequest,
    { method, target, prefix = '', headers, body }: InnerOptions,
  ) {
    this.#outer = outer
    this.textBudget = outer.textBudget
    this.method = method
    this.target = target
    this.prefix = prefix
    this.headers = Object.assign(createHeaders(), headers)
    this.body = body
    this.address = outer.address
    this.secure = outer.secure
    this.needsHost = outer.needsHost
  }

  get id(): string {
    return this.#outer.id
  }

  get knownId(): string | undefined {
    return this.#outer.knownId
  }

  get signal(): AbortSignal {
    return this.#outer.signal
  }

  get aborted(): boolean {
    return this.#outer.aborted
  }

  abort(reason: Error): void {
    this.#outer.abort(reason)
  }
}
