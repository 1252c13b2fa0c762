// A QUERY has an equivalent GET (RFC 10008 §2.4): `Location` names it, and its links are those of that GET.

import { memoize } from '../../base/memoize.ts'
import { andThen } from '../../base/values.ts'
import type { HeaderList } from '../../http/message.ts'
import { QUERY_TYPES } from '../../query/body.ts'
import type { OperationContext, OperationResult, Perform } from '../calls/context.ts'

/** What a link may add to the address of its list: a place. */
const MAX_PLACE = 1100

/** Answers a GET, and says by which media types the same can be asked with QUERY; a QUERY as its GET. */
export function withEquivalentGet(perform: Perform): Perform {
  return context => {
    const result = perform(context)
    if (context.method !== 'QUERY') return andThen(result, addAcceptQuery)
    return andThen(andThen(result, addAcceptQuery), done => addEquivalent(context, done))
  }
}

function addAcceptQuery(result: OperationResult): OperationResult {
  result.headers.push('Accept-Query', QUERY_TYPES)
  return result
}

/** An address that is too long is not named, nor is a link that would be one: its page is asked for by `offset`. */
function addEquivalent(context: OperationContext, result: OperationResult): OperationResult {
  const { target, parameters, api } = context
  const query = parameters.map(({ raw }) => raw).join('&')
  const href = `${context.hrefAsRequested(target)}${query === '' ? '' : `?${query}`}`
  const isLinkable = href.length + MAX_PLACE <= api.limits.target
  const headers = isLinkable ? result.headers : withoutLinks(result.headers)
  if (href.length <= api.limits.target) headers.push('Location', href)
  return { ...result, headers, vary: addContentType(result.vary ?? NOTHING) }
}

const NOTHING: readonly string[] = []

/** Adds to a list that is always the same one, as `Vary` is printed once for each. */
const addContentType = memoize((vary: readonly string[]): readonly string[] => [
  ...vary,
  'Content-Type',
])

function withoutLinks(headers: HeaderList): HeaderList {
  return headers.filter((_, at) => headers[at - (at % 2)] !== 'Link')
}
