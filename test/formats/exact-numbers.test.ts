// Whole numbers that JavaScript rounds are refused wherever a client sends one, and no other number is.
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { findInexact, isInexact } from '../../src/base/exact-numbers.ts'
import { simpleRest } from '../../src/dialects/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { runs } from '../random.ts'

const ODD = '9007199254740993'
const EVEN = '9007199254740992'

describe('the first number that JavaScript rounds', () => {
  it.each<[json: string, path: string | undefined, digits?: string]>([
    [ODD, '', ODD],
    [`-${ODD}`, '', `-${ODD}`],
    [EVEN, undefined],
    ['100000000000000000000', undefined],
    ['1000000000000000000000', '', '1000000000000000000000'],
    [`${ODD}.5`, undefined],
    [`${ODD}e0`, undefined],
    [`0.${ODD}`, undefined],
    [`1e-${'0'.repeat(20)}1`, undefined],
    [`"${ODD}"`, undefined],
    [`{"${ODD}":1}`, undefined],
    [`["\\"",${ODD}]`, '1', ODD],
    [`["\\\\",${ODD}]`, '1', ODD],
    [`{"a":{"b":[0,{"c":${ODD}}]}}`, 'a.b.1.c', ODD],
    [`{"a":[],"b":{},"c":["x",[1,2],${ODD}]}`, 'c.2', ODD],
    [`{"a":":,{[","b":${ODD}}`, 'b', ODD],
    [`{"a\\"b":${ODD}}`, 'a"b', ODD],
    [` { "a" : [ 1 , ${ODD} ] , "b" : ${ODD} } `, 'a.1', ODD],
  ])('%s: %s', (json, path, digits) => {
    expect(findInexact(json)).toEqual(path === undefined ? undefined : { path, digits })
  })

  it('is found in every JSON', () => {
    const number = fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n }).map(String)
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), number, fc.boolean(), (json, digits, first) => {
        const text = first ? `[${digits},${json}]` : `{"a":${json},"n":[${digits}]}`
        const isRounded = JSON.stringify(JSON.parse(digits)) !== digits
        expect(isInexact(digits)).toBe(isRounded)
        const path = first ? '0' : 'n.0'
        expect(findInexact(text)).toEqual(isRounded ? { path, digits } : undefined)
      }),
      { numRuns: runs(300) },
    )
  })

  it.each([
    ['+9007199254740993', true],
    ['0009007199254740993', true],
    ['12345678901234567890x', false],
    ['', false],
  ])('of a form: %s', (text, wanted) => expect(isInexact(text)).toBe(wanted))
})

const schema = z.object({
  n: z.number().optional(),
  text: z.string().optional(),
  list: z.array(z.number()).optional(),
  any: z.json().optional(),
  either: z.union([z.string(), z.number()]).optional(),
})

function createApi() {
  const cars = defineCollection({ name: 'cars', id: 'integer', schema, store: memoryStore() })
  return defineApi({ collections: [cars], batch: true, dialects: [simpleRest()] })
}

let api: ReturnType<typeof createApi>
beforeAll(async () => {
  api = createApi()
  await ask('POST', '/cars', 'application/json', '{"n":1}')
})

async function ask(method: string, path: string, type?: string, body?: string) {
  const response = await api.fetch(
    new Request(`http://cars.test${path}`, {
      method,
      ...(body !== undefined &&
        type && { body, headers: { 'content-type': type, accept: 'application/json' } }),
    }),
  )
  return { status: response.status, text: await response.text() }
}

const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=B'
const part = (name: string, content: string, type = '') =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${type && `\r\nContent-Type: ${type}`}\r\n\r\n${content}\r\n--B--`

type Sent = readonly [method: string, path: string, type?: string, body?: string]

describe('a number that JavaScript rounds is 400', () => {
  it.each<[string, (number: string) => Sent, field: string]>([
    ['in JSON', n => ['POST', '/cars', 'application/json', `{"n":${n}}`], 'n'],
    ['deep in JSON', n => ['POST', '/cars', 'application/json', `{"any":{"a":[${n}]}}`], 'any.a.0'],
    ['in an array of items', n => ['POST', '/cars', 'application/json', `[{},{"n":${n}}]`], '1.n'],
    ['in NDJSON', n => ['POST', '/cars', 'application/x-ndjson', `{}\n{"n":${n}}`], 'n'],
    ['in CSV', n => ['POST', '/cars', 'text/csv', `text,n\r\na,1\r\nb,${n}`], 'n'],
    ['in JSON in CSV', n => ['POST', '/cars', 'text/csv', `text,list\r\nb,"[1,${n}]"`], 'list.1'],
    ['in XML', n => ['POST', '/cars', 'application/xml', `<car><n>${n}</n></car>`], 'n'],
    [
      'in XML of any type',
      n => ['POST', '/cars', 'application/xml', `<car><any type="number">${n}</any></car>`],
      'any',
    ],
    ['in a form', n => ['POST', '/cars', FORM, `n=${n}`], 'n'],
    ['in a list of a form', n => ['POST', '/cars', FORM, `list=1&list=${n}`], 'list'],
    ['in JSON in a form', n => ['POST', '/cars', FORM, `any:json={"a":${n}}`], 'any.a'],
    ['in a part', n => ['POST', '/cars', MULTIPART, part('n', n)], 'n'],
    [
      'in JSON in a part',
      n => ['POST', '/cars', MULTIPART, part('any', `{"a":${n}}`, 'application/json')],
      'any.a',
    ],
    [
      'in XML in a part',
      n => ['POST', '/cars', MULTIPART, part('list', `<a><b>${n}</b></a>`, 'text/xml')],
      'list.0',
    ],
    [
      'in a merge patch',
      n => ['PATCH', '/cars/1', 'application/merge-patch+json', `{"n":${n}}`],
      'n',
    ],
    [
      'in a JSON Patch',
      n => [
        'PATCH',
        '/cars/1',
        'application/json-patch+json',
        `[{"op":"add","path":"/n","value":${n}}]`,
      ],
      '0.value',
    ],
    ['in PUT', n => ['PUT', '/cars/1', 'application/json', `{"id":1,"any":${n}}`], 'any'],
    [
      'in a batch',
      n => [
        'POST',
        '/batch',
        'application/json',
        `[{"method":"POST","path":"/cars","body":{"n":${n}}}]`,
      ],
      '0.body.n',
    ],
    ['in a filter', n => ['GET', `/cars?n=${n}`], 'n'],
    ['in a filter with an operator', n => ['GET', `/cars?n[gt]=${n}`], 'n[gt]'],
    ['in a bound', n => ['GET', `/cars?since_id=${n}`], 'since_id'],
    ['in where', n => ['GET', `/cars?where={"or":[{"n":{"gt":${n}}}]}`], 'where.or.0.n.gt'],
    ['in a QUERY', n => ['QUERY', '/cars', 'application/json', `{"n":[1,${n}]}`], 'n.1'],
    [
      'in where of a QUERY',
      n => ['QUERY', '/cars', 'application/json', `{"where":{"n":${n}}}`],
      'where.n',
    ],
    ['in a QUERY as a form', n => ['QUERY', '/cars', FORM, `n=${n}`], 'n'],
    ['in the filter of a dialect', n => ['GET', `/cars?filter={"n":${n}}`], 'filter'],
  ])('%s', async (_, toSent, field) => {
    const { status, text } = await ask(...toSent(ODD))
    expect([status, JSON.parse(text).errors[0]]).toMatchObject([
      400,
      { field, type: 'inexact_number' },
    ])
    expect(text).toContain(ODD)
    expect((await ask(...toSent('9007199254740991'))).status).toBeLessThan(400)
  })
})

it.each<[string, Sent]>([
  ['digits in a text', ['POST', '/cars', 'application/json', `{"text":"${ODD}"}`]],
  ['digits for a text of a form', ['POST', '/cars', FORM, `text=${ODD}`]],
  ['digits for a text or a number', ['POST', '/cars', FORM, `either=${ODD}`]],
  ['digits for a text in CSV', ['POST', '/cars', 'text/csv', `text\r\n${ODD}`]],
  [
    'digits for a text in XML',
    ['POST', '/cars', 'application/xml', `<car><text>${ODD}</text></car>`],
  ],
  ['a fraction', ['POST', '/cars', 'application/json', `{"n":0.12345678901234567890}`]],
  ['a fraction of many digits', ['POST', '/cars', 'application/json', `{"n":${ODD}.5}`]],
  ['a fraction of a form', ['POST', '/cars', FORM, `n=${ODD}.5`]],
  ['an exponent', ['POST', '/cars', 'application/json', `{"n":12345678901234567e3}`]],
  ['a number that is exact', ['POST', '/cars', 'application/json', `{"n":${EVEN}}`]],
  ['a filter of digits for a text', ['GET', `/cars?text=${ODD}`]],
])('%s is taken', async (_, sent) => {
  expect(await ask(...sent)).toMatchObject({ status: sent[0] === 'GET' ? 200 : 201 })
})
