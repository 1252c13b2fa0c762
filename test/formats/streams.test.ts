import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Item, Json } from '../../src/base/values.ts'
import type { ErrorEntry } from '../../src/errors.ts'
import { csv } from '../../src/formats/csv.ts'
import type { Format, Representation } from '../../src/formats/format.ts'
import { ndjson } from '../../src/formats/ndjson.ts'
import { fieldsOf } from '../../src/schema/zod-fields.ts'
import { runs } from '../random.ts'
import { printed } from './helpers.ts'
import { text } from './values.ts'

const fields = fieldsOf(
  z.object({
    id: z.int(),
    color: z.string().nullable(),
    price: z.number(),
    sold: z.boolean(),
    model: z.object({ name: z.string(), year: z.int().optional() }).nullable(),
    tags: z.array(z.string()),
    options: z.record(z.string(), z.number()),
    size: z.union([z.string(), z.number()]),
  }),
)
const HEADER = 'id,color,price,sold,model.name,model.year,tags,options,size\r\n'
const names = { name: 'cars', itemName: 'car', fields }
const errors: ErrorEntry[] = [
  { message: 'No "car"', code: 404 },
  { message: '=x', code: 400, field: 'color', type: 'invalid' },
]

/** Reads RFC 4180 to the letter; anything else is an error. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  while (CELL.lastIndex < text.length) {
    const at = CELL.lastIndex
    const [, quoted, bare, end] = CELL.exec(text) ?? []
    if (end === undefined)
      throw new Error(`No CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`)
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? bare ?? '')
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

/** Batches that tell how many were taken, and whether they were let go. */
function batchesOf(batches: readonly (readonly Item[])[]) {
  const state = { taken: 0, ended: false }
  async function* give() {
    try {
      for (const batch of batches) {
        state.taken++
        yield batch
      }
    } finally {
      state.ended = true
    }
  }
  return { state, data: give() }
}

async function chunksOf(format: Format, batches: readonly (readonly Item[])[]): Promise<string[]> {
  const body = format.write?.({ kind: 'stream', ...names, data: batchesOf(batches).data }, '')
  if (typeof body !== 'object' || body instanceof Uint8Array) throw new TypeError('No stream')
  const chunks: string[] = []
  for await (const chunk of body) chunks.push(String(chunk))
  return chunks
}

describe('printed representations', () => {
  const car: Item = {
    id: 1,
    color: 'red',
    price: -1.5,
    sold: false,
    model: { name: 'Clio', year: 2020 },
    tags: ['a', 'b'],
    options: { abs: 1 },
    size: '5',
  }
  const cases: [string, Representation, string, string][] = [
    [
      'an item',
      { kind: 'item', ...names, data: { id: 1 } },
      '{"id":1}\n',
      `${HEADER}1,,,,,,,,\r\n`,
    ],
    [
      'a list',
      { kind: 'list', ...names, data: [{ id: 1 }, { id: 2 }] },
      '{"id":1}\n{"id":2}\n',
      `${HEADER}1,,,,,,,,\r\n2,,,,,,,,\r\n`,
    ],
    ['an empty list', { kind: 'list', ...names, data: [] }, '', HEADER],
    [
      'every kind of value',
      { kind: 'list', ...names, data: [car] },
      `${JSON.stringify(car)}\n`,
      `${HEADER}1,red,-1.5,false,Clio,2020,"[""a"",""b""]","{""abs"":1}","""5"""\r\n`,
    ],
    [
      'null, nothing and an empty text',
      { kind: 'list', ...names, data: [{ color: null, model: null, size: '' }, { color: '' }] },
      '{"color":null,"model":null,"size":""}\n{"color":""}\n',
      `${HEADER},,,,,,,,""""""\r\n,"",,,,,,,\r\n`,
    ],
    [
      'a document',
      { kind: 'document', name: 'count', data: { count: 3 } },
      '{"count":3}\n',
      'count\r\n3\r\n',
    ],
    [
      'a document with fields',
      { kind: 'document', name: 'x', fields, data: { id: 1 } },
      '{"id":1}\n',
      `${HEADER}1,,,,,,,,\r\n`,
    ],
    [
      'a document with objects in it',
      { kind: 'document', name: 'x', data: { url: 'u', resources: { a: 1 } } },
      '{"url":"u","resources":{"a":1}}\n',
      'url,resources\r\nu,"{""a"":1}"\r\n',
    ],
    [
      'a document of a list',
      { kind: 'document', name: 'x', data: [{ a: 1 }, { b: 2 }] },
      '[{"a":1},{"b":2}]\n',
      'a,b\r\n1,\r\n,2\r\n',
    ],
    [
      'a document of a scalar',
      { kind: 'document', name: 'total', data: '=1' },
      '"=1"\n',
      "total\r\n'=1\r\n",
    ],
    [
      'a document of null',
      { kind: 'document', name: 'total', data: null },
      'null\n',
      'total\r\n""\r\n',
    ],
    [
      'errors',
      { kind: 'errors', status: 400, errors },
      `${errors.map(entry => JSON.stringify(entry)).join('\n')}\n`,
      `message,code,field,type\r\n"No ""car""",404,,\r\n'=x,400,color,invalid\r\n`,
    ],
  ]
  it.each(cases)('%s', async (_, representation, asNdjson, asCsv) => {
    expect(await printed(ndjson, representation)).toBe(asNdjson)
    expect(await printed(csv, representation)).toBe(asCsv)
  })

  it.each([ndjson, csv])('bytes are not printed: $name', format => {
    const data = (async function* () {})()
    expect(() => format.write?.({ kind: 'bytes', type: 'image/png', size: 0, data }, '')).toThrow(
      TypeError,
    )
  })
})

describe('streams', () => {
  const [one, two, three] = [{ id: 1 }, { id: 2 }, { id: 3 }]

  it('one chunk for each batch', async () => {
    expect(await chunksOf(ndjson, [[one, two], [], [three]])).toEqual([
      '{"id":1}\n{"id":2}\n',
      '{"id":3}\n',
    ])
    expect(await chunksOf(csv, [[], [one, two], [three]])).toEqual([
      `${HEADER}1,,,,,,,,\r\n2,,,,,,,,\r\n`,
      '3,,,,,,,,\r\n',
    ])
  })

  it('large items and long batches are split into chunks', async () => {
    const large = { color: 'x'.repeat(70_000) }
    const batch = [one, large, large, two]
    expect((await chunksOf(ndjson, [batch])).map(chunk => chunk.match(/\n/g)?.length)).toEqual([
      2, 1, 1,
    ])
    expect((await chunksOf(csv, [batch])).map(chunk => chunk.match(/\n/g)?.length)).toEqual([
      3, 1, 1,
    ])
    const many = await chunksOf(ndjson, [Array.from({ length: 20_000 }, () => one)])
    expect(many.map(chunk => chunk.length)).toEqual([65_538, 65_538, 48_924])
  })

  it('an empty stream', async () => {
    expect(await chunksOf(ndjson, [])).toEqual([])
    expect(await chunksOf(csv, [])).toEqual([HEADER])
  })

  it.each([ndjson, csv])(
    'a batch is taken when it is wanted, and none after the end: $name',
    async format => {
      const { state, data } = batchesOf([[one], [two], [three]])
      const body = format.write?.({ kind: 'stream', ...names, data }, '')
      expect(state).toEqual({ taken: 0, ended: false })
      if (typeof body !== 'object' || body instanceof Uint8Array) throw new TypeError('No stream')
      for await (const _ of body) break
      expect(state).toEqual({ taken: 1, ended: true })
    },
  )

  it.each([ndjson, csv])('a failure of the store is passed on: $name', async format => {
    async function* data() {
      yield [one]
      throw new Error('gone')
    }
    await expect(printed(format, { kind: 'stream', ...names, data: data() })).rejects.toThrow(
      'gone',
    )
  })
})

describe('CSV', () => {
  const table = z.object({ text: z.string(), other: z.string().optional() })

  function printOne(value: Json): Promise<string> {
    return printed(csv, {
      kind: 'list',
      name: 'x',
      itemName: 'x',
      fields: fieldsOf(table),
      data: [{ text: value }],
    })
  }

  it('cells are read back as they were, formulas with a quote in front', async () => {
    await fc.assert(
      fc.asyncProperty(text, async value => {
        const rows = parseCsv(await printOne(value))
        const isNumber = /^\+\d{7,15}$/.test(value)
        const formula = !isNumber && /^[=+\-@\t\r\n＝＋－＠]/.test(value.replace(/^'+/, ''))
        const guarded = formula ? `'${value}` : value
        expect(rows).toEqual([
          ['text', 'other'],
          [guarded, ''],
        ])
      }),
      { numRuns: runs(500) },
    )
  })

  it('a reader takes the quote off again, whatever the text was', async () => {
    const quoted = fc.tuple(fc.stringMatching(/^'*[=+@-]?$/), text).map(parts => parts.join(''))
    await fc.assert(
      fc.asyncProperty(quoted, async value => {
        const cell = parseCsv(await printOne(value))[1]?.[0]
        expect(cell?.replace(/^'(?='*[=+\-@＝＋－＠\t\r\n])/, '')).toBe(value)
      }),
      { numRuns: runs(500) },
    )
  })

  const cells: [Json, string][] = [
    ['=1+1', "'=1+1"],
    ['+491234567', '+491234567'],
    ['+123456789012345', '+123456789012345'],
    ["'+491234567", "''+491234567"],
    ['+1234567890123456', "'+1234567890123456"],
    ['+123456', "'+123456"],
    ['+1234567+1', "'+1234567+1"],
    ['+12345678\n', `"'+12345678\n"`],
    ["'=1+1", "''=1+1"],
    ["''=1", "'''=1"],
    ["'a", "'a"],
    ["'", "'"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', `"'\t=1"`],
    ['a;b', '"a;b"'],
    ['a\tb', '"a\tb"'],
    ['\r=1', `"'\r=1"`],
    ['\n=1', `"'\n=1"`],
    ['＝1+1', "'＝1+1"],
    ['＋1', "'＋1"],
    ['－1', "'－1"],
    ['＠SUM(A1)', "'＠SUM(A1)"],
    ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
    ['1=1', '1=1'],
    [' a', '" a"'],
    [-1, '-1'],
    [1e21, '1e+21'],
    [['=1'], '"[""=1""]"'],
  ]
  it.each(cells)('%j', async (value, cell) => {
    expect(await printOne(value)).toBe(`text,other\r\n${cell},\r\n`)
  })

  it('names of columns are guarded too', async () => {
    expect(await printed(csv, { kind: 'document', name: 'x', data: { '=a': 1, 'b,c': 2 } })).toBe(
      `'=a,"b,c"\r\n1,2\r\n`,
    )
  })

  it('a row of one empty cell is still a row', async () => {
    const only = fieldsOf(z.object({ a: z.string().optional() }))
    const document = await printed(csv, {
      kind: 'list',
      name: 'x',
      itemName: 'x',
      fields: only,
      data: [{}, {}],
    })
    expect(parseCsv(document)).toEqual([['a'], [''], ['']])
  })
})
