// What a form says about its own controls, since an empty control is sent too and a text area sends
// only text: `_as=<word> <path>`, repeated, or one on each line.
//   absent  a blank is no value: the property is left out
//   null    where nothing else is sent for the path, it is null
//   text    line breaks, which browsers send as CR LF, are LF
//   lines   a list: one element on each line
//   json    the text is JSON
import { HttpError, type Issue, toHttpError } from '../errors.ts'
import type { Limits } from '../http/limits.ts'
import { IF_MATCH_PARAMETER } from '../http/method-override.ts'
import type { Fields } from '../schema/fields.ts'
import type { Json } from '../schema/values.ts'
import { parseJson, tooManyMembers } from './json.ts'

export const AS_PARAMETER = '_as'

/** One value of a form: a text, or a part that is JSON already. */
export type Part = string | { readonly json: Json }
export type FormPair = readonly [name: string, part: Part]

/** The marks of a form by path. */
export function readHints(pairs: readonly FormPair[]): Map<string, Set<string>> {
  const marks = new Map<string, Set<string>>()
  for (const [name, part] of pairs) {
    if (name !== AS_PARAMETER || typeof part !== 'string') continue
    for (const line of part.split(/\r?\n/)) {
      const [, word, path] = /^(\w+) (.+)$/.exec(line) ?? []
      if (word === undefined || path === undefined) continue
      marks.set(path, (marks.get(path) ?? new Set()).add(word))
    }
  }
  return marks
}

type FormLimits = Pick<Limits, 'parameters' | 'depth' | 'members'>

export function tooManyKeys({ parameters }: Pick<Limits, 'parameters'>): HttpError {
  return new HttpError(413, [
    { message: `A form may have at most ${parameters} keys`, type: 'too_many_keys' },
  ])
}

/**
 * The pairs of a form as its marks mean them, without the marks and `_if_match`. A JSON text that is
 * none is added to the issues. Where the schema has a property called `_as` there are no marks.
 * @throws HttpError 413 for more marked paths than a form has keys, for more lines or properties than JSON has.
 */
export function stripHints(
  pairs: readonly FormPair[],
  { fields, limits }: { readonly fields: Fields | undefined; readonly limits: FormLimits },
  issues: Issue[],
): readonly FormPair[] {
  const control = [AS_PARAMETER, IF_MATCH_PARAMETER].filter(name => !fields?.has(name))
  const own = pairs.filter(([name]) => !control.includes(name))
  const marks = control.includes(AS_PARAMETER) ? readHints(pairs) : new Map<string, Set<string>>()
  if (marks.size === 0) return own
  // One key may hold many, and each is compared with every other.
  if (marks.size > limits.parameters) throw tooManyKeys(limits)
  const meant = own.flatMap(([name, part]): FormPair[] => {
    const words = marks.get(name)
    if (!words || typeof part !== 'string') return [[name, part]]
    if (part === '' && (words.has('absent') || words.has('null'))) return []
    return markedParts(part, words, limits, name, issues).map(meaning => [name, meaning])
  })
  // Objects before their properties: of one that is null nothing more is said.
  const nulls = [...marks].filter(([, words]) => words.has('null')).map(([path]) => path)
  for (const path of nulls.sort((one, other) => one.length - other.length)) {
    const given = meant.some(
      ([name]) => name === path || name.startsWith(`${path}.`) || path.startsWith(`${name}.`),
    )
    if (!given) meant.push([path, { json: null }])
  }
  return meant
}

function markedParts(
  text: string,
  words: ReadonlySet<string>,
  { depth, members }: FormLimits,
  name: string,
  issues: Issue[],
): Part[] {
  const plain = text.replace(/\r\n?/g, '\n')
  if (words.has('lines')) {
    const lines = plain.split('\n').filter(line => line !== '')
    if (lines.length > members) throw tooManyMembers(members)
    return lines.length === 0 ? [{ json: [] }] : lines
  }
  if (words.has('text')) return [plain]
  if (!words.has('json')) return [text]
  try {
    return [{ json: parseJson(text, depth, members) }]
  } catch (error) {
    const refusal = toHttpError(error)
    if (refusal.status !== 400) throw refusal
    const said = refusal.message.replace(/^The body /, '')
    issues.push({ message: `${name} ${said}`, field: name, type: 'invalid_json' })
    return []
  }
}
