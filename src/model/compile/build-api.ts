// Builds the definition of an api from its policies, with their defaults, and its versions.

import { buildAccess } from '../../auth/access.ts'
import { buildRateLimit } from '../../auth/rate-limit.ts'
import { collectCredentialHeaders, type Scheme } from '../../auth/scheme.ts'
import { csv } from '../../formats/csv.ts'
import { form } from '../../formats/form.ts'
import type { Format } from '../../formats/format.ts'
import { json } from '../../formats/json.ts'
import { multipart } from '../../formats/multipart/multipart.ts'
import { ndjson } from '../../formats/ndjson.ts'
import { xml } from '../../formats/xml/xml.ts'
import { buildCors } from '../../http/cors.ts'
import { buildLimits } from '../../http/limits.ts'
import * as rule from '../../options.ts'
import { checkOptions, type Rule, type Rules } from '../../options.ts'
import type { ApiDefinition, VersionDefinition } from '../types/definition.ts'
import type { Contact, Failure, Policies } from '../types/policies.ts'
import { compareVersions } from './compare-versions.ts'
import { hideFromVersions } from './compile-field-roles.ts'
import { checkCreates } from './compile-views.ts'
import { linkReferences } from './link-references.ts'

/** The formats of an api without `formats`: the specification's four media types, and two that stream whole lists. */
export const DEFAULT_FORMATS: readonly Format[] = [json, xml, form, multipart, csv, ndjson]

const FORMAT: Rule = {
  wanted: 'a format, such as json (html stands in pages)',
  fits: value => typeof value === 'object' && value !== null && 'types' in value,
}

export const POLICY_RULES: Rules<Policies> = {
  title: rule.FILLED_TEXT,
  description: rule.TEXT,
  contact: rule.OBJECT,
  baseUrl: rule.TEXT,
  prefix: rule.matching('a path such as /api', /^(?:\/[A-Za-z0-9._~-]+)*\/?$/),
  signIn: rule.matching(
    'a path such as /login, or an http or https URL',
    /^(?:\/(?![/\\])|https?:\/\/)[!-[\]-~]*$/,
  ),
  trustProxy: rule.either('a number of proxies, or true for one', rule.wholeFrom(0), rule.BOOLEAN),
  clientAddress: rule.FUNCTION,
  formats: rule.listOf(FORMAT, 1),
  dialects: rule.listOf(rule.having('a dialect, such as simpleRest', 'rewrite')),
  cors: rule.OBJECT,
  limits: rule.OBJECT,
  schemes: rule.listOf(
    rule.having(
      'a scheme, which basic({ … }), bearerJwt({ … }) and introspection({ … }) of rest-conventions return',
      'authenticate',
      'challenge',
    ),
  ),
  access: rule.OBJECT,
  rateLimit: rule.OBJECT,
  changes: rule.oneOf('redirect', 'representation'),
  batch: rule.BOOLEAN,
  health: rule.BOOLEAN,
  serverTiming: rule.BOOLEAN,
  onError: rule.FUNCTION,
  messages: rule.recordOf(rule.either('a string or a function', rule.TEXT, rule.FUNCTION)),
}

/**
 * Builds the definition of an api.
 * @param page the format of its pages: clients that do not choose get another one.
 * @throws TypeError for an issue in the policies, such as an invalid `baseUrl`.
 */
export function buildApi(
  versions: readonly VersionDefinition[],
  policies: Policies,
  page?: Format | undefined,
): ApiDefinition {
  const newest = linkReferences(hideFromVersions(compareVersions(versions))).sort(
    ({ number: one = 0 }, { number: other = 0 }) => other - one,
  )
  const defaultVersion = newest.find(({ deprecated }) => deprecated === undefined) ?? newest[0]
  if (!defaultVersion) throw new TypeError('An api needs at least one collection')
  if (policies.baseUrl === undefined && policies.schemes?.some(scheme => scheme.needsBaseUrl)) {
    throw new TypeError(
      'bearerJwt without audience accepts tokens for the baseUrl of the api: set baseUrl, or audience',
    )
  }
  // Whatever their principals are, claims of unknown types can be read of them.
  const schemes = (policies.schemes ?? []) as readonly Scheme[]
  const access = buildAccess(policies.access, ['root'], 'the api')
  // Without schemes no rule counts.
  for (const { collections } of schemes.length > 0 ? newest : [])
    for (const collection of collections.values()) checkCreates({ access }, collection)
  return Object.freeze({
    versions: newest,
    defaultVersion,
    info: infoOf(policies),
    baseUrl: baseUrlOf(policies.baseUrl),
    prefix: policies.prefix?.replace(/\/$/, '') ?? '',
    signIn: policies.signIn,
    trustProxy: Number(policies.trustProxy ?? 0),
    clientAddress: policies.clientAddress,
    formats: [...(policies.formats ?? DEFAULT_FORMATS), ...(page ? [page] : [])],
    dialects: policies.dialects ?? [],
    cors: buildCors(policies.cors),
    limits: buildLimits(policies.limits),
    schemes,
    credentialHeaders: collectCredentialHeaders(schemes),
    access,
    rateLimit: policies.rateLimit && buildRateLimit(policies.rateLimit),
    changes: policies.changes ?? 'redirect',
    batch: policies.batch ?? false,
    health: policies.health ?? false,
    serverTiming: policies.serverTiming ?? false,
    onError: policies.onError ?? logFailure,
    messages: policies.messages,
  })
}

const CONTACT_RULES: Rules<Contact> = { name: rule.TEXT, url: rule.TEXT, email: rule.TEXT }

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
      `baseUrl must be an http or https URL without query, not ${JSON.stringify(text)}`,
    )
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}
