// Builds the definition of an api from its policies, with their defaults, and its versions.

import { type Access, buildAccess } from '../auth/access.ts'
import { buildRateLimit, type RateLimitOptions } from '../auth/rate-limit.ts'
import { collectCredentialHeaders, type Scheme } from '../auth/scheme.ts'
import { csv } from '../formats/csv.ts'
import { form } from '../formats/form.ts'
import type { Format } from '../formats/format.ts'
import { json } from '../formats/json.ts'
import { multipart } from '../formats/multipart.ts'
import { ndjson } from '../formats/ndjson.ts'
import { xml } from '../formats/xml/xml.ts'
import { buildCors, type CorsOptions } from '../http/cors.ts'
import { buildLimits, type LimitOptions } from '../http/limits.ts'
import {
  BOOLEAN,
  checkOptions,
  either,
  FILLED_TEXT,
  FUNCTION,
  having,
  listOf,
  matching,
  OBJECT,
  oneOf,
  type Rule,
  type Rules,
  recordOf,
  TEXT,
  wholeFrom,
} from '../options.ts'
import type { Dialect } from '../query.ts'
import { hideWriteOnly } from './compile-field-roles.ts'
import type { ApiDefinition, Failure, Messages, VersionDefinition } from './definition.ts'

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
  /** The formats; a client that asks for none gets the first. Default {@link DEFAULT_FORMATS}. */
  readonly formats?: readonly Format[] | undefined
  /** Dialects: query parameters of other clients. Default none. */
  readonly dialects?: readonly Dialect[] | undefined
  /** Which origins may read answers in a browser, and what they may send. Default: all, without credentials. */
  readonly cors?: CorsOptions | undefined
  /** Limits of size and time for a request; each has its own default. */
  readonly limits?: LimitOptions | undefined
  /** How credentials are checked. With a scheme, all that no rule declares public needs a principal. Default none. */
  readonly schemes?: readonly Scheme[] | undefined
  /** The rules for the root (`root`) and for collections that have no rule (`default`). */
  readonly access?: Access | undefined
  /** How many requests a principal, or an address without one, may make. Default: no limit. */
  readonly rateLimit?: RateLimitOptions | undefined
  /**
   * The answer to a PUT, a PATCH, or an action of an item without a result, unless `Prefer` asks for another:
   * `redirect` is a 303 to the item, `representation` a 200 with it. HTML pages always redirect. Default `redirect`.
   */
  readonly changes?: 'redirect' | 'representation' | undefined
  /** Whether `/health` exists: 200 while the stores can be reached, else 503; public. Default false. */
  readonly health?: boolean | undefined
  /** Whether answers have `Server-Timing` with the duration of each step; public. Default false. */
  readonly serverTiming?: boolean | undefined
  /** Called for every failure that was answered with a 5xx. Default: `console.error`. */
  readonly onError?: ((error: unknown, failure: Failure) => void) | undefined
  /**
   * Messages of error responses, by the `type` of the issue. Errors of calls in process keep their messages.
   * Default: English; messages of zod in the locale of `z.config()`.
   */
  readonly messages?: Messages | undefined
}

/** The formats of an api without `formats`: the specification's four media types, and two that stream whole lists. */
export const DEFAULT_FORMATS: readonly Format[] = [json, xml, form, multipart, csv, ndjson]

const FORMAT: Rule = {
  wanted: 'a format, such as json',
  fits: value => typeof value === 'object' && value !== null && 'types' in value,
}

export const POLICY_RULES: Rules<Policies> = {
  title: FILLED_TEXT,
  description: TEXT,
  contact: OBJECT,
  baseUrl: TEXT,
  prefix: matching('a path such as /api', /^(?:\/[A-Za-z0-9._~-]+)*\/?$/),
  trustProxy: either('a number of proxies, or true for one', wholeFrom(0), BOOLEAN),
  clientAddress: FUNCTION,
  formats: listOf(FORMAT, 1),
  dialects: listOf(having('a dialect, such as simpleRest', 'rewrite')),
  cors: OBJECT,
  limits: OBJECT,
  schemes: listOf(having('a scheme, such as basic({ … })', 'authenticate', 'challenge')),
  access: OBJECT,
  rateLimit: OBJECT,
  changes: oneOf('redirect', 'representation'),
  health: BOOLEAN,
  serverTiming: BOOLEAN,
  onError: FUNCTION,
  messages: recordOf(either('a text or a function', TEXT, FUNCTION)),
}

/**
 * Builds the definition of an api.
 * @throws TypeError for an issue in the policies, such as an invalid `baseUrl`.
 */
export function buildApi(
  versions: readonly VersionDefinition[],
  policies: Policies,
): ApiDefinition {
  const newest = hideWriteOnly(versions).sort(
    ({ number: one = 0 }, { number: other = 0 }) => other - one,
  )
  const defaultVersion = newest.find(({ deprecated }) => deprecated === undefined) ?? newest[0]
  if (!defaultVersion) throw new TypeError('An api needs at least one collection')
  if (policies.baseUrl === undefined && policies.schemes?.some(scheme => scheme.needsBaseUrl)) {
    throw new TypeError(
      'bearerJwt without audience accepts tokens for the baseUrl of the api: set baseUrl, or audience',
    )
  }
  return Object.freeze({
    versions: newest,
    defaultVersion,
    info: infoOf(policies),
    baseUrl: baseUrlOf(policies.baseUrl),
    prefix: policies.prefix?.replace(/\/$/, '') ?? '',
    trustProxy: Number(policies.trustProxy ?? 0),
    clientAddress: policies.clientAddress,
    formats: policies.formats ?? DEFAULT_FORMATS,
    dialects: policies.dialects ?? [],
    cors: buildCors(policies.cors),
    limits: buildLimits(policies.limits),
    schemes: policies.schemes ?? [],
    credentialHeaders: collectCredentialHeaders(policies.schemes),
    access: buildAccess(policies.access, ['root'], 'the api'),
    rateLimit: policies.rateLimit && buildRateLimit(policies.rateLimit),
    changes: policies.changes ?? 'redirect',
    health: policies.health ?? false,
    serverTiming: policies.serverTiming ?? false,
    onError: policies.onError ?? logFailure,
    messages: policies.messages,
  })
}

const CONTACT_RULES: Rules<Contact> = { name: TEXT, url: TEXT, email: TEXT }

function infoOf({ title = 'API', description, contact }: Policies): ApiDefinition['info'] {
  if (contact) checkOptions('contact', contact, CONTACT_RULES)
  return Object.freeze({ title, description, contact })
}

function logFailure(error: unknown, { reference }: Failure): void {
  console.error(`[rest-conventions] ${reference}`, error)
}

function baseUrlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new TypeError(
      `baseUrl must be an http or https address without query, not ${JSON.stringify(text)}`,
    )
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}
