// JSON in and out: what is accepted is given back byte for byte, everything else is refused.
import { describe, expect, it } from 'vitest'
import { buildLimits } from '../../src/http/limits.ts'
import { HttpError, type Json, json, type ReadContext } from '../../src/index.ts'

const context: ReadContext = {
  fields: undefined,
  limits: buildLimits({ body: 1024 * 1024, depth: 32 }),
  parameters: new Map(),
  length: undefined,
  signal: new AbortController().signal,
}

async function read(body: Uint8Array | string, more: Partial<ReadContext> = {}): Promise<Json> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  async function* chunks() {
    // In two pieces, so that a character may be torn apart.
    const half = bytes.length >> 1
    yield bytes.subarray(0, half)
    yield bytes.subarray(half)
  }
  if (!json.read) throw new TypeError('JSON reads')
  return json.read(chunks(), { ...context, ...more })
}

async function refusal(work: Promise<unknown>): Promise<{ status: number; type?: string }> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    const [entry] = error.errors
    return { status: error.status, ...(entry?.type !== undefined && { type: entry.type }) }
  }
  return { status: 200 }
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('reading JSON', () => {
  const accepted: readonly [name: string, body: string | Uint8Array, value: Json][] = [
    ['an object', '{"a":1}', { a: 1 }],
    ['with white space around', ' \r\n\t{"a":1}\n', { a: 1 }],
    ['with a byte order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), {}],
    ['a character of four bytes', '{"a":"\u{1F600}"}', { a: '\u{1F600}' }],
    ['a surrogate pair as escapes', '{"a":"\\ud83d\\ude00"}', { a: '\u{1F600}' }],
    ['a repeated key: the last counts', '{"a":1,"a":2}', { a: 2 }],
    ['the same, written with escapes', '{"a":1,"\\u0061":2}', { a: 2 }],
    ['exactly as deep as allowed', nested(32), JSON.parse(nested(32))],
    ['brackets in a text do not count', JSON.stringify('['.repeat(99)), '['.repeat(99)],
    [
      'an escaped quote before brackets',
      '"\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["',
      `"${'['.repeat(36)}`,
    ],
    ['the greatest safe integer', '9007199254740991', 9007199254740991],
    ['the greatest number', '1.7976931348623157e308', Number.MAX_VALUE],
    ['null', 'null', null],
    ['the empty name', '{"":1}', { '': 1 }],
    [
      'own names of every object',
      '{"toString":1,"hasOwnProperty":2}',
      { toString: 1, hasOwnProperty: 2 },
    ],
  ]
  for (const [name, body, value] of accepted) {
    it(name, async () => expect(await read(body)).toEqual(value))
  }

  const refused: readonly [name: string, body: string | Uint8Array, type: string][] = [
    ['nothing', '', 'invalid_json'],
    ['white space alone', ' \n', 'invalid_json'],
    ['half an object', '{"a":', 'invalid_json'],
    ['two values', '{}{}', 'invalid_json'],
    ['a trailing comma', '{"a":1,}', 'invalid_json'],
    ['single quotes', "{'a':1}", 'invalid_json'],
    ['a comment', '{}//x', 'invalid_json'],
    ['NaN', '{"a":NaN}', 'invalid_json'],
    ['a raw control character', '"\u0001"', 'invalid_json'],
    ['two byte order marks', '\uFEFF\uFEFF{}', 'invalid_json'],
    ['a lone continuation byte', Buffer.from([0x22, 0x80, 0x22]), 'invalid_encoding'],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'invalid_encoding'],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'invalid_encoding'],
    ['half a character at the end', Buffer.from([0x22, 0xf0, 0x9f]), 'invalid_encoding'],
    ['UTF-16', Buffer.from('\uFEFF{}', 'utf16le'), 'invalid_encoding'],
    ['one level too deep', nested(33), 'too_deep'],
    ['100,000 levels of lists', nested(100_000), 'too_deep'],
    ['100,000 levels of objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 'too_deep'],
    ['100,000 opened and never closed', '['.repeat(100_000), 'too_deep'],
    ['__proto__', '{"__proto__":{"polluted":1}}', 'invalid_value'],
    ['__proto__ by escapes', '{"\\u005f_proto__":{"polluted":1}}', 'invalid_value'],
    ['constructor.prototype, nested', '{"a":[{"constructor":{"prototype":{}}}]}', 'invalid_value'],
    ['1e400', '{"a":1e400}', 'invalid_value'],
    ['-1e400 in a list', '[[-1e400]]', 'invalid_value'],
    ['U+0000 in a text', '{"a":"x\\u0000y"}', 'invalid_value'],
    ['U+0000 in a name', '{"x\\u0000y":1}', 'invalid_value'],
    ['a lone high surrogate', '{"a":"\\ud83d"}', 'invalid_value'],
    ['a lone low surrogate in a name', '{"\\ude00":1}', 'invalid_value'],
  ]
  for (const [name, body, type] of refused) {
    it(`refuses ${name}`, async () => {
      expect(await refusal(read(body))).toEqual({ status: 400, type })
      expect('polluted' in {}).toBe(false)
    })
  }

  it('says where the issue is, and quotes one character of the body', async () => {
    await expect(read('{"secret":"value" x}')).rejects.toThrow(
      /^The body is not valid JSON at line 1, column 19: "x" cannot stand there$/,
    )
    await expect(read('{"secret":')).rejects.toThrow('valid JSON: it ends too early')
    await expect(read('{"a":{"b":[0,"\\u0000"]}}')).rejects.toThrow('a.b.1 holds')
  })

  it('refuses another charset, and takes the names of its own in any case', async () => {
    for (const charset of ['utf-8', 'UTF-8', 'utf8', 'US-ASCII']) {
      expect(await read('{}', { parameters: new Map([['charset', charset]]) })).toEqual({})
    }
    for (const charset of ['iso-8859-1', 'utf-16', '']) {
      const parameters = new Map([['charset', charset]])
      expect((await refusal(read('{}', { parameters }))).status).toBe(415)
    }
  })

  it('stops reading at the limit, and before it where the length says so', async () => {
    const limits = buildLimits({ body: 10 })
    expect(await read('"12345678"', { limits })).toBe('12345678')
    expect((await refusal(read('"123456789"', { limits }))).status).toBe(413)
    let pulled = 0
    async function* endless() {
      for (;;) yield Buffer.alloc(1 + ++pulled * 0)
    }
    const read11 = json.read?.(endless(), { ...context, limits })
    expect((await refusal(Promise.resolve(read11))).status).toBe(413)
    expect(pulled).toBe(11)
    pulled = 0
    const announced = json.read?.(endless(), { ...context, limits, length: 11 })
    expect((await refusal(Promise.resolve(announced))).status).toBe(413)
    expect(pulled).toBe(0)
  })

  it('takes what a host server has parsed, with the same care', () => {
    const receive = (value: unknown) => json.receive?.(value, context)
    expect(receive({ a: [1, null, 'x'] })).toEqual({ a: [1, null, 'x'] })
    const hostile: unknown[] = [
      JSON.parse('{"__proto__":1}'),
      { a: Number.POSITIVE_INFINITY },
      { a: Number.NaN },
      { a: undefined },
      { a: () => 1 },
      { a: 1n },
      JSON.parse(nested(40)),
    ]
    for (const value of hostile) expect(() => receive(value)).toThrow(HttpError)
  })
})

describe('writing JSON', () => {
  const print = (data: Json) =>
    json.write?.({ kind: 'document', name: 'x', data }, 'application/json')
  it('prints what it reads', async () => {
    for (const text of ['{"a":[1,2.5,null,true,"x\u{1F600}"],"b":{}}', '[]', '"\u2028"']) {
      expect(print(await read(text))).toBe(text)
    }
  })
  it('prints problem details (RFC 9457) where asked', () => {
    const errors = [{ message: 'No', code: 404, field: 'id' }]
    const text = json.write?.({ kind: 'errors', status: 404, errors }, 'application/problem+json')
    expect(JSON.parse(String(text))).toEqual({
      title: 'Not Found',
      status: 404,
      detail: 'No',
      errors,
    })
  })
})
