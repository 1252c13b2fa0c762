// What is printed reads the same again, for generated values of every syntax.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { joinValues, splitValues } from '../../src/http/value-list.ts'
import {
  type ContentRange,
  parseContentRange,
  parseCursor,
  parseEntityTags,
  parseHttpDate,
  parseLink,
  parseParameters,
  parsePrefer,
  parseRange,
  parseSort,
  printContentRange,
  printCursor,
  printEntityTags,
  printHttpDate,
  printLink,
  printParameters,
  printPreferences,
  printRange,
  printSort,
} from '../../src/rules/index.ts'
import { runs } from '../random.ts'

const position = fc.nat({ max: 999_999_999_999_999 })
const unit = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,20}$/)
const text = fc.string({ unit: 'binary' })
const wellFormed = text.map(value => value.toWellFormed())

/** For all values: `parse(print(value))` is the value. */
function reads<T>(values: fc.Arbitrary<T>, again: (value: T) => unknown): void {
  fc.assert(
    fc.property(values, value => {
      expect(again(value)).toEqual(value)
    }),
    { numRuns: runs(300) },
  )
}

const between = fc.tuple(position, position).map(([one, other]) => ({
  first: Math.min(one, other),
  last: Math.max(one, other),
}))

const contentRange: fc.Arbitrary<ContentRange> = fc.oneof(
  fc.record({ unit, range: between }),
  fc.record({ unit, total: position }),
  fc.tuple(unit, fc.nat(1e9), fc.nat(1e6), fc.nat(1e6)).map(([name, first, more, after]) => ({
    unit: name,
    range: { first, last: first + more },
    total: first + more + 1 + after,
  })),
)

const opaque = fc.string({
  unit: fc.oneof(
    fc.constant('!'),
    fc.integer({ min: 0x23, max: 0x7e }).map(code => String.fromCharCode(code)),
    fc.integer({ min: 0x80, max: 0xff }).map(code => String.fromCharCode(code)),
  ),
})

const SORT = [{ path: ['id'], descending: false }]

describe('parse after print is the identity', () => {
  it('Range', () => {
    const range = fc.oneof(
      between,
      position.map(first => ({ first, last: undefined })),
    )
    fc.assert(
      fc.property(range, unit, (value, name) => {
        expect(parseRange(printRange(value, name), name)).toEqual(value)
      }),
    )
  })

  it('Content-Range', () => {
    reads(contentRange, value => parseContentRange(printContentRange(value)))
  })

  it('Link: relations and addresses', () => {
    const link = fc.record({
      rel: fc.stringMatching(/^[a-z][a-z.-]{0,15}$/),
      href: fc.webUrl({ withQueryParameters: true, withFragments: true }),
    })
    fc.assert(
      fc.property(fc.array(link), links => {
        const again = parseLink(printLink(links))
        expect(again.map(({ rel }) => rel)).toEqual(links.map(({ rel }) => rel))
        // Only characters that stock parsers stumble over are escaped: the address is the same.
        expect(again.map(({ href }) => decodeURIComponent(href))).toEqual(
          links.map(({ href }) => decodeURIComponent(href)),
        )
        expect(parseLink(printLink(again))).toEqual(again)
      }),
    )
  })

  it('Link: whatever stands in a query, one entry stays one entry on one line', () => {
    fc.assert(
      fc.property(text, value => {
        const printed = printLink([{ rel: 'next', href: `http://a/b?c=${value}` }])
        expect(printed).toMatch(/^<[\x21-\x7e]+>; rel="next"$/)
        expect(printed.slice(1, -13)).not.toMatch(/[<>,;"\s]/)
        expect(parseLink(printed)).toHaveLength(1)
      }),
    )
  })

  it('cursors', () => {
    const cursor = fc.record({
      key: fc.option(
        fc.array(
          fc.oneof(
            text,
            fc.boolean(),
            fc.constant(null),
            fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0),
          ),
        ),
        { nil: undefined },
      ),
      backward: fc.boolean(),
      position: fc.maxSafeNat(),
    })
    reads(cursor, value => parseCursor(printCursor(value, SORT), SORT))
  })

  it('a cursor never throws and never reads what it did not print', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.base64String()), value => {
        expect(parseCursor(value, SORT)).toBeUndefined()
      }),
    )
  })

  it('lists of entity tags', () => {
    const tags = fc.oneof(
      fc.constant('*' as const),
      fc.array(fc.record({ weak: fc.boolean(), opaque }), { minLength: 1 }),
    )
    reads(tags, value => parseEntityTags(printEntityTags(value)))
  })

  it('preferences', () => {
    const preferences = fc.record(
      {
        return: fc.constantFrom('minimal', 'representation'),
        count: fc.constantFrom('exact', 'estimated', 'none'),
      },
      { requiredKeys: [] },
    )
    reads(preferences, value => parsePrefer(printPreferences(value)))
  })

  it('HTTP dates, by the second', () => {
    const seconds = fc.integer({ min: 0, max: 253_402_300_799 })
    fc.assert(
      fc.property(seconds, fc.nat(999), (second, milliseconds) => {
        expect(parseHttpDate(printHttpDate(second * 1000 + milliseconds))).toBe(second * 1000)
      }),
    )
  })

  it('parameters', () => {
    const pairs = fc.array(fc.tuple(wellFormed, wellFormed))
    reads(
      pairs.map(list => list.map(([name, value]): [string, string] => [name, value])),
      value =>
        parseParameters(printParameters(value))?.map(({ name, value: each }) => [name, each]),
    )
  })

  it('the values of [in]', () => {
    reads(fc.array(text, { minLength: 1 }), values => splitValues(joinValues(values)))
  })

  it('sort', () => {
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,9}$/)
    const key = fc.record({
      path: fc.array(name, { minLength: 1, maxLength: 3 }),
      descending: fc.boolean(),
    })
    reads(fc.array(key), keys => parseSort(printSort(keys)))
  })
})
