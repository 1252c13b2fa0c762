// Whole requests made by a grammar, with damage: what they find becomes a case of hostile.ts.
// RUNS=8 SEED=1 npx vitest run test/guards/fuzz.test.ts
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { jsonServer, simpleRest } from '../../src/dialects/index.ts'
import { csv, form, json, multipart, ndjson, xml } from '../../src/index.ts'
import { type Example, example, seed } from '../fixture.ts'
import { runs } from '../random.ts'
import { HOSTILE } from './hostile.ts'
import { converse, print, type Served, serve, type WireRequest } from './wire.ts'

let served: Served
let made: Example
let id: string
const failures: unknown[] = []

beforeAll(async () => {
  made = example({
    formats: [json, xml, csv, ndjson, form, multipart],
    dialects: [simpleRest, jsonServer],
    onError: error => failures.push(error),
    limits: { bodyTime: 500 },
  })
  const [car] = await seed(made, 3)
  id = String(car?.id)
  served = await serve(made.api.handler)
})
afterAll(() => served.close())

const method = fc.constantFrom(
  'GET',
  'GET',
  'HEAD',
  'QUERY',
  'POST',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
)
const word = fc.oneof(
  fc.constantFrom(
    'color',
    'price',
    'model.name',
    'model',
    'tags',
    'doors',
    'electric',
    'id',
    'limit',
    'offset',
    'sort',
    'fields',
    'cursor',
    'since',
    'until',
    'since_id',
    'max_id',
    '_method',
    'q',
    'filter[color]',
    'where',
    '__proto__',
    'range',
    '_start',
  ),
  fc.string({ maxLength: 8, unit: 'binary' }),
)
const value = fc.oneof(
  fc.constantFrom(
    'red',
    '1',
    '-1',
    '',
    'true',
    '2024-02-30',
    'a,b',
    '%',
    '*',
    '_',
    "'",
    '"',
    '\\',
    '[0,1]',
    '{"a":1}',
    'null',
    '1e400',
    '9007199254740993',
    'PUT',
    'id,-price',
  ),
  fc.string({ maxLength: 12, unit: 'binary' }),
  fc.integer().map(String),
  fc.double().map(String),
)
const escaped = (text: string, raw: boolean) =>
  raw
    ? Buffer.from(text.toWellFormed())
        .toString('latin1')
        .replace(/[\s#\0]/g, '+')
    : encodeURIComponent(text.toWellFormed())
const pair = fc
  .tuple(
    word,
    fc.constantFrom(
      '',
      '',
      '',
      '[gt]',
      '[lte]',
      '[in]',
      '[nin]',
      '[like]',
      '[prefix]',
      '[exists]',
      '[ne]',
      '[x]',
      '[',
    ),
    value,
    fc.boolean(),
  )
  .map(([name, operator, text, raw]) => `${escaped(name, raw)}${operator}=${escaped(text, raw)}`)
const segment = fc.oneof(
  fc.constantFrom(
    'cars',
    'cars',
    'options',
    'models',
    'cars_models',
    'accounts',
    'photos',
    'count',
    'search',
    'buy',
    'cheapest',
    '{id}',
    '1',
    '..',
    '%2e',
    '%00',
    '%',
    '',
  ),
  fc.string({ maxLength: 6, unit: 'binary' }).map(text => escaped(text, false)),
)
const extension = fc.constantFrom('', '', '', '.json', '.xml', '.html', '.csv', '.ndjson', '.exe')
const target = fc
  .tuple(
    fc.array(segment, { minLength: 1, maxLength: 4 }),
    extension,
    fc.array(pair, { maxLength: 4 }),
  )
  .map(
    ([segments, end, pairs]) =>
      `/${segments.join('/')}${end}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`,
  )

const latin = fc.string({
  maxLength: 20,
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter(code => code !== 0x7f)
    .map(code => String.fromCharCode(code)),
})
const header = fc.tuple(
  fc.constantFrom(
    'Accept',
    'Range',
    'If-Match',
    'If-None-Match',
    'If-Modified-Since',
    'If-Unmodified-Since',
    'If-Range',
    'Prefer',
    'X-HTTP-Method-Override',
    'Authorization',
    'Origin',
    'Cookie',
    'Idempotency-Key',
    'X-Request-Id',
    'X-Forwarded-For',
    'Accept-Language',
    'Content-Encoding',
    'Expect',
  ),
  fc.oneof(
    fc.constantFrom(
      '*',
      '*/*',
      'text/html',
      'application/xml;q=0.5, */*',
      'cars=0-1',
      'bytes=0-',
      '"x"',
      'W/"x"',
      'return=minimal',
      'count=none',
      'PUT',
      'identity',
      '100-continue',
    ),
    latin,
  ),
)

const jsonBody = fc.oneof(
  fc.json(),
  fc
    .record(
      {
        immatriculation: fc.oneof(fc.string(), fc.jsonValue()),
        color: fc.constantFrom('red', 'mauve'),
        model: fc.jsonValue(),
        price: fc.oneof(fc.double(), fc.jsonValue()),
        tags: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    .map(item => JSON.stringify(item)),
  fc
    .array(
      fc.record({
        op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
        path: fc.constantFrom(
          '',
          '/color',
          '/model/name',
          '/tags/0',
          '/tags/-',
          '/__proto__',
          '/~',
          'x',
        ),
        from: fc.constantFrom('', '/model', '/tags/0'),
        value: fc.jsonValue(),
      }),
      { maxLength: 4 },
    )
    .map(list => JSON.stringify(list)),
)
const formBody = fc.array(pair, { maxLength: 6 }).map(pairs => pairs.join('&'))
const xmlBody = fc
  .tuple(
    fc.constantFrom('car', 'cars', 'x', '1', 'car a="1"'),
    fc.array(
      fc.tuple(
        fc.constantFrom('color', 'tags', 'model', 'nope', '!--', '![CDATA['),
        fc.oneof(value, fc.constantFrom('&amp;', '&x;', '&#0;', '<name>x</name>', ']]>')),
      ),
      { maxLength: 4 },
    ),
  )
  .map(
    ([root, parts]) =>
      `<${root}>${parts.map(([name, text]) => `<${name}>${text}</${name}>`).join('')}</${root}>`,
  )
const partsBody = fc
  .array(
    fc.tuple(
      fc.constantFrom('comment', 'color', 'photo', '_method', '__proto__'),
      fc.constantFrom('', '; filename="a.json"', '; filename="../x"'),
      fc.constantFrom(
        '',
        '\r\nContent-Type: application/json',
        '\r\nContent-Type: application/xml',
        '\r\nContent-Type: x',
      ),
      fc.oneof(value, jsonBody),
    ),
    { maxLength: 4 },
  )
  .map(
    parts =>
      `${parts.map(([name, file, type, text]) => `--b\r\nContent-Disposition: form-data; name="${name}"${file}${type}\r\n\r\n${text}\r\n`).join('')}--b--\r\n`,
  )

const content = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'application/json',
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/vnd.x+json',
      'text/plain',
    ),
    jsonBody,
  ),
  fc.tuple(fc.constant('application/x-www-form-urlencoded'), formBody),
  fc.tuple(fc.constantFrom('application/xml', 'text/xml'), xmlBody),
  fc.tuple(fc.constantFrom('multipart/form-data; boundary=b', 'multipart/form-data'), partsBody),
  fc.tuple(latin, fc.string({ unit: 'binary' })),
)

const grammatical = fc
  .record({
    method,
    target,
    headers: fc.array(header, { maxLength: 3 }),
    content: fc.option(content, { nil: undefined }),
  })
  .map(
    ({ content: sent, headers, ...request }): WireRequest =>
      sent
        ? { ...request, headers: [...headers, ['Content-Type', sent[0].trim()]], body: sent[1] }
        : { ...request, headers },
  )

/** A request of the table or of the grammar as bytes, some of them changed, cut or doubled. */
const damaged = fc
  .tuple(
    fc.oneof(
      grammatical,
      fc.constantFrom(...HOSTILE.filter(({ body }) => (body?.length ?? 0) < 2000)),
    ),
    fc.array(
      fc.tuple(fc.nat(), fc.constantFrom('change', 'cut', 'double', 'insert'), fc.nat(255)),
      { maxLength: 3 },
    ),
  )
  .map(([request, damages]) => ({ request, damages }))

const LEAKS =
  /node_modules|\bat [^"\n]*:\d+:\d+|\/work\/|\.ts:\d|SQLITE|TypeError:|ZodError|RangeError/

test(`${runs(1500)} requests`, async () => {
  await fc.assert(
    fc.asyncProperty(damaged, async ({ request, damages }) => {
      const bytes = damage(
        print(served.host, { ...request, target: request.target.replaceAll('{id}', id) }),
        damages,
      )
      const { answers, rest } = await converse(served.port, socket => socket.end(bytes), {
        heads: true,
      })
      // Bodies are looked at as they came: a HEAD has none, and damage may have made one of a GET.
      const text = `${answers.map(({ headers }) => Object.values(headers).join()).join()}${rest}`
      expect(answers.filter(({ status }) => status >= 500)).toEqual([])
      expect(failures).toEqual([])
      expect(LEAKS.exec(text)).toBeNull()
      for (const [, code] of rest.matchAll(/^\{"errors":\[\{"message":.*?"code":(\d+)/g)) {
        // Damage may have put the parameter into the path, where it means nothing.
        const fine = suppressed(bytes) ? [200, Number(code)] : [Number(code)]
        if (answers.length === 1) expect(fine).toContain(answers[0]?.status)
      }
      const good = await converse(served.port, [print(served.host, { target: '/cars/count' })])
      expect(good.answers.map(({ status }) => status)).toEqual([200])
    }),
    { numRuns: runs(1500) },
  )
  expect(Object.keys(Object.prototype)).toEqual([])
}, 600_000)

function suppressed(bytes: Buffer): boolean {
  return bytes.includes('suppress_error_codes')
}

function damage(bytes: Buffer, damages: readonly (readonly [number, string, number])[]): Buffer {
  return damages.reduce<Buffer>((before, [place, kind, byte]) => {
    const at = place % before.length
    const [head, tail] = [before.subarray(0, at), before.subarray(at)]
    if (kind === 'cut') return tail.length > 1 ? Buffer.concat([head, tail.subarray(1)]) : before
    if (kind === 'double') return Buffer.concat([head, tail.subarray(0, 20), tail])
    if (kind === 'insert') return Buffer.concat([head, Buffer.of(byte), tail])
    return Buffer.concat([head, Buffer.of(byte), tail.subarray(1)])
  }, bytes)
}
