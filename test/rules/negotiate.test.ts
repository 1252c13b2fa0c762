// Choosing formats and preferences as tables (RFC 9110 §12, §8.3; RFC 7240).
import { describe, expect, it } from 'vitest'
import { type Format, HttpError } from '../../src/index.ts'
import { notAcceptable, readTypes, unsupportedMediaType } from '../../src/negotiate.ts'
import {
  chooseFormat,
  chooseReader,
  type Preferences,
  parseMediaType,
  parsePrefer,
  printPreferences,
} from '../../src/rules/index.ts'

const read = async () => null
const write = () => ''
const FORMATS: readonly Format[] = [
  { name: 'json', extensions: ['json'], types: ['application/json'], read, write },
  { name: 'xml', extensions: ['xml'], types: ['application/xml', 'text/xml'], read, write },
  { name: 'csv', extensions: ['csv'], types: ['text/csv'], write },
  { name: 'form', extensions: [], types: ['application/x-www-form-urlencoded'], read },
]

describe('chooseFormat', () => {
  it.each<[string | undefined, string | undefined, string | undefined]>([
    [undefined, undefined, 'application/json'],
    [undefined, '', 'application/json'],
    [undefined, '*/*', 'application/json'],
    [undefined, 'application/*', 'application/json'],
    [undefined, 'text/*', 'text/xml'],
    [undefined, 'application/xml', 'application/xml'],
    [undefined, 'text/xml', 'text/xml'],
    [undefined, 'Application/XML', 'application/xml'],
    [undefined, 'application/json;q=0.5, application/xml', 'application/xml'],
    [undefined, 'application/xml;q=0.1, */*;q=0.2', 'application/json'],
    [undefined, 'application/json;q=0, */*', 'application/xml'],
    [
      undefined,
      'text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8',
      'application/xml',
    ],
    [undefined, 'application/json; charset=utf-8', 'application/json'],
    [undefined, 'application/json;odata=verbose, text/plain', 'application/json'],
    [undefined, 'text/xml; charset=utf-8', 'text/xml'],
    [undefined, 'application/vnd.acme.v2+json', 'application/json'],
    [undefined, 'application/hal+json;q=0.9, application/atom+xml', 'application/xml'],
    [undefined, 'application/ld+json, application/xml;q=0.1', 'application/xml'],
    [undefined, 'text/html', undefined],
    [undefined, '*/*;q=0', undefined],
    [undefined, 'application/json;q=0', undefined],
    [undefined, 'application/x-www-form-urlencoded', undefined],
    [undefined, 'nonsense', undefined],
    ['xml', 'application/json', 'application/xml'],
    ['csv', undefined, 'text/csv'],
    ['form', undefined, undefined],
  ])('extension %j, Accept %j: %j', (extension, accept, type) => {
    expect(chooseFormat(FORMATS, { extension, accept })?.type).toBe(type)
  })

  const json = 'application/json'
  const problem = 'application/problem+json'
  it.each<[accept: string, type: string, errors: string]>([
    [problem, json, problem],
    [`${problem}, application/json`, json, problem],
    [`application/json, ${problem};q=0.5`, json, problem],
    [`*/*, ${problem};q=0`, json, json],
    ['application/json, application/problem+json-seq', json, json],
    [`text/xml;q=0.5, ${problem};q=0.9`, 'text/xml', problem],
    [`text/xml, ${problem};q=0.9`, 'text/xml', problem],
    [`application/hal+json, ${problem}`, json, problem],
    [`application/atom+xml, ${problem};q=0.9`, 'application/xml', problem],
    // negotiator sees no quotes within quotes: here they hide what it has found.
    [`${problem}, a/b;c="\\"", application/json;d="`, json, problem],
  ])('Accept %j: %j, errors as %j', (accept, type, errors) => {
    // The second is remembered.
    for (let round = 0; round < 2; round++) {
      const chosen = chooseFormat(FORMATS, { accept })
      expect([chosen?.type, chosen?.errors?.type ?? type]).toEqual([type, errors])
    }
  })

  it('problem details need JSON to be among the formats', () => {
    const [, xml] = FORMATS
    const chosen = chooseFormat(xml ? [xml] : [], { accept: `text/xml;q=0.5, ${problem}` })
    expect(chosen).toMatchObject({ format: xml, type: 'text/xml' })
    expect(chosen).not.toHaveProperty('errors')
  })

  it('an Accept that is too long is 400, not work', () => {
    const accept = 'a/b,'.repeat(25_000)
    expect(() => chooseFormat(FORMATS, { accept })).toThrow(
      expect.objectContaining({ status: 400 }),
    )
  })

  it('an Accept of the longest length is read', () => {
    expect(chooseFormat(FORMATS, { accept: `${`a/${'b'.repeat(78)},`.repeat(99)}*/*` })?.type).toBe(
      'application/json',
    )
  })

  it.each<[string | undefined, string | undefined, string]>([
    [undefined, undefined, ''],
    ['json', undefined, ''],
    [undefined, 'application/vnd.acme+json', ''],
    [undefined, 'application/problem+json', ''],
  ])('a format without types, extension %j, Accept %j: %j', (extension, accept, type) => {
    const untyped: Format = { name: 'json', extensions: ['json'], types: [], write }
    expect(chooseFormat([untyped], { extension, accept })?.type).toBe(type)
  })

  it('what was chosen is the same after many others', () => {
    const choose = (at: number) => chooseFormat(FORMATS, { accept: `text/xml;v=${at}` })?.type
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < 201; at++) expect(choose(at)).toBe('text/xml')
    }
    expect(chooseFormat(FORMATS, { accept: 'application/xml' })?.type).toBe('application/xml')
  })

  it('the 406 lists what exists', () => {
    const error = notAcceptable(FORMATS)
    expect(error).toBeInstanceOf(HttpError)
    expect(error).toMatchObject({
      status: 406,
      message: expect.stringContaining('application/json, application/xml, text/csv'),
    })
  })
})

describe('parseMediaType', () => {
  // All characters that a token may have (RFC 9110 §5.6.2).
  const token = "!#$%&'*+-.^_`|~09az"
  it.each<[string, string, Record<string, string>]>([
    [`${token}/${token}; ${token}=${token}`, `${token}/${token}`, { [token]: token }],
    [' Text/HTML ;Charset=UTF-8', 'text/html', { charset: 'UTF-8' }],
    ['a/b;c=1;d=2;c=3;', 'a/b', { c: '1', d: '2' }],
    ['a/b; c="1;\\"\\\\"; d=2', 'a/b', { c: '1;"\\', d: '2' }],
    ['a/b; c=""; d=', 'a/b', { c: '', d: '' }],
  ])('%j', (text, type, parameters) => {
    expect(parseMediaType(text)).toEqual({ type, parameters: new Map(Object.entries(parameters)) })
  })

  it.each([
    '',
    'a',
    'a/',
    '/b',
    ',a/b',
    'a/b c',
    'a/b; c',
    'a/b; =1',
    'a/b; ,c=1',
    'a/b; c="1"2',
    'a/b; c="1',
    'a/b; c="1\\"',
    'a/b; c=1 2',
    'a/b; c=1"2"',
  ])('%j is none', text => {
    expect(parseMediaType(text)).toBeUndefined()
  })
})

describe('chooseReader', () => {
  it.each<[string | undefined, string | undefined, string | undefined]>([
    ['application/json', undefined, 'json'],
    ['application/json; charset=utf-8', undefined, 'json'],
    ['application/vnd.acme+json', undefined, 'json'],
    ['application/vnd.a+b+json', undefined, 'json'],
    ['text/xml', undefined, 'xml'],
    ['application/x-www-form-urlencoded', 'json', 'form'],
    [undefined, undefined, 'json'],
    [undefined, 'xml', 'xml'],
    [undefined, 'csv', 'json'],
    ['text/csv', undefined, undefined],
    ['text/plain', undefined, undefined],
    ['text/plain', 'json', undefined],
  ])('Content-Type %j, extension %j: %j', (type, extension, name) => {
    const content = type === undefined ? undefined : parseMediaType(type)
    expect(chooseReader(FORMATS, content, extension)?.name).toBe(name)
  })

  it('the 415 lists what is read, where RFC 5789 and RFC 9110 look for it', () => {
    const types = 'application/json, application/xml, application/x-www-form-urlencoded'
    expect(unsupportedMediaType(readTypes(FORMATS), 'POST', undefined).headers).toEqual([
      'Accept-Post',
      types,
    ])
    expect(unsupportedMediaType(readTypes(FORMATS), 'PUT', undefined).headers).toEqual([
      'Accept',
      types,
    ])
    expect(
      unsupportedMediaType([...readTypes(FORMATS), 'a/b'], 'PATCH', undefined).headers,
    ).toEqual(['Accept-Patch', `${types}, a/b`])
  })

  it.each([
    [undefined, 'json, named by Content-Type'],
    ['text/plain;charset=UTF-8', 'json, not text/plain;charset=UTF-8'],
  ])('the 415 tells what was sent: %j', (requested, expected) => {
    const [format] = FORMATS
    const refusal = unsupportedMediaType(readTypes(format ? [format] : []), 'POST', requested)
    expect(refusal.message).toBe(`The body must be one of application/${expected}`)
  })
})

describe('parseMediaType (§8.3.1)', () => {
  it.each<[string, string | undefined, [string, string][]?]>([
    ['application/json', 'application/json', []],
    ['Application/JSON;Charset=UTF-8', 'application/json', [['charset', 'UTF-8']]],
    ['text/plain; charset="utf-8"', 'text/plain', [['charset', 'utf-8']]],
    [
      'a/b; x="a\\"b;c" ; y=z',
      'a/b',
      [
        ['x', 'a"b;c'],
        ['y', 'z'],
      ],
    ],
    ['a/b; x=1; x=2', 'a/b', [['x', '1']]],
    [' a/b ', 'a/b', []],
    ['a/b;', 'a/b', []],
    ['a/b; charset', undefined],
    ['a/b; c=', 'a/b', [['c', '']]],
    ['a/b, c/d', undefined],
    ['json', undefined],
    ['a/', undefined],
    ['', undefined],
  ])('%j', (text, type, parameters) => {
    const parsed = parseMediaType(text)
    expect(parsed?.type).toBe(type)
    expect(parsed && [...parsed.parameters]).toEqual(parameters)
  })
})

describe('parsePrefer and printPreferences (RFC 7240)', () => {
  it.each<[string | undefined, Preferences]>([
    [undefined, {}],
    ['', {}],
    ['return=minimal', { return: 'minimal' }],
    ['return=representation', { return: 'representation' }],
    ['Return = "Minimal"', { return: 'minimal' }],
    ['count=none', { count: 'none' }],
    ['count=estimated, return=minimal', { count: 'estimated', return: 'minimal' }],
    ['return=minimal; foo=bar', { return: 'minimal' }],
    ['return=minimal, return=representation', { return: 'minimal' }],
    ['respond-async, wait=10, count=exact', { count: 'exact' }],
    ['return=everything', {}],
    ['count', {}],
    ['foo="a, count=none"', {}],
    [';;;,,,=', {}],
  ])('%j', (text, preferences) => {
    expect(parsePrefer(text)).toEqual(preferences)
  })

  it('prints what was honoured', () => {
    expect(printPreferences({ return: 'minimal', count: 'none' })).toBe(
      'return=minimal, count=none',
    )
  })
})
