// Validators and preconditions as tables (RFC 9110 §8.8, §13).
import { describe, expect, it } from 'vitest'
import { cutTagsToVersions } from '../../src/http/conditional.ts'
import { HttpError } from '../../src/index.ts'
import {
  type EntityTags,
  evaluate,
  itemTag,
  type Preconditions,
  parseEntityTags,
  parseHttpDate,
  parseVersionTag,
  printEntityTags,
  printHttpDate,
  rangeHolds,
  readPreconditions,
  type Verdict,
} from '../../src/rules/index.ts'

const strong = (opaque: string) => ({ weak: false, opaque })
const weak = (opaque: string) => ({ weak: true, opaque })

describe('parseEntityTags and printEntityTags (§8.8.3, §13.1.1)', () => {
  it.each<[string, EntityTags, string?]>([
    ['*', '*'],
    ['"a"', [strong('a')]],
    ['W/"a"', [weak('a')]],
    ['""', [strong('')]],
    ['"a", W/"b", "c,d"', [strong('a'), weak('b'), strong('c,d')]],
    ['"a","b"', [strong('a'), strong('b')], '"a", "b"'],
    [' "a" , "b" ', [strong('a'), strong('b')], '"a", "b"'],
    ['"a\\b"', [strong('a\\b')]],
    ['"!#~"', [strong('!#~')]],
    ['"\xe9"', [strong('\xe9')]],
    // Empty members of a list are to be passed over (§5.6.1.2).
    [', "a",, "b",', [strong('a'), strong('b')], '"a", "b"'],
  ])('%j', (text, tags, printed = text) => {
    expect(parseEntityTags(text)).toEqual(tags)
    expect(printEntityTags(tags)).toBe(printed)
  })

  it.each([
    '',
    'a',
    '"a',
    'a"',
    '"a" "b"',
    '*, "a"',
    '"a", *',
    'w/"a"',
    'W/ "a"',
    '"a b"',
    '"a\x7f"',
    ',',
    '"a";x',
  ])('refuses %j', text => {
    expect(parseEntityTags(text)).toBeUndefined()
  })

  it('parses a long malformed list in linear time', () => {
    expect(parseEntityTags(`${'"a", '.repeat(5000)}x`)).toBeUndefined()
    expect(parseEntityTags(`${','.repeat(50000)}x`)).toBeUndefined()
  })
})

describe('itemTag and parseVersionTag', () => {
  it.each(['json', 'json.1abc', ''])(
    'the version comes back from a tag with variant %j',
    variant => {
      expect(parseVersionTag(itemTag('v1', variant))).toBe('v1')
    },
  )
  it('a foreign tag is its own version', () => {
    expect(parseVersionTag('abc')).toBe('abc')
  })
})

describe('printHttpDate and parseHttpDate (§5.6.7)', () => {
  it.each<[string, string | undefined]>([
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['Thu, 29 Feb 2024 23:59:59 GMT', '2024-02-29T23:59:59.000Z'],
    ['Sat, 31 Dec 2016 23:59:60 GMT', '2017-01-01T00:00:00.000Z'],
    ['Wed, 30 Feb 2024 00:00:00 GMT', undefined],
    ['Sun, 06 Nov 1994 24:00:00 GMT', undefined],
    ['Sun, 06 Nov 1994 08:60:00 GMT', undefined],
    ['Sun, 06 Nov 1994 08:49:37', undefined],
    ['Sun, 06 Nov 1994 08:49:37 UTC', undefined],
    ['Sun, 06 Nov 1994 08:49:37 +0000', undefined],
    ['Xxx, 06 Nov 1994 08:49:37 GMT', undefined],
    ['Sun, 06 Xxx 1994 08:49:37 GMT', undefined],
    ['sun, 06 nov 1994 08:49:37 gmt', undefined],
    ['1994-11-06T08:49:37Z', undefined],
    ['784111777', undefined],
    ['', undefined],
  ])('%j', (text, instant) => {
    const time = parseHttpDate(text)
    expect(time === undefined ? undefined : new Date(time).toISOString()).toBe(instant)
  })

  it('prints whole seconds, floored', () => {
    expect(printHttpDate(Date.parse('1994-11-06T08:49:37.999Z'))).toBe(
      'Sun, 06 Nov 1994 08:49:37 GMT',
    )
  })
})

const MODIFIED = Date.parse('2024-03-01T12:00:00.700Z')
const SECOND = Date.parse('2024-03-01T12:00:00Z')
const current = { tag: 'now', lastModified: MODIFIED }

/** Each row: the conditions, then the verdicts for GET and for PUT on an existing representation, then for PUT on none. */
const VERDICTS: readonly (readonly [string, Preconditions, Verdict, Verdict, Verdict])[] = [
  ['none', {}, 'proceed', 'proceed', 'proceed'],
  ['If-Match: the tag', { ifMatch: [strong('now')] }, 'proceed', 'proceed', 'failed'],
  [
    'If-Match: one of a list',
    { ifMatch: [strong('old'), strong('now')] },
    'proceed',
    'proceed',
    'failed',
  ],
  ['If-Match: another', { ifMatch: [strong('old')] }, 'failed', 'failed', 'failed'],
  ['If-Match: weak, compared strongly', { ifMatch: [weak('now')] }, 'failed', 'failed', 'failed'],
  ['If-Match: *', { ifMatch: '*' }, 'proceed', 'proceed', 'failed'],
  ['If-None-Match: the tag', { ifNoneMatch: [strong('now')] }, 'not-modified', 'failed', 'proceed'],
  [
    'If-None-Match: weak, compared weakly',
    { ifNoneMatch: [weak('now')] },
    'not-modified',
    'failed',
    'proceed',
  ],
  [
    'If-None-Match: one of a list',
    { ifNoneMatch: [strong('old'), weak('now')] },
    'not-modified',
    'failed',
    'proceed',
  ],
  ['If-None-Match: another', { ifNoneMatch: [strong('old')] }, 'proceed', 'proceed', 'proceed'],
  ['If-None-Match: *', { ifNoneMatch: '*' }, 'not-modified', 'failed', 'proceed'],
  [
    'If-Modified-Since: the same second',
    { ifModifiedSince: SECOND },
    'not-modified',
    'proceed',
    'proceed',
  ],
  [
    'If-Modified-Since: later',
    { ifModifiedSince: SECOND + 1000 },
    'not-modified',
    'proceed',
    'proceed',
  ],
  [
    'If-Modified-Since: earlier',
    { ifModifiedSince: SECOND - 1000 },
    'proceed',
    'proceed',
    'proceed',
  ],
  [
    'If-Unmodified-Since: the same second',
    { ifUnmodifiedSince: SECOND },
    'proceed',
    'proceed',
    'failed',
  ],
  [
    'If-Unmodified-Since: later',
    { ifUnmodifiedSince: SECOND + 1000 },
    'proceed',
    'proceed',
    'failed',
  ],
  [
    'If-Unmodified-Since: earlier',
    { ifUnmodifiedSince: SECOND - 1000 },
    'failed',
    'failed',
    'failed',
  ],
  [
    'If-None-Match wins over If-Modified-Since',
    { ifNoneMatch: [strong('old')], ifModifiedSince: SECOND },
    'proceed',
    'proceed',
    'proceed',
  ],
  [
    'If-Match wins over If-Unmodified-Since',
    { ifMatch: [strong('now')], ifUnmodifiedSince: 0 },
    'proceed',
    'proceed',
    'failed',
  ],
  [
    'If-Match is asked before If-None-Match',
    { ifMatch: [strong('old')], ifNoneMatch: [strong('now')] },
    'failed',
    'failed',
    'failed',
  ],
  [
    'If-Match holds, then If-None-Match',
    { ifMatch: [strong('now')], ifNoneMatch: [strong('now')] },
    'not-modified',
    'failed',
    'failed',
  ],
  [
    'If-Unmodified-Since holds, then If-None-Match',
    { ifUnmodifiedSince: SECOND, ifNoneMatch: [strong('now')] },
    'not-modified',
    'failed',
    'failed',
  ],
]

describe('evaluate (§13.2.2)', () => {
  it.each(VERDICTS)('%s', (_row, conditions, get, put, absent) => {
    expect(evaluate(conditions, 'GET', current)).toBe(get)
    expect(evaluate(conditions, 'HEAD', current)).toBe(get)
    expect(evaluate(conditions, 'PUT', current)).toBe(put)
    expect(evaluate(conditions, 'DELETE', current)).toBe(put)
    expect(evaluate(conditions, 'PUT', undefined)).toBe(absent)
  })

  it('without a date, conditions on dates are ignored', () => {
    expect(evaluate({ ifModifiedSince: SECOND }, 'GET', { tag: 'now' })).toBe('proceed')
    expect(evaluate({ ifUnmodifiedSince: SECOND }, 'GET', { tag: 'now' })).toBe('proceed')
    expect(evaluate({ ifUnmodifiedSince: SECOND }, 'PUT', { tag: 'now' })).toBe('proceed')
  })

  it('a write compares versions, whatever the representation was', () => {
    const conditions = { ifMatch: [strong('v1.json.abc')], ifNoneMatch: [weak('v2.xml')] }
    expect(cutTagsToVersions(conditions)).toEqual({
      ifMatch: [strong('v1')],
      ifNoneMatch: [weak('v2')],
    })
    expect(cutTagsToVersions({ ifMatch: '*' })).toEqual({ ifMatch: '*' })
    expect(cutTagsToVersions({ ifUnmodifiedSince: SECOND })).toEqual({ ifUnmodifiedSince: SECOND })
  })
})

describe('rangeHolds (§13.1.5)', () => {
  it.each([
    ['no condition', undefined, true],
    ['the tag', strong('now'), true],
    ['another tag', strong('old'), false],
    ['a weak tag', weak('now'), false],
    ['the date', SECOND, true],
    ['a later date', SECOND + 1000, false],
    ['an earlier date', SECOND - 1000, false],
  ])('%s', (_row, condition, holds) => {
    expect(rangeHolds(condition, current)).toBe(holds)
  })
})

describe('readPreconditions', () => {
  const date = 'Fri, 01 Mar 2024 12:00:00 GMT'
  it.each<[string, Record<string, string>, Preconditions]>([
    ['nothing', {}, {}],
    [
      'tags',
      { 'if-match': '"a"', 'if-none-match': '*' },
      { ifMatch: [strong('a')], ifNoneMatch: '*' },
    ],
    [
      'dates',
      { 'if-modified-since': date, 'if-unmodified-since': date },
      { ifModifiedSince: SECOND, ifUnmodifiedSince: SECOND },
    ],
    ['If-Modified-Since alone', { 'if-modified-since': date }, { ifModifiedSince: SECOND }],
    ['If-Unmodified-Since alone', { 'if-unmodified-since': date }, { ifUnmodifiedSince: SECOND }],
    [
      'If-Modified-Since beside a malformed If-None-Match is ignored too',
      { 'if-none-match': 'a', 'if-modified-since': date },
      {},
    ],
    ['invalid dates are ignored', { 'if-modified-since': 'soon', 'if-unmodified-since': '0' }, {}],
    ['a malformed If-None-Match only saves a transfer', { 'if-none-match': 'a' }, {}],
    ['If-Range: a tag', { 'if-range': '"a"' }, { ifRange: strong('a') }],
    ['If-Range: a date', { 'if-range': date }, { ifRange: SECOND }],
    ['If-Range: neither', { 'if-range': 'a' }, { ifRange: weak('') }],
    ['If-Range: * is neither', { 'if-range': '*' }, { ifRange: weak('') }],
    ['If-Range: several tags are neither', { 'if-range': '"a", "b"' }, { ifRange: weak('') }],
  ])('%s', (_row, headers, conditions) => {
    expect(readPreconditions(headers, 'GET')).toEqual(conditions)
  })

  it.each([
    ['GET', 'if-match', 'a'],
    ['PUT', 'if-match', '"a'],
    ['PUT', 'if-match', ''],
    ['PATCH', 'if-none-match', 'a'],
    ['DELETE', 'if-none-match', '"a" "b"'],
  ])('%s with a malformed %s (%j) is 400', (method, name, value) => {
    const reading = () => readPreconditions({ [name]: value }, method)
    expect(reading).toThrow(HttpError)
    expect(reading).toThrow(
      expect.objectContaining({ status: 400, errors: [expect.objectContaining({ field: name })] }),
    )
  })
})
