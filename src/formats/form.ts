// `application/x-www-form-urlencoded` (WHATWG URL §5): each key one property, nesting as
// `model.name=` or `model[name]=`, lists as a repeated key, `tags[]=` or `tags[0]=`; typed by the schema.
import { HttpError } from '../errors.ts'
import { type Parameter, parseParameters, printParameters } from '../http/parameters.ts'
import { isObject } from '../schema/values.ts'
import { type FormPair, formValue, tooManyKeys } from './form-values.ts'
import type { Format, ReadContext } from './format.ts'
import { checkJson } from './json-value.ts'
import { readText } from './read-body.ts'

/** `application/x-www-form-urlencoded`, read only: the fields of forms. */
export const form: Format = {
  name: 'form',
  extensions: [],
  types: ['application/x-www-form-urlencoded'],
  form: true,
  read: async (body, context) => formValue(pairs(await readPairs(body, context)), context),
  receive: (parsed, context) => formValue(pairs(parsedPairs(parsed)), context),
}

/**
 * Reads the pairs of a form.
 * @throws HttpError 400 for an escape that is not UTF-8, 413 for too many bytes.
 */
export async function readPairs(
  body: AsyncIterable<Uint8Array>,
  context: Pick<ReadContext, 'limits' | 'length' | 'parameters'>,
): Promise<Parameter[]> {
  const parameters = parseParameters(await readText(body, context))
  if (parameters) return parameters
  const message = 'The body has an escape that is not UTF-8; write a percent sign as %25'
  throw new HttpError(400, [{ message, type: 'invalid_encoding' }])
}

/** @throws HttpError 413 for more pairs than the limit, 400 for a text that is refused everywhere. */
export function checkPairs(
  parameters: readonly Parameter[],
  limits: Pick<ReadContext['limits'], 'parameters'>,
): void {
  if (parameters.length > limits.parameters) throw tooManyKeys(limits)
  checkJson(parameters.map(({ name, value }) => [name, value]))
}

/** Turns the result of a host's parser into pairs again. */
export function parsedPairs(parsed: unknown, name = ''): Parameter[] {
  if (Array.isArray(parsed)) {
    return parsed.flatMap((element, at) =>
      parsedPairs(element, isObject(element) ? `${name}[${at}]` : name),
    )
  }
  if (isObject(parsed)) {
    return Object.entries(parsed).flatMap(([key, property]) =>
      parsedPairs(property, name ? `${name}[${key}]` : key),
    )
  }
  const value = String(parsed)
  return [{ name, value, raw: printParameters([[name, value]]) }]
}

function pairs(parameters: readonly Parameter[]): FormPair[] {
  return parameters.map(({ name, value }) => [name, value])
}
