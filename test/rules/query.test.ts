// The query grammar and its meaning in memory as tables: parameters, sort, query, patterns, filters.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { joinValues, splitValues } from '../../src/http/value-list.ts'
import type { Issue, Item } from '../../src/index.ts'
import {
  comparer,
  type Filter,
  fieldsOf,
  matcher,
  type Parameter,
  type ParsedQuery,
  parseParameters,
  parseSort,
  printParameters,
  printSort,
  readQuery,
  type SortKey,
} from '../../src/rules/index.ts'
import type { ValueFilter } from '../../src/store/filter.ts'
import { findLiteral, type LikeStep, parseLike } from '../../src/store/selection.ts'
import { runs } from '../random.ts'

describe('parseParameters and printParameters', () => {
  it.each<[string, [string, string][] | undefined]>([
    ['', []],
    ['a=1', [['a', '1']]],
    [
      'a=1&a=2&b',
      [
        ['a', '1'],
        ['a', '2'],
        ['b', ''],
      ],
    ],
    ['a', [['a', '']]],
    ['=1', [['', '1']]],
    ['a==1', [['a', '=1']]],
    ['&&a=1&', [['a', '1']]],
    ['a=1+2', [['a', '1 2']]],
    ['a=1%2B2', [['a', '1+2']]],
    ['a%5Bgte%5D=1', [['a[gte]', '1']]],
    ["a=:,/?@!$'()*;", [['a', ":,/?@!$'()*;"]]],
    ['a=%C3%A9', [['a', 'é']]],
    ['a=é', [['a', 'é']]],
    ['a=%zz', undefined],
    ['a=%', undefined],
    ['a=%ff', undefined],
    ['%ff=a', undefined],
  ])('%j', (text, pairs) => {
    expect(parseParameters(text)?.map(({ name, value }) => [name, value])).toEqual(pairs)
    if (pairs)
      expect(
        parseParameters(printParameters(pairs))?.map(({ name, value }) => [name, value]),
      ).toEqual(pairs)
  })
})

describe('parseSort and printSort', () => {
  const up = (...path: string[]): SortKey => ({ path, descending: false })
  const down = (...path: string[]): SortKey => ({ path, descending: true })
  it.each<[string, SortKey[], string?]>([
    ['color', [up('color')]],
    ['-created_at,color', [down('created_at'), up('color')]],
    ['model.name', [up('model', 'name')]],
    ['-model.name,id', [down('model', 'name'), up('id')]],
    ['+color', [up('color')], 'color'],
    [' color', [up('color')], 'color'],
    ['a,,b,', [up('a'), up('b')], 'a,b'],
    ['-', [], ''],
    ['', []],
  ])('%j', (text, keys, printed = text) => {
    expect(parseSort(text)).toEqual(keys)
    expect(printSort(keys)).toBe(printed)
  })
})

describe('splitValues and joinValues: the values of [in]', () => {
  it.each<[string, string[], string?]>([
    ['a,b', ['a', 'b']],
    ['a', ['a']],
    ['', ['']],
    [',', ['', '']],
    ['a\\,b,c', ['a,b', 'c']],
    ['a\\\\,b', ['a\\', 'b']],
    ['a\\b', ['a\\b'], 'a\\\\b'],
    ['a\\', ['a\\'], 'a\\\\'],
  ])('%j', (text, values, printed = text) => {
    expect(splitValues(text)).toEqual(values)
    expect(joinValues(values)).toBe(printed)
  })
})

const schema = z.object({
  name: z.string(),
  size: z.number().nullable(),
  limit: z.int(),
  on: z.boolean(),
  day: z.iso.date(),
  at: z.iso.datetime({ offset: true }),
  tags: z.array(z.string()),
  numbers: z.array(z.int()),
  any: z.union([z.string(), z.number()]),
  free: z.json(),
  mixed: z.array(z.union([z.string(), z.number()])),
  model: z.object({ name: z.string().nullable().optional() }).nullable().optional(),
  labels: z.record(z.string(), z.string()),
})
const fields = new Map([
  ...fieldsOf(schema),
  ['id', { kind: 'string', nullable: false, optional: false } as const],
])
const options = { fields, id: 'id', createdAt: 'at' }

function read(text: string): { query: ParsedQuery; issues: Issue[] } {
  const issues: Issue[] = []
  const parameters: Parameter[] = parseParameters(text) ?? []
  return { query: readQuery(parameters, options, issues), issues }
}

describe('readQuery', () => {
  const filter = (
    path: string,
    operator: ValueFilter['operator'],
    ...values: ValueFilter['values']
  ): Filter => ({ path: path.split('.'), operator, values })
  const ID: SortKey = { path: ['id'], descending: false }
  it.each<[string, Filter[]]>([
    ['name=5', [filter('name', 'in', '5')]],
    ['name=true', [filter('name', 'in', 'true')]],
    ['size=5', [filter('size', 'in', 5)]],
    ['on=on', [filter('on', 'in', true)]],
    ['any[exists]=1', [filter('any', 'exists', true)]],
    ['day=2024-02-29', [filter('day', 'in', '2024-02-29')]],
    ['at=2024-02-29T12:00:00%2B02:00', [filter('at', 'in', '2024-02-29T10:00:00.000Z')]],
    ['at=2024-02-29', [filter('at', 'in', '2024-02-29T00:00:00.000Z')]],
    ['at=2024-02-29T12:00', [filter('at', 'in', '2024-02-29T12:00:00.000Z')]],
    ['at=2024-02-29t12:00:00z', [filter('at', 'in', '2024-02-29T12:00:00.000Z')]],
    ['at=2024-02-29T12:00:00.123456789Z', [filter('at', 'in', '2024-02-29T12:00:00.123456789Z')]],
    ['tags=a', [filter('tags', 'in', 'a')]],
    ['numbers[gt]=5', [filter('numbers', 'gt', 5)]],
    ['name=a&name=a', [filter('name', 'in', 'a')]],
    ['name[in]=a,b', [filter('name', 'in', 'a', 'b')]],
    ['name[]=a&name[]=b', [filter('name', 'in', 'a', 'b')]],
    ['name[0]=a&name[1]=b&name=c', [filter('name', 'in', 'a', 'b', 'c')]],
    ['filter[name][0]=a&filter[name][]=b', [filter('name', 'in', 'a', 'b')]],
    ['name[in][0]=a&name[in][]=b,c', [filter('name', 'in', 'a', 'b', 'c')]],
    ['filter[name][nin][12]=a', [filter('name', 'nin', 'a')]],
    ['tags[0]=a', [filter('tags', 'in', 'a')]],
    ['size[gt][]=5', [filter('size', 'gt', 5)]],
    ['name[ne]=a&name[nin]=b,c', [filter('name', 'nin', 'a'), filter('name', 'nin', 'b', 'c')]],
    ['filter[limit]=5&limit=9', [filter('limit', 'in', 5)]],
    ['since=2024-01-01', [filter('at', 'gte', '2024-01-01T00:00:00.000Z')]],
    // Not in 1950, as `0050-01-01Z` would be.
    ['since=0050-01-01', [filter('at', 'gte', '0050-01-01T00:00:00.000Z')]],
    ['until=0049-12-31', [filter('at', 'lt', '0050-01-01T00:00:00.000Z')]],
    ['until=2024-01-01', [filter('at', 'lt', '2024-01-02T00:00:00.000Z')]],
    ['until=2024-02-28', [filter('at', 'lt', '2024-02-29T00:00:00.000Z')]],
    ['until=2024-01-01T00:00:00Z', [filter('at', 'lte', '2024-01-01T00:00:00.000Z')]],
    ['until=9999-12-31', [filter('at', 'lte', '9999-12-31T23:59:59.999Z')]],
    ['until=9999-12-30', [filter('at', 'lt', '9999-12-31T00:00:00.000Z')]],
    ['at[lt]=9999-12-31T23:59:59-01:00', [filter('at', 'lt', '9999-12-31T23:59:59.999Z')]],
    ['since=0000-01-01T00:00:00%2B01:00', [filter('at', 'gte', '0000-01-01T00:00:00.000Z')]],
    ['since_id=a&max_id=b', [filter('id', 'gt', 'a'), filter('id', 'lte', 'b')]],
    ['suppress_error_codes&_method=GET&cursor=x&offset=1', []],
  ])('%j', (text, where) => {
    expect(read(text)).toEqual({ query: { where, sort: [ID] }, issues: [] })
  })

  it.each<[string, readonly SortKey[]]>([
    ['', [ID]],
    ['sort=', [ID]],
    ['sort=-id', [{ path: ['id'], descending: true }]],
    ['sort=id,name', [ID]],
    ['sort=name,-name', [{ path: ['name'], descending: false }, ID]],
    [
      'sort=-at',
      [
        { path: ['at'], descending: true },
        { ...ID, descending: true },
      ],
    ],
    ['sort=-at,id', [{ path: ['at'], descending: true }, ID]],
    [
      'sort=-at,name,at',
      [{ path: ['at'], descending: true }, { path: ['name'], descending: false }, ID],
    ],
  ])('every sort ends with the id: %j', (text, sort) => {
    expect(read(text).query.sort).toEqual(sort)
  })

  it('without a sort, or with an empty one, the default holds', () => {
    const sort = [{ path: ['name'], descending: true }]
    for (const text of ['', 'sort=', 'sort=,']) {
      const query = readQuery(parseParameters(text) ?? [], { ...options, sort }, [])
      expect(query.sort).toEqual([...sort, { ...ID, descending: true }])
    }
  })

  it.each([
    ['since=2024-01-01', undefined],
    ['until=2024-01-01', 'made'],
  ])('%s where the creation date is %j is refused', (text, createdAt) => {
    const issues: Issue[] = []
    const settings = { fields, id: 'id', ...(createdAt !== undefined && { createdAt }) }
    expect(readQuery(parseParameters(text) ?? [], settings, issues).where).toEqual([])
    expect(issues).toMatchObject([{ type: 'not_filterable' }])
  })

  it.each([
    ['size[like]=a', 'invalid_operator'],
    ['numbers[like]=a', 'invalid_operator'],
    ['on[gt]=true', 'invalid_operator'],
    ['any=5', 'not_filterable'],
    ['any[gt]=5', 'not_filterable'],
    ['free=5', 'not_filterable'],
    ['mixed=5', 'not_filterable'],
    ['labels=a', 'not_filterable'],
    ['labels.a=1', 'unknown_field'],
    ['labels.a[exists]=1', 'unknown_field'],
    ['sort=any', 'not_sortable'],
    ['sort=labels.a', 'unknown_field'],
    ['sort=free', 'not_sortable'],
  ])('%s is refused: %s', (text, type) => {
    const { query, issues } = read(text)
    expect(issues).toMatchObject([{ type }])
    expect(query.where).toEqual([])
  })

  it.each([
    'x]name',
    'x[name',
    'name[eq]x',
    'name[eq',
    'name[e[q]',
    'name[e]q]',
    '[eq]',
    'filter[name]x',
    'filter[na[me]',
    'filter[na]me]',
    'filter[name][eq]x',
    'name[0][1]',
    'name[0][in]',
    'name[in][0x]',
    'name[in][eq]',
    'xfilter[name][eq]',
  ])('%s is no name of a filter', name => {
    const { query, issues } = read(`${name}=a`)
    expect(query.where).toEqual([])
    expect(issues).toMatchObject([{ type: 'unknown_field', field: name }])
  })

  it('filters of the same name and operator are one, and there may be as many as the limit', () => {
    const limits = { parameters: 2, filters: 2, values: 2, pattern: 2, words: 2, sortKeys: 2 }
    const types = (text: string) => {
      const issues: Issue[] = []
      readQuery(parseParameters(text) ?? [], { ...options, limits }, issues)
      return issues.map(({ type }) => type)
    }
    expect(types('name=a&name=b&name[ne]=c')).toEqual([])
    expect(types('name=a&name[ne]=b&id=c')).toEqual(['too_many_filters'])
    expect(types('name[in]=a,b')).toEqual([])
    expect(types('name[in]=a,b,c')).toHaveLength(1)
    expect(types('name[like]=ab')).toEqual([])
    expect(types('name[like]=abc')).toHaveLength(1)
    expect(types('name=abc')).toEqual([])
  })

  it('q is a parameter only where there is something to search', () => {
    const parameters = parseParameters('q=+red++clio+') ?? []
    const search = [['name']]
    expect(readQuery(parameters, { ...options, search }, [])).toMatchObject({
      search: { text: 'red  clio', paths: search },
      where: [],
    })
    expect(read('q=red').issues).toMatchObject([{ type: 'unknown_field', field: 'q' }])
  })
})

describe('parseLike', () => {
  const any = 'run'
  it.each<[string, readonly unknown[]]>([
    ['', []],
    ['a%', [{ char: 'a' }, any]],
    ['*a', [any, { char: 'a' }]],
    ['%*%', [any]],
    ['_', ['one']],
    ['a\\%b', [{ char: 'a' }, { char: '%' }, { char: 'b' }]],
    ['\\\\', [{ char: '\\' }]],
    ['a\\', [{ char: 'a' }, { char: '\\' }]],
    ['😀_', [{ char: '😀' }, 'one']],
  ])('%j', (pattern, steps) => {
    expect(parseLike(pattern)).toEqual(steps)
  })
})

describe('findLiteral: what is looked for before the whole pattern', () => {
  it.each<[string, string | undefined]>([
    ['abcd', undefined],
    ['abcdef*', undefined],
    ['*abcd', 'abcd'],
    ['ab*cdef_ghijk*', 'ghijk'],
    ['*abc_def*', undefined],
    ['*a\\%cd', 'a%cd'],
    ['*', undefined],
  ])('%j', (pattern, literal) => {
    expect(findLiteral(parseLike(pattern))).toBe(literal)
  })
})

const ITEM: Item = {
  id: 'i',
  name: 'Clio 100% é😀',
  size: 5,
  limit: 3,
  on: false,
  day: '2024-02-29',
  at: '2024-02-29T12:00:00+02:00',
  tags: ['a', 'b'],
  numbers: [],
  any: 'x',
  model: { name: null },
  labels: { a: '1' },
}

/** What a pattern means, step by step. */
function fits([step, ...steps]: readonly LikeStep[], [char, ...chars]: readonly string[]): boolean {
  if (step === undefined) return char === undefined
  if (step === 'run') {
    return (
      fits(steps, [char ?? [], chars].flat()) ||
      (char !== undefined && fits([step, ...steps], chars))
    )
  }
  return char !== undefined && (step === 'one' || step.char === char) && fits(steps, chars)
}

describe('matcher', () => {
  it.each<[string, boolean]>([
    ['name[like]=Clio%25', true],
    ['name[like]=clio%25', false],
    ['name[like]=%25100\\%25%25', true],
    ['name[like]=*😀', true],
    ['name[like]=Clio', false],
    ['name[like]=*io 100*', true],
    ['name[like]=*lio 100_*', true],
    ['name[like]=*Clio 101*', false],
    ['name[like]=*Clio 100', false],
    ['name[like]=Clio _00*é_', true],
    ['name[like]=', false],
    ['name[prefix]=Clio 1', true],
    ['name[prefix]=', true],
    ['size=5.0', true],
    ['size[ne]=5', false],
    ['size[gt]=5', false],
    ['size[gte]=5', true],
    ['size[exists]=1', true],
    ['on=false', true],
    ['day[lt]=2024-03-01', true],
    ['at=2024-02-29T10:00:00Z', true],
    ['at[in]=2024-01-01T00:00:00Z,2024-02-29T10:00:00Z', true],
    ['at[nin]=2024-01-01T00:00:00Z,2024-02-29T10:00:00Z', false],
    ['at[gt]=2024-02-29T10:00:00Z', false],
    ['at[gt]=2024-02-29T09:59:59Z', true],
    ['tags=a', true],
    ['tags=c', false],
    ['tags[ne]=a', false],
    ['tags[ne]=c', true],
    ['tags[in]=c,b', true],
    ['tags[prefix]=b', true],
    ['numbers=1', false],
    ['numbers[ne]=1', true],
    ['numbers[exists]=true', true],
    ['any[exists]=1', true],
    ['model.name=x', false],
    ['model.name[ne]=x', false],
    ['model.name[exists]=false', true],
    ['model[exists]=true', true],
    ['labels[exists]=1', true],
  ])('%s: %s', (text, expected) => {
    const { query, issues } = read(text)
    expect(issues).toEqual([])
    expect(matcher(query, fields)(ITEM)).toBe(expected)
  })

  it.each<[string, Item['model'] | undefined]>([
    ['absent', undefined],
    ['null', null],
  ])('a dotted filter never matches an item whose parent is %s', (_row, model) => {
    const item: Item = { id: 'i', ...(model !== undefined && { model }) }
    for (const text of [
      'model.name=x',
      'model.name[ne]=x',
      'model.name[exists]=0',
      'model.name[exists]=1',
    ])
      expect(matcher(read(text).query, fields)(item)).toBe(false)
  })

  it.each(['in', 'gt', 'gte', 'lt', 'lte'] as const)('null in a list answers no [%s]', operator => {
    const test = matcher({ where: [{ path: ['numbers'], operator, values: [5] }] }, fields)
    expect(test({ numbers: [null] })).toBe(false)
  })

  const matches = (pattern: string, name: string) =>
    matcher({ where: [{ path: ['name'], operator: 'like', values: [pattern] }] }, fields)({ name })

  it('a pattern means the same however it is looked for', () => {
    const chars = fc.constantFrom('a', 'a', 'b', 'é', '😀', '\ufffd')
    const signs = fc.oneof(fc.constantFrom('%', '*', '_', '_', '\\%', '\\_', '\\\\', '\\'), chars)
    const texts = fc.array(
      fc.oneof({ weight: 8, arbitrary: chars }, fc.constantFrom('%', '_', '\\')),
      {
        maxLength: 12,
      },
    )
    let fitted = 0
    fc.assert(
      fc.property(fc.array(signs, { maxLength: 8 }), texts, (pattern, text) => {
        const name = text.join('')
        const expected = fits(parseLike(pattern.join('')), Array.from(name))
        expect(matches(pattern.join(''), name)).toBe(expected)
        if (expected) fitted++
      }),
      { numRuns: runs(20_000) },
    )
    expect(fitted).toBeGreaterThan(500)
  })

  it('many long values cost little on many long texts', () => {
    const values = Array.from({ length: 100 }, (_, at) => `${'a'.repeat(9000)}${at}`)
    const filter = { path: ['name'], operator: 'nin', values } as const
    const test = matcher({ where: [filter] }, fields)
    for (let at = 0; at < 5000; at++) expect(test({ name: `${'a'.repeat(9000)}b${at}` })).toBe(true)
  })

  it.each([
    ['of many runs', `${'%a'.repeat(49)}%b`],
    ['without a run', 'a'.repeat(100)],
    ['that fits but for its first character', `%b${'a'.repeat(98)}%`],
    ['that fits but for its last character', `%${'a'.repeat(98)}b%`],
    ['of any characters', `%a${'_'.repeat(97)}b%`],
  ])('a pattern %s costs little on a long text', (_name, pattern) => {
    expect(matches(pattern, 'a'.repeat(100_000))).toBe(false)
  })
})

describe('comparer', () => {
  it.each<[string, Item, Item]>([
    ['size', { size: 9 }, { size: 10 }],
    ['-size', { size: 10 }, { size: 9 }],
    ['size', { size: null }, { size: -1 }],
    ['size', {}, { size: -1 }],
    ['-size', { size: -1 }, {}],
    ['name', { name: '10' }, { name: '9' }],
    ['name', { name: 'Z' }, { name: 'a' }],
    ['name', { name: '\uff5e' }, { name: '😀' }],
    ['name', { name: 'a' }, { name: 'a\u0001' }],
    ['on', { on: false }, { on: true }],
    ['at', { at: '2024-02-29T12:00:00+02:00' }, { at: '2024-02-29T11:00:00Z' }],
    ['model.name', { model: null }, { model: { name: 'a' } }],
    ['size,id', { size: 1, id: 'a' }, { size: 1, id: 'b' }],
  ])('sort=%s', (sort, first, second) => {
    const compare = comparer(parseSort(sort), fields)
    expect(compare(first, second)).toBeLessThan(0)
    expect(compare(second, first)).toBeGreaterThan(0)
    expect(compare(first, first)).toBe(0)
  })
})
