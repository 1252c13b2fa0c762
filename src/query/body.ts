// The body of a QUERY (RFC 10008): the parameters of a GET, as JSON or as a form → parameters, of which the GET is made.

import { type Item, isObject, isScalar, type Json } from '../base/values.ts'
import type { Issue } from '../errors.ts'
import { METHOD_PARAMETER, SUPPRESS_PARAMETER } from '../http/method-override.ts'
import { type Parameter, printParameters } from '../http/parameters.ts'
import { joinValues } from '../http/value-list.ts'
import type { Fields } from '../schema/fields.ts'
import { findOperator } from '../store/operators.ts'
import { NAMES } from './list-parameters.ts'
import { isGroup, WHERE } from './where.ts'

export const JSON_QUERY = 'application/json'
export const FORM_QUERY = 'application/x-www-form-urlencoded'

/** The media types of a QUERY, as `Accept-Query` lists them. */
export const QUERY_TYPES = `${JSON_QUERY}, ${FORM_QUERY}`

/** How many bytes a body may have. */
export const MAX_QUERY_BODY = 64 * 1024

/** Parameters of the URL alone: the head is read before the body. */
const OF_HEAD: ReadonlySet<string> = new Set([METHOD_PARAMETER, SUPPRESS_PARAMETER])

type Pair = readonly [name: string, value: string]

/**
 * Converts the JSON body of a QUERY to parameters: `{ "color": "red", "price": { "gte": 10 }, "or": [{ … }] }`. Issues
 * are added to the list.
 * @param fields that filters name.
 * @param joined parameters whose values are names in one text.
 */
export function toQueryParameters(
  value: Json,
  fields: Fields,
  issues: Issue[],
  joined = NAMES,
): Parameter[] {
  if (!isObject(value)) {
    const message = 'The body must be an object of parameters, such as {"where":{"color":"red"}}'
    issues.push({ message, type: 'invalid_value' })
    return []
  }
  const seen = new Set<string>()
  /** Prints a value; `undefined` where no parameter says it. */
  const print = (name: string, each: Json): readonly Pair[] | undefined => {
    if (isObject(each)) {
      const inner = Object.entries(each).map(([key, part]) =>
        print(findOperator(key) ? `${name}[${key}]` : `${name}.${key}`, part),
      )
      return inner.length > 0 && inner.every(pairs => pairs !== undefined)
        ? inner.flat()
        : undefined
    }
    // A repeated parameter would mean either value.
    if (seen.has(name)) return undefined
    seen.add(name)
    if (isScalar(each)) return [[name, String(each)]]
    if (!Array.isArray(each) || !each.every(isScalar)) return undefined
    const texts = each.map(String)
    if (joined.has(name)) return [[name, texts.join(',')]]
    if (texts.length === 0) return undefined
    return /\[n?in\]$/.test(name) ? [[name, joinValues(texts)]] : texts.map(text => [name, text])
  }
  const pairs: Pair[] = []
  const trees: Item[] = []
  const takesWhere = !fields.has(WHERE)
  for (const [name, each] of Object.entries(value)) {
    const isTree = isGroup(name, fields) || (takesWhere && name === WHERE && isObject(each))
    const printed = isTree ? undefined : print(name, each)
    if (printed) pairs.push(...printed)
    else if (takesWhere) trees.push(name === WHERE && isObject(each) ? each : { [name]: each })
    else {
      const message = `${name.slice(0, 128)} must be a string, number, boolean, list or object of filters`
      issues.push({ message, field: name.slice(0, 128), type: 'invalid_value' })
    }
  }
  const [where, ...others] = trees
  if (where) pairs.push([WHERE, JSON.stringify(others.length === 0 ? where : { and: trees })])
  return printPairs(pairs, issues)
}

/** Prints pairs as a GET has them. Issues are added to the list. */
export function printPairs(pairs: readonly Pair[], issues: Issue[]): Parameter[] {
  for (const name of OF_HEAD) {
    if (!pairs.some(pair => pair[0] === name)) continue
    const message = `${name} has no meaning in a QUERY. Leave it out.`
    issues.push({ message, field: name, type: 'unknown_parameter' })
  }
  return pairs.map(pair => ({ name: pair[0], value: pair[1], raw: printParameters([pair]) }))
}
