// `_method` and `suppress_error_codes` as rules (specification, "Resource operations" and
// "Suppression of error codes").
import { describe, expect, it } from 'vitest'
import { cannotFollow } from '../src/http/method-override.ts'
import { HttpError } from '../src/index.ts'
import { effectiveMethod, suppressedStatus } from '../src/rules/index.ts'

function outcome(method: string, overrides: readonly string[]): string {
  try {
    return effectiveMethod(method, overrides)
  } catch (error) {
    if (error instanceof HttpError) return String(error.status)
    throw error
  }
}

describe('effectiveMethod', () => {
  const cases: readonly [method: string, overrides: readonly string[], result: string][] = [
    ['GET', [], 'GET'],
    ['POST', [], 'POST'],
    ['BREW', [], 'BREW'],
    ['POST', ['PUT'], 'PUT'],
    ['POST', ['PATCH'], 'PATCH'],
    ['POST', ['DELETE'], 'DELETE'],
    ['POST', ['GET'], '400'],
    ['POST', ['head'], '400'],
    ['POST', ['delete'], 'DELETE'],
    ['POST', ['Delete'], 'DELETE'],
    ['POST', ['dElEtE'], 'DELETE'],
    ['POST', ['DELETE', 'delete'], 'DELETE'],
    ['POST', ['DELETE', 'PUT'], '400'],
    ['POST', ['POST'], 'POST'],
    ['POST', ['post', 'Post'], 'POST'],
    ['POST', ['POST', 'PUT'], '400'],
    ['GET', ['POST'], '400'],
    ['POST', ['OPTIONS'], '400'],
    ['POST', ['TRACE'], '400'],
    ['POST', ['CONNECT'], '400'],
    ['POST', ['QUERY'], '400'],
    ['POST', [''], '400'],
    ['POST', [' DELETE'], '400'],
    ['POST', ['DELETE\n'], '400'],
    ['POST', ['DELETE,PUT'], '400'],
    // Letters that upper case turns into ASCII: long s, dotless i.
    ['POST', ['po\u017Ft'], '400'],
    ['POST', ['POST', 'po\u017Ft'], '400'],
    ['POST', ['\u017Fomething'], '400'],
    ['GET', ['DELETE'], '400'],
    ['GET', ['GET'], '400'],
    ['GET', [''], '400'],
    ['HEAD', ['DELETE'], '400'],
    ['PUT', ['DELETE'], '400'],
    ['DELETE', ['GET'], '400'],
    ['OPTIONS', ['DELETE'], 'OPTIONS'],
    ['OPTIONS', ['DELETE', 'PUT'], 'OPTIONS'],
    ['post', ['DELETE'], '400'],
  ]
  for (const [method, overrides, result] of cases) {
    it(`${method} with ${JSON.stringify(overrides)}: ${result}`, () => {
      expect(outcome(method, overrides)).toBe(result)
    })
  }

  it('names the method of the request and the allowed ones', () => {
    expect(() => effectiveMethod('GET', ['DELETE'])).toThrow(/Only a POST.*GET.*_method.*"DELETE"/)
    expect(() => effectiveMethod('POST', ['LOCK'])).toThrow(
      /must be one of PUT, PATCH, DELETE.*"LOCK"/,
    )
    expect(() => effectiveMethod('POST', ['x'.repeat(9999)])).toThrow(/^.{1,200}$/)
  })

  it.each<[string, string[], string]>([
    ['POST', ['DELETE', 'PUT'], 'conflicting_methods'],
    ['POST', ['LOCK'], 'invalid_method'],
    ['GET', ['DELETE'], 'invalid_method'],
  ])('%s with %j: %s', (method, overrides, type) => {
    const issue = expect.objectContaining({ field: '_method', type })
    expect(() => effectiveMethod(method, overrides)).toThrow(
      expect.objectContaining({ errors: [issue] }),
    )
  })
})

describe('cannotFollow', () => {
  const cases: readonly [headers: Record<string, string>, cannot: boolean][] = [
    [{}, false],
    [{ 'if-match': '*' }, false],
    [{ 'if-match': ' * ' }, false],
    [{ 'if-match': '"a"' }, true],
    [{ 'if-match': '"a", "b"' }, true],
    [{ 'if-unmodified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' }, true],
    [{ 'x-http-method-override': 'PATCH' }, true],
    [{ 'if-none-match': '*', 'if-modified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' }, false],
    [{ prefer: 'return=representation', 'idempotency-key': 'a', range: 'cars=0-1' }, false],
  ]
  it.each(cases)('%j: %s', (headers, cannot) => {
    expect(cannotFollow(headers)).toBe(cannot)
  })
})

describe('suppressedStatus', () => {
  for (const status of [200, 201, 204, 206, 303, 304, 400, 401, 403, 404, 405, 409, 412, 429]) {
    it(`${status}: 200`, () => expect(suppressedStatus(status)).toBe(200))
  }
  for (const status of [500, 501, 503, 599]) {
    it(`${status}: 500`, () => expect(suppressedStatus(status)).toBe(500))
  }
})
