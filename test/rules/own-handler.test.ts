// What a handler of one's own takes from `rest-conventions/rules` beside the rules of HTTP.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { csv, HttpError, json, multipart, ndjson, xml } from '../../src/index.ts'
import {
  chooseFormat,
  chooseReader,
  fieldsOf,
  findPage,
  parseMediaType,
  parseParameters,
  printBody,
  readBody,
  readHeaders,
  readQuery,
  type Window,
} from '../../src/rules/index.ts'

describe('readHeaders', () => {
  it.each<[string, Parameters<typeof readHeaders>[0]]>([
    ['of fetch', new Headers({ 'If-Match': '"a"', Accept: 'text/csv' })],
    ['of node:http', { 'if-match': '"a"', accept: 'text/csv', 'set-cookie': undefined }],
    [
      'in pairs',
      [
        ['IF-MATCH', '"a"'],
        ['Accept', 'text/csv'],
      ],
    ],
  ])('%s', (_name, headers) => {
    expect(readHeaders(headers)).toMatchObject({ 'if-match': '"a"', accept: 'text/csv' })
  })

  test('joins repeated fields, and inherits none', () => {
    expect(readHeaders({ accept: ['text/csv', 'text/xml'] }).accept).toBe('text/csv, text/xml')
    expect(readHeaders({}).constructor).toBeUndefined()
  })
})

describe('readBody', () => {
  const bytes = (text: string) => new Blob([text]).stream()
  const fields = fieldsOf(z.object({ plate: z.string(), doors: z.int() }))
  const body = { plate: 'AB', doors: 3 }

  it.each([
    ['JSON', 'application/json', '{"plate":"AB","doors":3}'],
    ['XML', 'application/xml', '<car><plate>AB</plate><doors>3</doors></car>'],
    [
      'multipart',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="plate"\r\n\r\nAB\r\n--b\r\nContent-Disposition: form-data; name="doors"\r\n\r\n3\r\n--b--\r\n',
    ],
  ])('%s', async (_name, contentType, text) => {
    const type = parseMediaType(contentType)
    const reader = chooseReader([json, xml, multipart], type)
    expect(reader && (await readBody(reader, bytes(text), { fields, type }))).toEqual(body)
  })

  test('keeps the limits of an api, or yours', async () => {
    const refused = async (read: () => unknown) => {
      try {
        await read()
      } catch (error) {
        if (error instanceof HttpError) return error.status
        throw error
      }
    }
    expect(await refused(() => readBody(json, bytes('[1]'), { limits: { body: 2 } }))).toBe(413)
    expect(await refused(() => readBody(json, bytes('[1]'), { length: 2 ** 30 }))).toBe(413)
    expect(await refused(() => readBody(json, null))).toBe(400)
    expect(await readBody(json, bytes('[1]'))).toEqual([1])
  })
})

test('printBody prints what is no stream', () => {
  const fields = fieldsOf(z.object({ plate: z.string() }))
  const list = {
    kind: 'list',
    name: 'cars',
    itemName: 'car',
    fields,
    data: [{ plate: 'A' }],
  } as const
  const formats = [json, xml, csv, ndjson, multipart]
  const printed = formats.slice(0, 4).map(({ extensions: [extension] }) => {
    const chosen = chooseFormat(formats, { extension })
    return chosen && printBody(chosen, list)
  })
  expect(printed).toEqual([
    '[{"plate":"A"}]',
    '<?xml version="1.0" encoding="UTF-8"?>\n<cars><car><plate>A</plate></car></cars>',
    'plate\r\nA\r\n',
    '{"plate":"A"}\n',
  ])
})

describe('findPage', () => {
  const fields = fieldsOf(z.object({ id: z.int(), color: z.string() }))
  const cars = Array.from({ length: 23 }, (_, at) => ({
    id: at + 1,
    color: at % 3 ? 'red' : 'blue',
  }))
  const parameters = parseParameters('color=red&sort=-id') ?? []
  const query = readQuery(parameters, { fields, id: 'id' }, [])
  const expected = cars.filter(({ color }) => color === 'red').reverse()

  const walk = (start: Window, backward: boolean) => {
    const pages = []
    for (let window = start; ; ) {
      const { page, found } = findPage(cars, query, window, fields)
      expect(found.total).toBe(expected.length)
      pages.push(page)
      if (!found.more) return pages
      const key = backward ? found.firstKey : found.lastKey
      window = { by: 'cursor', limit: 4, cursor: { key, backward, position: 0 } }
    }
  }

  test('walks forward and back over all items', () => {
    const forward = walk({ by: 'cursor', cursor: undefined, limit: 4 }, false)
    expect(forward.map(({ length }) => length)).toEqual([4, 4, 4, 3])
    expect(forward.flat()).toEqual(expected)
    const end: Window = {
      by: 'cursor',
      limit: 4,
      cursor: { key: [0], backward: true, position: 0 },
    }
    expect(walk(end, true).reverse().flat()).toEqual(expected)
  })

  test('by offset', () => {
    const { page, found } = findPage(cars, query, { by: 'offset', offset: 13, limit: 4 }, fields)
    expect(page).toEqual(expected.slice(13))
    expect(found).toMatchObject({ count: 2, more: false, total: 15 })
  })
})
