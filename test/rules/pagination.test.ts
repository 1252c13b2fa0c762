// The syntaxes of pagination as tables: `Range`, `Content-Range`, `Link`, cursors, windows.
import { describe, expect, it } from 'vitest'
import type { Issue } from '../../src/index.ts'
import {
  type ContentRange,
  type Cursor,
  type Link,
  type Parameter,
  pageHeaders,
  parseContentRange,
  parseCursor,
  parseLink,
  parseParameters,
  parseRange,
  parseSort,
  printContentRange,
  printCursor,
  printLink,
  printRange,
  printSort,
  type Range,
  readWindow,
  type SortKey,
} from '../../src/rules/index.ts'

describe('parseRange (RFC 9110 §14.2)', () => {
  const cases: [string, Range | undefined][] = [
    ['cars=0-24', { first: 0, last: 24 }],
    ['cars=5-5', { first: 5, last: 5 }],
    ['cars=25-', { first: 25, last: undefined }],
    ['CARS=0-1', { first: 0, last: 1 }],
    [' cars=0-1 ', { first: 0, last: 1 }],
    ['cars = 0-1', undefined],
    ['cars =0-1', undefined],
    ['cars= 0-1', undefined],
    ['cars=007-010', { first: 7, last: 10 }],
    ['cars=999999999999999-', { first: 999999999999999, last: undefined }],
    ['bytes=0-24', undefined],
    ['items=0-24', undefined],
    ['cars=24-0', undefined],
    ['cars=-5', undefined],
    ['cars=0-1,5-6', undefined],
    ['cars=', undefined],
    ['cars', undefined],
    ['carsX', undefined],
    ['cars=a-b', undefined],
    ['cars=0', undefined],
    ['cars=0-1-2', undefined],
    ['cars=+1-2', undefined],
    ['cars=1.5-2', undefined],
    ['cars=0x1-2', undefined],
    ['cars=9999999999999999-', { first: 999999999999999, last: undefined }],
    ['cars=0-99999999999999999999', { first: 0, last: 999999999999999 }],
    ['cars=0=0-1', undefined],
    ['=0-1', undefined],
    ['', undefined],
  ]
  it.each(cases)('%j', (text, expected) => {
    expect(parseRange(text, 'cars')).toEqual(expected)
  })

  it('takes a unit in any letter case', () => {
    expect(parseRange('oldcars=0-1', 'oldCars')).toEqual({ first: 0, last: 1 })
  })

  it.each<[Range, string]>([
    [{ first: 0, last: 24 }, 'cars=0-24'],
    [{ first: 25, last: undefined }, 'cars=25-'],
  ])('prints %j', (range, text) => {
    expect(printRange(range, 'cars')).toBe(text)
  })
})

describe('parseContentRange and printContentRange (RFC 9110 §14.4)', () => {
  const cases: [string, ContentRange][] = [
    ['cars 0-24/319', { unit: 'cars', range: { first: 0, last: 24 }, total: 319 }],
    ['cars 0-0/1', { unit: 'cars', range: { first: 0, last: 0 }, total: 1 }],
    ['cars 25-49/*', { unit: 'cars', range: { first: 25, last: 49 } }],
    ['cars */319', { unit: 'cars', total: 319 }],
    ['cars */0', { unit: 'cars', total: 0 }],
    ['cars_models 1-2/3', { unit: 'cars_models', range: { first: 1, last: 2 }, total: 3 }],
  ]
  it.each(cases)('%s', (text, value) => {
    expect(parseContentRange(text)).toEqual(value)
    expect(printContentRange(value)).toBe(text)
  })

  it.each([
    'cars */*',
    'cars 5-4/10',
    'cars 0-24/24',
    'cars 0-24',
    'cars 0-24/',
    'cars  0-24/30',
    'cars 0 - 24/30',
    '0-24/30',
    'cars -24/30',
    'cars 0-24/x',
    'old cars 0-24/30',
    'cars 0-24/30x',
    ' 0-24/30',
    'cars 0-/30',
    'cars 0-1/1000000000000000',
    '',
  ])('refuses %j', text => {
    expect(parseContentRange(text)).toBeUndefined()
  })
})

describe('printLink (RFC 8288 §3, and what stock parsers read)', () => {
  it.each<[Link[], string]>([
    [[{ rel: 'next', href: 'http://a/cars?offset=25' }], '<http://a/cars?offset=25>; rel="next"'],
    [
      [
        { rel: 'next', href: 'http://a/1' },
        { rel: 'prev', href: 'http://a/2' },
      ],
      '<http://a/1>; rel="next", <http://a/2>; rel="prev"',
    ],
    [[{ rel: 'next', href: '/c?fields=id,color' }], '</c?fields=id%2Ccolor>; rel="next"'],
    [[{ rel: 'next', href: '/c?a=;b' }], '</c?a=%3Bb>; rel="next"'],
    [[{ rel: 'next', href: '/c?a[in]=<">' }], '</c?a%5Bin%5D=%3C%22%3E>; rel="next"'],
    [
      [{ rel: 'next', href: 'http://[::1]:8080/c?a[0]' }],
      '<http://[::1]:8080/c?a%5B0%5D>; rel="next"',
    ],
    [[{ rel: 'next', href: '/c?b=http://[::1]' }], '</c?b=http://%5B::1%5D>; rel="next"'],
    [[{ rel: 'next', href: '/c?a=100%' }], '</c?a=100%25>; rel="next"'],
    [[{ rel: 'next', href: '/c?a=%2x' }], '</c?a=%252x>; rel="next"'],
    [[{ rel: 'next', href: '/c?a=%2C' }], '</c?a=%2C>; rel="next"'],
    [[{ rel: 'next', href: '/c?a=é\r\nX: y' }], '</c?a=%C3%A9%0D%0AX:%20y>; rel="next"'],
    [[{ rel: 'next', href: '/c?a=\ud800' }], '</c?a=%EF%BF%BD>; rel="next"'],
    [[], ''],
  ])('%j', (links, text) => {
    expect(printLink(links)).toBe(text)
  })
})

describe('parseLink', () => {
  it.each<[string, Link[]]>([
    ['<http://a/1>; rel="next"', [{ rel: 'next', href: 'http://a/1' }]],
    ['<http://a/1>; rel=next', [{ rel: 'next', href: 'http://a/1' }]],
    ['<http://a/1>;REL="next"', [{ rel: 'next', href: 'http://a/1' }]],
    ['<http://a/1> ; title="x" ; rel="next"', [{ rel: 'next', href: 'http://a/1' }]],
    [
      '<1>; rel="prev previous"',
      [
        { rel: 'prev', href: '1' },
        { rel: 'previous', href: '1' },
      ],
    ],
    [
      '<1>; rel="next", <2>; rel="last"',
      [
        { rel: 'next', href: '1' },
        { rel: 'last', href: '2' },
      ],
    ],
    [
      '<a,b;c>; rel="next",<2>; rel=last',
      [
        { rel: 'next', href: 'a,b;c' },
        { rel: 'last', href: '2' },
      ],
    ],
    ['<1>; rel="first"; rel="second"', [{ rel: 'first', href: '1' }]],
    ['<1>; title="; rel=evil"; rel="next"', [{ rel: 'next', href: '1' }]],
    ['<1>; title="<2>; rel=evil"; rel="next"', [{ rel: 'next', href: '1' }]],
    ['<1>; title="a\\"; rel=evil"; rel="next"', [{ rel: 'next', href: '1' }]],
    ['<1>; crossorigin; rel="next"', [{ rel: 'next', href: '1' }]],
    ['<1>; title=""; rel="next"', [{ rel: 'next', href: '1' }]],
    ['<1>; title=; rel="next"', [{ rel: 'next', href: '1' }]],
    ['<1>; ="x"; rel="next"', []],
    ['<1>; xrel="no"', []],
    ['<1>; rel', []],
    ['<1>; rel=', []],
    ['<1>; rel=next, <2', [{ rel: 'next', href: '1' }]],
    ['<1>', []],
    ['nonsense', []],
    ['', []],
  ])('%j', (text, links) => {
    expect(parseLink(text)).toEqual(links)
  })
})

describe('parseCursor and printCursor', () => {
  const cursor = { key: [1500, 'é"😀'], backward: true, position: 25 }
  const sort = [...parseSort('-price'), ...parseSort('id')]
  const text = printCursor(cursor, sort)

  it('is opaque and needs no escape in a URL', () => {
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(parseCursor(text, sort)).toEqual(cursor)
  })

  it.each<[Cursor, RegExp]>([
    [{ key: [26], backward: false, position: 25 }, /^[0-9a-z]{1,7}-25n-26$/],
    [{ key: [0], backward: true, position: 0 }, /^[0-9a-z]{1,7}-0p-0$/],
    [{ key: undefined, backward: true, position: 9975 }, /^[0-9a-z]{1,7}-9975p$/],
    [{ key: [-1], backward: false, position: 1 }, /-1n-W/],
    [{ key: [1.5], backward: false, position: 1 }, /-1n-W/],
    [{ key: [1e21], backward: false, position: 1 }, /-1n-W/],
    [{ key: ['26'], backward: false, position: 1 }, /-1n-W/],
    [{ key: [null, 26], backward: false, position: 1 }, /-1n-W/],
    [{ key: [], backward: false, position: 1 }, /-1n-W/],
  ])('%j is short, and read back', (each, pattern) => {
    const printed = printCursor(each, sort)
    expect(printed).toMatch(pattern)
    expect(parseCursor(printed, sort)).toEqual(each)
  })

  it('every changed character is found', () => {
    for (let at = 0; at < text.length; at++) {
      for (const other of ['A', '1', 'n', '-']) {
        if (text[at] === other) continue
        expect(parseCursor(text.slice(0, at) + other + text.slice(at + 1), sort)).toBeUndefined()
      }
    }
  })

  it.each([
    '',
    'abc',
    `${text}A`,
    text.slice(1),
    `${text}=`,
    text.repeat(2),
    '%%%',
    'é',
    `${text}\n`,
  ])('refuses %j', changed => {
    expect(parseCursor(changed, sort)).toBeUndefined()
  })

  it.each(['price', '-price,-id', '', '-price,id,id'])('refuses one of another sort: %j', other => {
    expect(parseCursor(text, parseSort(other))).toBeUndefined()
  })

  it.each([
    ['a key that is not JSON', '25p-Wx'],
    ['a key that is not a list', `25p-${Buffer.from('{}').toString('base64url')}`],
    ['a position beyond the whole numbers', '9999999999999999n'],
  ])('refuses %s, whatever its seal says', (_, place) => {
    expect(parseCursor(seal(place, sort), sort)).toBeUndefined()
  })

  it('the seal of such a text is right', () => {
    expect(parseCursor(seal('25n-26', sort), sort)).toEqual({
      key: [26],
      backward: false,
      position: 25,
    })
  })
})

/** Seals a place as `printCursor` does: FNV-1a over the sort and the place. */
function seal(place: string, sort: readonly SortKey[]): string {
  let hash = 0x811c9dc5
  for (const char of `${printSort(sort)} ${place}`) {
    hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  }
  return `${(hash >>> 0).toString(36)}-${place}`
}

describe('readWindow', () => {
  const sort = parseSort('id')
  const options = { unit: 'cars', defaultLimit: 25, maxLimit: 100, sort }
  const read = (query: string, range?: string) => {
    const issues: Issue[] = []
    const parameters: Parameter[] = parseParameters(query) ?? []
    return { window: readWindow(parameters, range, options, issues), issues }
  }
  const start = { by: 'cursor', cursor: undefined }

  it.each<[string, string | undefined, object]>([
    ['', undefined, { ...start, limit: 25 }],
    ['limit=5', undefined, { ...start, limit: 5 }],
    ['limit=0', undefined, { ...start, limit: 0 }],
    ['limit=100', undefined, { ...start, limit: 100 }],
    ['limit=101', undefined, { ...start, limit: 100 }],
    ['limit=999999999999999', undefined, { ...start, limit: 100 }],
    ['offset=0', undefined, { by: 'offset', offset: 0, limit: 25 }],
    ['offset=50&limit=10', undefined, { by: 'offset', offset: 50, limit: 10 }],
    ['', 'cars=0-24', { by: 'range', offset: 0, limit: 25 }],
    ['', 'cars=10-', { by: 'range', offset: 10, limit: 100 }],
    ['', 'cars=0-999', { by: 'range', offset: 0, limit: 100 }],
    ['', 'bytes=0-24', { ...start, limit: 25 }],
    ['', 'cars=9-0', { ...start, limit: 25 }],
    ['limit=5', 'cars=0-24', { ...start, limit: 5 }],
    ['offset=5', 'cars=0-24', { by: 'offset', offset: 5, limit: 25 }],
    ['color=red', 'cars=5-6', { by: 'range', offset: 5, limit: 2 }],
  ])('%j with Range %j', (query, range, window) => {
    expect(read(query, range)).toEqual({ window, issues: [] })
  })

  it('a cursor of the same sort', () => {
    const cursor = { key: ['a'], backward: false, position: 25 }
    expect(read(`cursor=${printCursor(cursor, sort)}&limit=10`, 'cars=0-1')).toEqual({
      window: { by: 'cursor', cursor, limit: 10 },
      issues: [],
    })
  })

  it.each([
    ['limit=-1', 'invalid_number'],
    ['limit=1&limit=2', 'repeated_parameter'],
    ['cursor=nonsense', 'invalid_cursor'],
    [
      `cursor=${printCursor({ key: ['a'], backward: false, position: 0 }, parseSort('-id'))}`,
      'invalid_cursor',
    ],
    [
      `offset=1&cursor=${printCursor({ key: ['a'], backward: false, position: 0 }, sort)}`,
      'conflicting_parameters',
    ],
  ])('refuses %s', (query, type) => {
    expect(read(query).issues).toMatchObject([{ type }])
  })
})

describe('pageHeaders', () => {
  const sort = parseSort('-price,id')
  const found = { count: 2, more: true, total: 9, firstKey: [5, 1], lastKey: [4, 2] }
  const options = { unit: 'cars', sort, address: 'https://api.example/cars' }

  it('gives what Headers and writeHead accept, with links that keep the parameters', () => {
    const parameters = parseParameters('color=red&offset=2&limit=2&_method=GET') ?? []
    const headers = pageHeaders({ by: 'offset', offset: 2, limit: 2 }, found, {
      ...options,
      parameters,
    })
    expect(headers).toMatchObject({
      'Accept-Ranges': 'cars',
      'Content-Range': 'cars 2-3/9',
      'X-Result-Count': '9',
    })
    const [next] = parseLink(new Headers(headers).get('link') ?? '')
    expect(next?.href).toBe('https://api.example/cars?color=red&limit=2&offset=4')
  })

  it('a Range is continued with its size as the limit; without parameters there is only the place', () => {
    const [next] = parseLink(
      pageHeaders({ by: 'range', offset: 0, limit: 2 }, found, options).Link ?? '',
    )
    expect(next?.href).toBe('https://api.example/cars?limit=2&offset=2')
    const cursor = pageHeaders({ by: 'cursor', cursor: undefined, limit: 2 }, found, options)
    expect(cursor.Link).toMatch(/^<https:\/\/api.example\/cars\?cursor=[\w-]+>; rel="next"/)
  })
})
