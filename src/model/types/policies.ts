// How collections are served: the options of an api besides its collections.
import type { Access } from '../../auth/access.ts'
import type { RateLimitOptions } from '../../auth/rate-limit.ts'
import type { BasePrincipal, Scheme } from '../../auth/scheme.ts'
import type { AnyErrorType, ErrorEntry, HttpError } from '../../errors.ts'
import type { Format } from '../../formats/format.ts'
import type { CorsOptions } from '../../http/cors.ts'
import type { LimitOptions } from '../../http/limits.ts'
import type { HttpRequest } from '../../http/message.ts'
import type { Dialect } from '../../query.ts'

/** Who is responsible for an api (OpenAPI, "Contact Object"). */
export interface Contact {
  readonly name?: string | undefined
  readonly url?: string | undefined
  readonly email?: string | undefined
}

/** How collections are served: the options of an api besides its collections. */
export interface Policies {
  /** The name of the api in its OpenAPI document. Default `API`. */
  readonly title?: string | undefined
  /** A description for readers of the OpenAPI document. Default none. */
  readonly description?: string | undefined
  /** The contact in the OpenAPI document. Default none. */
  readonly contact?: Contact | undefined
  /**
   * The public address of the api's root, such as `https://api.example`. Without, addresses are made
   * from each request's `Host`.
   */
  readonly baseUrl?: string | undefined
  /** The path that every request begins with where no host server strips it: `/api`. Default none. */
  readonly prefix?: string | undefined
  /**
   * Where people sign in, for the page of a 401: a path such as `/login`, or an address. The link adds the path of the page as
   * the parameter `next`. It is not checked that it answers.
   */
  readonly signIn?: string | undefined
  /**
   * How many proxies in front are trusted: so many entries of `X-Forwarded-For` count, from its end,
   * and `X-Forwarded-Host` and `-Proto` do; `true` is 1. Default false: anybody can send them.
   */
  readonly trustProxy?: boolean | number | undefined
  /**
   * Returns the address of the client for `fetch`, since a `Request` has none: from `request`, or from the other
   * arguments that the host calls `fetch` with. `handler` reads it from the socket. Read a header only where
   * the host sets it: clients can send any other. An invalid address counts as none; `fetch` rejects with
   * whatever it throws. Default: the address is unknown.
   */
  clientAddress?(request: Request, ...host: readonly unknown[]): string | null | undefined
  /** The formats; a client that asks for none gets the first. Default: `DEFAULT_FORMATS`. */
  readonly formats?: readonly Format[] | undefined
  /** Dialects: query parameters of other clients. Default none. */
  readonly dialects?: readonly Dialect[] | undefined
  /** Which origins may read answers in a browser, and what they may send. Default: all, without credentials. */
  readonly cors?: CorsOptions | undefined
  /** Limits of size and time for a request; each has its own default. */
  readonly limits?: LimitOptions | undefined
  /** How credentials are checked. With a scheme, all that no rule declares public needs a principal. Default none. */
  readonly schemes?: readonly Scheme<BasePrincipal>[] | undefined
  /** The rules for the root (`root`) and for collections that have no rule (`default`). */
  readonly access?: Access | undefined
  /** How many requests a principal, or an address without one, may make. Default: no limit. */
  readonly rateLimit?: RateLimitOptions | undefined
  /**
   * The answer to a PUT, a PATCH, or an action of an item without a result, unless `Prefer` asks for another:
   * `redirect` is a 303 to the item, `representation` a 200 with it. HTML pages always redirect. Default `redirect`.
   */
  readonly changes?: 'redirect' | 'representation' | undefined
  /**
   * Whether `POST /batch` does several changes as one, in each version. Its collections need a store with transactions.
   * Default false.
   */
  readonly batch?: boolean | undefined
  /**
   * Whether `/health` exists; public. It is 200 while the process serves, and says what is degraded: stores that cannot be
   * reached, a full disk, tables that refuse every create. `/health?ready` is 503 until every store has answered once, and
   * from `shutDown` on. Default false.
   */
  readonly health?: boolean | undefined
  /** Whether answers have `Server-Timing` with the duration of each step; public. Default false. */
  readonly serverTiming?: boolean | undefined
  /** Called for every failure that was answered with a 5xx, and for every `after` hook that failed. Default: `console.error`. */
  readonly onError?: ((error: unknown, failure: Failure) => void) | undefined
  /**
   * Messages of error responses, by the `type` of the issue. Errors of calls in process keep their messages.
   * Default: English; messages of zod in the locale of `z.config()`.
   */
  readonly messages?: Messages | undefined
}

/** A failure that was answered with a 5xx, or that of an `after` hook, for `onError`. */
export interface Failure {
  /**
   * Who has to look at it: `bug` for a failure of the program or of ours, `dependency` for a store or service that cannot be
   * reached or has no room, `overload` for more work than the server takes.
   */
  readonly kind: 'bug' | 'dependency' | 'overload'
  /** The id of the request, which the client can quote: it is in `X-Request-Id`, and in the message of a 500. */
  readonly reference: string
  readonly error: HttpError
  readonly request: HttpRequest
}

/**
 * The message of an issue: a text, or a function that makes it, in the language of the request for example.
 * `undefined` keeps the message.
 */
export type Message = string | ((issue: ErrorEntry, request: HttpRequest) => string | undefined)

/** Messages by the `type` of the issue; docs/errors.md lists the types. */
export type Messages = { readonly [Type in AnyErrorType]?: Message }
