// The dialects as tables: a stock client's parameters and ours.
import { describe, expect, it } from 'vitest'
import { jsonServer, simpleRest } from '../../src/dialects/index.ts'
import { type Dialect, HttpError } from '../../src/index.ts'
import { parseParameters } from '../../src/rules/index.ts'

const LIST = { id: 'id', maxLimit: 3 }

function rewritten(dialect: Dialect, query: string): string[] {
  return dialect
    .rewrite(parseParameters(query) ?? [], LIST)
    .map(({ name, value }) => `${name}=${value}`)
}

function statusOf(dialect: Dialect, query: string): number | undefined {
  try {
    dialect.rewrite(parseParameters(query) ?? [], LIST)
    return undefined
  } catch (error) {
    return error instanceof HttpError ? error.status : 500
  }
}

describe('simpleRest', () => {
  it.each<[string, string[]]>([
    ['sort=["color","ASC"]', ['sort=color']],
    ['sort=["color","DESC"]', ['sort=-color']],
    ['sort=["color","desc"]', ['sort=-color']],
    ['sort=["color"]', ['sort=color']],
    ['range=[0,24]', ['offset=0', 'limit=25']],
    ['range=[25,49]', ['offset=25', 'limit=25']],
    ['range=[5,5]', ['offset=5', 'limit=1']],
    ['range=[0,-1]', ['offset=0', 'limit=0']],
    ['filter={}', []],
    ['filter={"color":"red"}', ['filter[color]=red']],
    ['filter={"id":["a","b"]}', ['filter[id]=a', 'filter[id]=b', 'limit=2']],
    ['filter={"id":["a"]}', ['filter[id]=a']],
    [
      'filter={"id":["a","b"]}&range=[0,0]',
      ['filter[id]=a', 'filter[id]=b', 'offset=0', 'limit=1'],
    ],
    ['filter={"price":5,"on":true}', ['filter[price]=5', 'filter[on]=true']],
    ['filter={"model":{"name":"Clio"}}', ['filter[model.name]=Clio']],
    ['filter={"model.name":"Clio"}', ['filter[model.name]=Clio']],
    ['filter={"model":null}', ['filter[model][exists]=false']],
    ['filter={"q":"red clio"}', ['q=red clio']],
    ['filter={"q":["a","b"]}', ['filter[q]=a', 'filter[q]=b']],
    ['filter={"q":{"toString":1}}', ['filter[q.toString]=1']],
    ['filter={"model":{"q":"x"}}', ['filter[model.q]=x']],
    ['filter={"limit":5}', ['filter[limit]=5']],
    ['filter={"price[gte]":5}', ['filter[price][gte]=5']],
    ['filter={"price[a][b]":5}', ['filter[price[a][b]]=5']],
    ['filter={"x]price[gte]":5}', ['filter[x]price[gte]]=5']],
    ['filter={"price[[gte]":5}', ['filter[price[[gte]]=5']],
    ['filter={"[gte]":5}', ['filter[[gte]]=5']],
    [
      'sort=["a","ASC"]&range=[0,9]&filter={"b":1}',
      ['sort=a', 'offset=0', 'limit=10', 'filter[b]=1'],
    ],
    ['sort=-color&limit=5&color=red', ['sort=-color', 'limit=5', 'color=red']],
    ['color=[red]&model={x}', ['color=[red]', 'model={x}']],
    ['filter=red', ['filter=red']],
    ['filter=red[1]', ['filter=red[1]']],
  ])('%s', (query, parameters) => {
    expect(rewritten(simpleRest, query)).toEqual(parameters)
  })

  it.each([
    'sort=["color"',
    'sort=[]',
    'sort=[1,"ASC"]',
    'sort=["color","UP"]',
    'sort=["color","ASCENDING"]',
    'sort=["color","BASC"]',
    'sort=["color","ASC","price"]',
    'sort=["color",["ASC"]]',
    'sort=["color",{"toString":1}]',
    'range=[0]',
    'range=[0,9,9]',
    'range=[{"valueOf":1,"toString":1},9]',
    'range=[a,b]',
    'range=[-5,5]',
    'range=[0.5,9]',
    'range=["0","9"]',
    'range=[9,0]',
    'range=[0,1e400]',
    'filter={"a"',
    'filter=["a"]',
    'filter={"id":[]}',
    'filter={"id":["a","b","c","d"]}',
    'filter={"a":[{"b":1}]}',
    'filter={"a":[["b"]]}',
    'filter={"a":["b",["c"]]}',
    'filter={"a":"\\u0000"}',
    'range={}',
    'sort={}',
  ])('refuses %s with 400', query => {
    expect(statusOf(simpleRest, query)).toBe(400)
  })

  it.each([
    ['sort=["color"', /^sort cannot be read: it starts like JSON but is not valid JSON$/],
    ['sort=[]', /^sort cannot be read: it must be a field and an order/],
    ['range=[0]', /^range cannot be read: it must be two positions/],
    ['filter=["a"]', /^filter cannot be read: it must be an object/],
    ['filter={"a":{"id":[]}}', /^filter cannot be read: a\.id must have a value/],
  ])('refuses %s and says why', (query, why) => {
    expect(() => rewritten(simpleRest, query)).toThrow(why)
  })

  it('reads a filter as deep as a body may be, and refuses a deeper one', () => {
    const nested = (levels: number) => `filter=${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    expect(rewritten(simpleRest, nested(32))).toEqual([`filter[${'a.'.repeat(31)}a]=1`])
    for (const levels of [33, 100_000]) expect(statusOf(simpleRest, nested(levels))).toBe(400)
  })

  it('what it writes reads the same again', () => {
    const once = simpleRest.rewrite(
      parseParameters('filter={"a b":"c%26d=é\\ud800"}&sort=["x","DESC"]') ?? [],
      LIST,
    )
    const raw = once.map(each => each.raw).join('&')
    expect(rewritten(simpleRest, raw)).toEqual(once.map(({ name, value }) => `${name}=${value}`))
  })
})

describe("simpleRest({ errors: 'byField' })", () => {
  const dialect = simpleRest({ errors: 'byField' })
  const body = { plate: 'x', price: null, model: { name: '' }, tags: ['a'], root: 1 }

  it('rewrites as simpleRest does', () => {
    expect(dialect.name).toBe('simpleRest')
    expect(simpleRest.name).toBe('simpleRest')
    expect(rewritten(dialect, 'sort=["a","DESC"]')).toEqual(
      rewritten(simpleRest, 'sort=["a","DESC"]'),
    )
    expect(simpleRest().errors).toBeUndefined()
  })

  it.each<[string, readonly (readonly [field: string | undefined, message: string])[], object]>([
    ['a property', [['plate', 'taken']], { plate: 'taken' }],
    ['a property that is null', [['price', 'required']], { price: 'required' }],
    ['a nested one', [['model.name', 'empty']], { 'model.name': 'empty' }],
    ['one of a list', [['tags.0', 'unknown']], { 'tags.0': 'unknown' }],
    [
      'several',
      [
        ['plate', 'taken'],
        ['price', 'required'],
      ],
      { plate: 'taken', price: 'required' },
    ],
    [
      'two of one property',
      [
        ['plate', 'too short'],
        ['plate', 'no letters'],
      ],
      { plate: 'too short. no letters' },
    ],
    ['none', [[undefined, 'changed meanwhile.']], { root: { serverError: 'changed meanwhile.' } }],
    ['a header', [['if-match', 'needed']], { root: { serverError: 'needed' } }],
    ['a property that was not sent', [['owner', 'x']], { root: { serverError: 'x' } }],
    ['below one that has none', [['plate.a', 'x']], { root: { serverError: 'x' } }],
    ['what every object has', [['toString', 'x']], { root: { serverError: 'x' } }],
    ['a property called root', [['root', 'x']], { root: { serverError: 'x' } }],
    [
      'both',
      [
        ['plate', 'taken'],
        ['owner', 'who.'],
        [undefined, 'no'],
      ],
      { plate: 'taken', root: { serverError: 'who. no' } },
    ],
  ])('%s', (_, issues, expected) => {
    const errors = issues.map(([field, message]) => ({
      message,
      code: 400,
      ...(field !== undefined && { field }),
    }))
    expect(dialect.errors?.print(errors, body)).toEqual(expected)
  })

  it('what is required and was not sent is said at the property and of the whole', () => {
    const errors = [{ message: 'owner is required', code: 400, field: 'owner', type: 'required' }]
    const root = { serverError: 'owner is required' }
    expect(dialect.errors?.print(errors, body)).toEqual({ owner: 'owner is required', root })
    expect(dialect.errors?.print(errors, undefined)).toEqual({ root })
  })

  it('without a body every error is one of the whole', () => {
    const errors = [{ message: 'no JSON', code: 400, field: 'plate' }]
    expect(dialect.errors?.print(errors, undefined)).toEqual({ root: { serverError: 'no JSON' } })
  })

  it('refuses other options', () => {
    const wrong: object[] = [{ errors: 'byfield' }, { error: 'byField' }]
    for (const each of wrong) expect(() => simpleRest(each)).toThrow(TypeError)
    expect(() => simpleRest(wrong[1])).toThrow('simpleRest: unknown option "error"')
  })
})

describe('jsonServer', () => {
  it.each<[string, string[]]>([
    ['_start=0&_end=25', ['offset=0', 'limit=25']],
    ['_start=25&_end=50', ['offset=25', 'limit=25']],
    ['_end=10', ['limit=10']],
    ['_start=10&_limit=5', ['offset=10', 'limit=5']],
    ['_start=10&_end=5', ['offset=10', 'limit=0']],
    ['_page=1', ['offset=0', 'limit=10']],
    ['_page=3&_limit=20', ['offset=40', 'limit=20']],
    ['_page=2', ['offset=10', 'limit=10']],
    ['_page=0', ['offset=0', 'limit=10']],
    ['_limit=7', ['limit=7']],
    ['_sort=color', ['sort=color']],
    ['_sort=color&_order=DESC', ['sort=-color']],
    ['_sort=color,price&_order=asc,desc', ['sort=color,-price']],
    ['_sort=model.name&_order=desc', ['sort=-model.name']],
    ['color=red&price_gte=5&price_lte=9', ['color=red', 'price[gte]=5', 'price[lte]=9']],
    ['color_ne=red', ['color[ne]=red']],
    ['color_like=re', ['color[like]=%re%']],
    ['color_like=100%25_', ['color[like]=%100\\%\\_%']],
    ['color_like=\\*', ['color[like]=%\\\\\\*%']],
    ['color_likes=re', ['color_likes=re']],
    ['id=1&id=2', ['id=1', 'id=2', 'limit=2']],
    ['id=1', ['id=1']],
    ['id=1&id=2&_limit=1', ['id=1', 'id=2', 'limit=1']],
    ['id=1&id=2&_page=2', ['id=1', 'id=2', 'offset=10', 'limit=10']],
    ['q=clio', ['q=clio']],
    ['_method=PUT', ['_method=PUT']],
    ['sort=-color&limit=5', ['sort=-color', 'limit=5']],
  ])('%s', (query, parameters) => {
    expect(rewritten(jsonServer, query)).toEqual(parameters)
  })

  it.each([
    '_start=x',
    '_start=-1',
    '_end=',
    '_limit=1.5',
    '_page=one',
    '_start=1&_start=2',
    '_sort=a&_sort=b',
  ])('refuses %s with 400', query => {
    expect(statusOf(jsonServer, query)).toBe(400)
  })

  it('X-Total-Count beside X-Result-Count', () => {
    expect(jsonServer.headers?.(['x-result-count', '319'])).toEqual(['X-Total-Count', '319'])
    expect(jsonServer.headers?.(['Content-Range', 'cars 0-1/*'])).toEqual([])
  })
})
