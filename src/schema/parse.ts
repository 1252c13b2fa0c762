// Runs zod: compiled and synchronously as long as a schema allows it.
import { z } from 'zod'
import { memoize } from '../base/memoize.ts'
import type { Awaitable } from '../base/values.ts'
import { listParts, type Schema, schemaDefOf } from './zod-fields.ts'

type ParseResult = z.ZodSafeParseResult<unknown>

/**
 * Leaves every message empty for `toIssues` to fill in, but for those of the schema's author, of
 * `z.config({ customError })`, and of a locale other than English.
 */
export const OWN_MESSAGES = {
  error(issue: z.core.$ZodRawIssue) {
    const { customError, localeError } = z.config()
    return customError?.(issue) ?? (isEnglish(localeError) ? '' : localeError?.(issue))
  },
}

/** An issue with a known English message: the functions of a locale differ for each import, so that only texts compare. */
const PROBE: z.core.$ZodRawIssue = { code: 'invalid_type', expected: 'string', input: 0 }
const ENGLISH = /^Invalid input: expected string, received number$/

function isEnglish(localeError: z.core.$ZodErrorMap | undefined): boolean {
  const result = localeError?.(PROBE)
  return !result || ENGLISH.test(typeof result === 'string' ? result : result.message)
}

/**
 * Builds the parser of a schema: it answers at once unless the schema has an asynchronous check. zod compiles at the
 * first value, since that is a third of what the definition of a collection would cost (`npx tsx bench/define.ts`).
 */
export const buildParser = memoize(
  (schema: Schema): ((value: unknown) => Awaitable<ParseResult>) => {
    let asynchronous = hasAsyncCheck(schema)
    let compiled: Schema | undefined
    return value => {
      if (asynchronous) return z.safeParseAsync(schema, value, OWN_MESSAGES)
      try {
        compiled ??= z.compile(schema)
        const result = z.safeParse(compiled, value)
        if (result.success) return result
      } catch {
        // Compiled code may fail in another way at a promise: the schema itself decides below.
      }
      try {
        return z.safeParse(schema, value, OWN_MESSAGES)
      } catch (error) {
        if (!(error instanceof z.core.$ZodAsyncError)) throw error
        asynchronous = true
        return z.safeParseAsync(schema, value, OWN_MESSAGES)
      }
    }
  },
)

/** Whether a check is an `async` function: a synchronous try would leave its promise behind. */
export function hasAsyncCheck(schema: Schema, seen = new Set<Schema>()): boolean {
  if (seen.has(schema)) return false
  seen.add(schema)
  const def = schemaDefOf(schema)
  const checks = def.checks?.flatMap(({ _zod }) => [_zod.check, ...Object.values(_zod.def)])
  if (checks?.some(part => part instanceof AsyncFunction)) return true
  return listParts(def).some(([, part]) => hasAsyncCheck(part, seen))
}

const AsyncFunction = (async () => {}).constructor as FunctionConstructor // not a global
