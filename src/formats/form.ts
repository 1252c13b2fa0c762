// `application/x-www-form-urlencoded` (WHATWG URL §5): each key one property, nesting as
// `model.name=` or `model[name]=`, lists as a repeated key, `tags[]=` or `tags[0]=`; typed by the schema.

import { type Item, isObject } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import { describeEscape, parseParameters } from '../http/parameters.ts'
import { formValue } from './form-values.ts'
import type { Format, ReadContext } from './format.ts'
import { readText } from './read-body.ts'

/** `application/x-www-form-urlencoded`, read only: the fields of forms. */
export const form: Format = {
  name: 'form',
  extensions: [],
  types: ['application/x-www-form-urlencoded'],
  form: true,
  read: async (body, context) => toValue(await readPairs(body, context), context),
  receive: (parsed, context) => toValue(toPairs(parsed), context),
}

type TextPair = readonly [name: string, value: string]

function toValue(pairs: readonly TextPair[], context: ReadContext): Item {
  context.submitted?.(pairs)
  return formValue(pairs, context)
}

/**
 * Reads the pairs of a form.
 * @throws HttpError 400 for an escape that is not UTF-8, 413 for too many bytes.
 */
async function readPairs(
  body: AsyncIterable<Uint8Array>,
  context: Pick<ReadContext, 'limits' | 'length' | 'parameters'>,
): Promise<TextPair[]> {
  const text = await readText(body, context)
  const parameters = parseParameters(text)
  if (parameters) return parameters.map(({ name, value }) => [name, value])
  throw new HttpError(400, [{ message: describeEscape('body', text), type: 'invalid_encoding' }])
}

/** Turns the result of a host's parser into pairs again. */
function toPairs(parsed: unknown, name = ''): TextPair[] {
  if (Array.isArray(parsed))
    return parsed.flatMap((element, at) =>
      toPairs(element, isObject(element) ? `${name}[${at}]` : name),
    )
  if (isObject(parsed))
    return Object.entries(parsed).flatMap(([key, property]) =>
      toPairs(property, name ? `${name}[${key}]` : key),
    )
  return [[name, String(parsed)]]
}
