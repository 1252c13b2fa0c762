// The body of a QUERY (RFC 10008): the parameters of a GET, as JSON or as a form → parameters, of which the GET is made.

import { isObject, isScalar, type Json } from '../base/values.ts'
import type { ErrorType, Issue } from '../errors.ts'
import { METHOD_PARAMETER, SUPPRESS_PARAMETER } from '../http/method-override.ts'
import { type Parameter, printParameters } from '../http/parameters.ts'
import { joinValues } from '../http/value-list.ts'
import { findOperator } from '../store/operators.ts'
import { INCLUDE } from './include.ts'
import { WHERE } from './where.ts'

export const JSON_QUERY = 'application/json'
export const FORM_QUERY = 'application/x-www-form-urlencoded'

/** The media types of a QUERY, as `Accept-Query` lists them. */
export const QUERY_TYPES = `${JSON_QUERY}, ${FORM_QUERY}`

/** How many bytes a body may have. */
export const MAX_QUERY_BODY = 64 * 1024

/** Parameters whose values are names in one text, separated by commas. */
const JOINED: ReadonlySet<string> = new Set(['fields', 'sort', INCLUDE])

/** Parameters of the URL alone: the head is read before the body. */
const OF_HEAD: ReadonlySet<string> = new Set([METHOD_PARAMETER, SUPPRESS_PARAMETER])

/**
 * Converts the JSON body of a QUERY to parameters: `{ "color": "red", "price": { "gte": 10 }, "where": { … } }`. Issues
 * are added to the list.
 * @param id the name of the id: no item lacks it, so that an empty list of values matches nothing.
 * @param joined parameters whose values are names in one text.
 */
export function toQueryParameters(
  value: Json,
  id: string,
  issues: Issue[],
  joined = JOINED,
): Parameter[] {
  const pairs: (readonly [string, string])[] = []
  const add = (at: string, message: string, type: ErrorType = 'invalid_value') => {
    issues.push({ message: `${at.slice(0, 128)} ${message}`, field: at.slice(0, 128), type })
  }
  const seen = new Set<string>()
  const walk = (name: string, each: Json): void => {
    if (!isObject(each) && seen.has(name))
      add(name, 'stands there twice. Put both into {"where":{"and":[…]}}', 'repeated_parameter')
    seen.add(name)
    const word = /\[(\w*)\]$/.exec(name)?.[1]
    if (isScalar(each)) pairs.push([name, String(each)])
    else if (Array.isArray(each) && each.every(isScalar)) {
      const texts = each.map(String)
      if (texts.length > 0 && (word === 'in' || word === 'nin'))
        pairs.push([name, joinValues(texts)])
      else if (joined.has(name)) pairs.push([name, texts.join(',')])
      else if (texts.length > 0) pairs.push(...texts.map(text => [name, text] as const))
      else if (word !== 'ne' && word !== 'nin') pairs.push([`${id}[exists]`, 'false'])
    } else if (isObject(each) && Object.keys(each).length > 0) {
      for (const [key, inner] of Object.entries(each))
        walk(findOperator(key) ? `${name}[${key}]` : `${name}.${key}`, inner)
    } else add(name, 'must be a text, number, boolean, list of them or an object of filters')
  }
  if (!isObject(value)) {
    const message = 'The body must be an object of parameters, such as {"where":{"color":"red"}}'
    issues.push({ message, type: 'invalid_value' })
    return []
  }
  for (const [name, each] of Object.entries(value)) {
    if (name === WHERE && !isScalar(each)) pairs.push([name, JSON.stringify(each)])
    else walk(name, each)
  }
  return printPairs(pairs, issues)
}

/** Prints pairs as a GET has them. Issues are added to the list. */
export function printPairs(
  pairs: readonly (readonly [name: string, value: string])[],
  issues: Issue[],
): Parameter[] {
  for (const name of OF_HEAD) {
    if (!pairs.some(pair => pair[0] === name)) continue
    const message = `${name} has no meaning in a QUERY. Leave it out.`
    issues.push({ message, field: name, type: 'unknown_parameter' })
  }
  return pairs.map(pair => ({ name: pair[0], value: pair[1], raw: printParameters([pair]) }))
}
