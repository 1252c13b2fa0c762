// Headers and what they carry as tables: lists, dates, ranges of bytes, file names, challenges.
import { describe, expect, it, test, vi } from 'vitest'
import { insufficientScope } from '../../src/auth/access.ts'
import { createTokenCache, isAudience, toPrincipal } from '../../src/auth/bearer-token.ts'
import { principalKey } from '../../src/auth/client-key.ts'
import { printChallenge } from '../../src/auth/credentials.ts'
import type { Scheme } from '../../src/auth/scheme.ts'
import { resolveClient } from '../../src/http/base-url.ts'
import { parseByteRange, printByteContentRange } from '../../src/http/byte-range.ts'
import { printDisposition } from '../../src/http/content-disposition.ts'
import { parseHttpDate, printHttpDate } from '../../src/http/date.ts'
import { splitList } from '../../src/http/message.ts'
import { parsePrefer } from '../../src/http/prefer.ts'
import type { Item } from '../../src/index.ts'
import type { BlobRecord } from '../../src/schema/blob.ts'
import {
  type BinaryForm,
  type BlobInput,
  decodeBase64,
  parseBlobInputs,
  printBlob,
} from '../../src/schema/blob-forms.ts'

describe('splitList', () => {
  it.each<[string, string[]]>([
    ['', []],
    ['a, b,,c', ['a', 'b', 'c']],
    ['a="x,y", b', ['a="x,y"', 'b']],
    ['a="x\\",y", b', ['a="x\\",y"', 'b']],
    ['a="x\\', ['a="x\\'].slice(1)],
  ])('%j: %j', (text, members) => {
    expect(splitList(text)).toEqual(members)
  })
})

describe('parseHttpDate', () => {
  const time = Date.UTC(1994, 10, 6, 8, 49, 37)
  it.each<[string, number | undefined]>([
    ['Sun, 06 Nov 1994 08:49:37 GMT', time],
    ['Sunday, 06-Nov-94 08:49:37 GMT', time],
    ['Sun Nov  6 08:49:37 1994', time],
    ['Sun, 30 Feb 1994 08:49:37 GMT', undefined],
    ['Sun, 31 Feb 1994 00:00:60 GMT', undefined],
    ['Sun, 99 Feb 1994 00:00:60 GMT', undefined],
    ['Sat, 31 Dec 1994 23:59:60 GMT', Date.UTC(1995, 0, 1)],
    ['Sun, 06 Nix 1994 08:49:37 GMT', undefined],
    ['Sin, 06 Nov 1994 08:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 24:00:00 GMT', undefined],
    ['1994-11-06', undefined],
  ])('%j: %j', (text, expected) => {
    expect(parseHttpDate(text)).toBe(expected)
  })
})

test('dates print the same again, however many came between', () => {
  const text = 'Sun, 06 Nov 1994 08:49:37 GMT'
  const time = Date.parse(text)
  for (let round = 0; round < 2; round++) {
    expect(printHttpDate(time + 999)).toBe(text)
    for (let at = 1; at <= 1001; at++) printHttpDate(time + at * 1000)
  }
})

test.each([
  ['ann', 'principal:ann'],
  ['a'.repeat(129), /^principal:[\w-]{43}$/],
])('the key of %s', (id, key) => {
  expect(principalKey(id)).toEqual(typeof key === 'string' ? key : expect.stringMatching(key))
})

describe('parsePrefer', () => {
  it.each<[string, object]>([
    ['return=minimal; a=b, count="none"', { return: 'minimal', count: 'none' }],
    ['return=minimal, return=representation', { return: 'minimal' }],
    [';, return', {}],
  ])('%j: %j', (text, preferences) => {
    expect(parsePrefer(text)).toEqual(preferences)
  })
})

describe('a byte range of 10 bytes', () => {
  it.each([
    ['bytes=0-4', 'bytes 0-4/10'],
    [' Bytes=0-4 ', 'bytes 0-4/10'],
    ['bytes= 0-4', 'bytes 0-4/10'],
    ['bytes=0-0', 'bytes 0-0/10'],
    ['bytes=3-999999999999999', 'bytes 3-9/10'],
    ['bytes=3-99999999999999999999', 'bytes 3-9/10'],
    ['bytes=9999999999999999-', 'bytes */10'],
    ['bytes=-9999999999999999', 'bytes 0-9/10'],
    ['bytes=5-', 'bytes 5-9/10'],
    ['bytes=-3', 'bytes 7-9/10'],
    ['bytes=-30', 'bytes 0-9/10'],
    ['bytes=-0', 'bytes */10'],
    ['bytes=10-', 'bytes */10'],
    ['bytes=10-12', 'bytes */10'],
  ])('%j: %j', (text, printed) => {
    const range = parseByteRange(text, 10)
    expect(range && printByteContentRange(range, 10)).toBe(printed)
  })

  it.each([
    'bytes=6-7,0-1',
    'bytes=90-91,1-1',
    'bytes=-',
    'bytes=x',
    'bytes=4-2',
    'bytes=12-11',
    'items=0-4',
    'my-bytes=0-4',
    'bytes=x0-4',
    'bytes=0-4x',
  ])('%j is ignored', text => {
    expect(parseByteRange(text, 10)).toBeUndefined()
  })

  // A cache that fetches parts asks for the first one, however large the content is.
  it.each(['bytes=0-', 'bytes=0-1023', 'bytes=-5', 'bytes=-0'])(
    'empty content has no part: %s',
    text => expect(parseByteRange(text, 0)).toBeUndefined(),
  )
})

describe('printDisposition', () => {
  it.each<[string | undefined, string]>([
    [undefined, 'attachment'],
    ['..', 'attachment'],
    ['a/..', 'attachment'],
    ['a.txt', `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
    ['..\\b/a\r\n.txt', `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
    [
      "it's (1)*.txt",
      `attachment; filename="it's (1)*.txt"; filename*=UTF-8''it%27s%20%281%29%2A.txt`,
    ],
    [
      // The 255th unit is half of a pair.
      `${'a'.repeat(254)}😀.txt`,
      `attachment; filename="${'a'.repeat(254)}_"; filename*=UTF-8''${'a'.repeat(254)}%EF%BF%BD`,
    ],
    ['é".txt', `attachment; filename="__.txt"; filename*=UTF-8''%C3%A9%22.txt`],
  ])('%j: %s', (name, text) => {
    expect(printDisposition({ type: 'text/plain', ...(name !== undefined && { name }) })).toBe(text)
  })
})

describe('a binary property', () => {
  const all = { photo_data: 'AA', photo_url: '/p', photo: { key: 'k', data: 'BB', url: '/q' } }
  it.each<[Item, BlobInput[]]>([
    [{}, []],
    [{ photo: null }, [{ property: 'photo', kind: 'null' }]],
    [{ photo_url: null }, [{ property: 'photo_url', kind: 'null' }]],
    [{ photo_data: null }, [{ property: 'photo_data', kind: 'null' }]],
    [{ photo_url: '/p' }, [{ property: 'photo_url', kind: 'url', url: '/p' }]],
    [{ photo: { url: '/p' } }, [{ property: 'photo.url', kind: 'url', url: '/p' }]],
    [{ photo: { url: '/p', data: null } }, [{ property: 'photo.url', kind: 'url', url: '/p' }]],
    [{ photo: { key: 'k' } }, [{ property: 'photo', kind: 'record', key: 'k' }]],
    [{ photo: { data: 'AA' } }, [{ property: 'photo.data', kind: 'data', data: 'AA' }]],
    [
      all,
      [
        { property: 'photo_data', kind: 'data', data: 'AA' },
        { property: 'photo', kind: 'record', key: 'k' },
        { property: 'photo.data', kind: 'data', data: 'BB' },
        { property: 'photo.url', kind: 'url', url: '/q' },
        { property: 'photo_url', kind: 'url', url: '/p' },
      ],
    ],
    [{ photo: {} }, [{ property: 'photo', kind: 'invalid' }]],
    [{ photo: { url: null } }, [{ property: 'photo', kind: 'invalid' }]],
    [{ photo: [] }, [{ property: 'photo', kind: 'invalid' }]],
    [{ photo_data: 5 }, [{ property: 'photo_data', kind: 'invalid' }]],
  ])('is read of %j', (sent, inputs) => {
    expect(parseBlobInputs('photo', sent)).toEqual(inputs)
  })

  const record: BlobRecord = { key: 'k', type: 'image/png', size: 2, updated_at: '2026-01-01' }
  it.each<[BlobRecord | null, BinaryForm, string | undefined, Item]>([
    [null, 'flat', undefined, { photo_url: null }],
    [null, 'object', undefined, { photo: null }],
    [record, 'flat', 'AA', { photo_url: '/p', photo_data: 'AA' }],
    [record, 'object', undefined, { photo: { url: '/p', updated_at: '2026-01-01' } }],
    [record, 'object', 'AA', { photo: { url: '/p', updated_at: '2026-01-01', data: 'AA' } }],
  ])('is printed of %j, %s', (of, form, data, printed) => {
    expect(printBlob('photo', of, form, '/p', data)).toEqual(printed)
  })
})

describe('Base64', () => {
  it.each([
    ['', ''],
    ['YQ==', 'a'],
    ['YQ', 'a'],
    ['YWI=', 'ab'],
    ['YWI', 'ab'],
    ['YWJj\r\nYWJj', 'abcabc'],
    ['data:text/plain;base64,YWJj', 'abc'],
    ['Y', undefined],
    ['YQ=', undefined],
    ['YWI==', undefined],
    ['YWJj=', undefined],
    ['YWJj==', undefined],
    ['=', undefined],
    ['====', undefined],
    ['YQ==YQ==', undefined],
    ['YQ== ', undefined],
    ['YW-_', undefined],
  ])('%j: %j', (text, content) => {
    const bytes = decodeBase64(text)
    expect(bytes && Buffer.from(bytes).toString()).toBe(content)
  })

  it('may be of any length', () => {
    const bytes = Buffer.alloc(2 ** 23, 'a')
    expect(decodeBase64(bytes.toString('base64'))).toHaveLength(bytes.length)
  })
})

describe('a challenge', () => {
  it.each<[Record<string, string | undefined>, string]>([
    [{}, 'Cookie'],
    [{ realm: undefined }, 'Cookie'],
    [{ realm: 'a "b" \\ c', error: undefined }, `Cookie realm="a 'b' ' c"`],
  ])('of %j is %s', (parameters, text) => {
    expect(printChallenge('Cookie', parameters)).toBe(text)
  })

  it('tells the scopes that lack', () => {
    const scheme: Scheme = {
      name: 'Cookie',
      challenge: parameters => JSON.stringify(parameters),
      authenticate: async () => undefined,
    }
    const error = insufficientScope({ scheme, principal: { id: 'a' } }, ['x', 'y'], undefined)
    expect(error.headers[1]).toContain('"scope":"x y"')
    expect(error.headers[1]).not.toContain('resource_metadata')
  })
})

describe('claims', () => {
  it.each<[unknown, readonly string[]]>([
    ['a  b', ['a', 'b']],
    [
      ['a', 5, 'b'],
      ['a', 'b'],
    ],
    [undefined, []],
    [5, []],
  ])('of scope %j: %j', (scope, scopes) => {
    expect(toPrincipal({ sub: 'x', scope })?.scopes).toEqual(scopes)
  })

  it.each<[unknown, string | string[], boolean]>([
    ['a', 'a', true],
    [['a', 'b'], 'b', true],
    ['b', ['a', 'b'], true],
    ['a', ['b'], false],
    [undefined, 'a', false],
  ])('of audience %j for %j: %j', (claim, audience, is) => {
    expect(isAudience(claim, audience)).toBe(is)
  })
})

describe('what is remembered of tokens', () => {
  it('is 10,000 of them, and the oldest goes first', () => {
    const cache = createTokenCache<number>()
    for (let at = 0; at <= 10_000; at++) cache.set(`token ${at}`, at, 60_000)
    expect([0, 1, 10_000].map(at => cache.get(`token ${at}`))).toEqual([undefined, 1, 10_000])
  })

  it('is forgotten in time', () => {
    const cache = createTokenCache<number>()
    cache.set('a', 1, 0)
    expect(cache.get('a')).toBeUndefined()
  })

  it('is forgotten in time, also where the clock is set back', () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    try {
      const cache = createTokenCache<number>()
      cache.set('a', 1, 10_000)
      vi.setSystemTime(Date.now() - 3_600_000)
      vi.advanceTimersByTime(9_999)
      expect(cache.get('a')).toBe(1)
      vi.advanceTimersByTime(1)
      expect(cache.get('a')).toBeUndefined()
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a request through proxies', () => {
  it.each<[Record<string, string>, string | undefined, boolean | undefined, number?]>([
    [{}, '10.0.0.1', undefined],
    [{ 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http' }, '192.0.2.1', false],
    [{ 'x-forwarded-for': 'evil, 192.0.2.1:80' }, '192.0.2.1', undefined],
    [{ 'x-forwarded-for': '[2001:db8::1]:80' }, '2001:db8::1', undefined],
    [{ 'x-forwarded-for': 'unknown' }, '10.0.0.1', undefined],
    // Each proxy says how its own client came: the outermost trusted one counts, as for the address.
    [{ 'x-forwarded-proto': 'http, https' }, '10.0.0.1', false, 2],
    [{ 'x-forwarded-proto': 'https, http' }, '10.0.0.1', true, 2],
    [{ 'x-forwarded-proto': 'http' }, '10.0.0.1', false, 2],
  ])('with %j is of %j, TLS: %j', (headers, address, secure, hops = 1) => {
    const connection = { address: '10.0.0.1', secure: false }
    expect(resolveClient(headers, connection, hops)).toEqual({ address, secure })
    expect(resolveClient(headers, connection, 0)).toBe(connection)
  })
})
