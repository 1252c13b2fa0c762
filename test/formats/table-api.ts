// The api that the tables of formats ask: one of each kind of resource, and how to ask for a format.

import { expect } from 'vitest'
import { carsApi } from '../../examples/cars-api.ts'
import { drawCar } from '../../examples/picture.ts'
import { parseXml } from '../../src/formats/xml/reader.ts'
import { shapeOf } from '../../src/formats/xml/shape.ts'
import { buildLimits } from '../../src/http/limits.ts'
import { memoryBlobs, memoryStore } from '../../src/index.ts'
import { findApiDefinition } from '../../src/model/definitions.ts'
import type { Field, Fields } from '../../src/schema/fields.ts'
import type { Answer, Init, OpenHandler } from '../handlers.ts'

// --- The formats that answers come in ------------------------------------------------------------

interface Shown {
  /** What the body means as JSON, where the format can say all of it. */
  read(text: string, fields: Fields | undefined, list: boolean): unknown
  readonly type: string
  readonly streams?: boolean
}

const plain = { nullable: false, optional: true }
/** Every XML document that was read, for xmllint. */
export const documents: string[] = []

export const FORMATS: Readonly<Record<string, Shown>> = {
  json: { type: 'application/json', read: text => JSON.parse(text) },
  xml: {
    type: 'application/xml',
    read(text, properties, list) {
      documents.push(text)
      const item: Field = { kind: 'object', ...plain, ...(properties && { properties }) }
      const field: Field = list ? { kind: 'array', ...plain, element: item } : item
      return parseXml(text, properties ? shapeOf(field) : shapeOf(), buildLimits())
    },
  },
  html: {
    type: 'text/html',
    read(text) {
      expect(text).toMatch(/^<!doctype html>\n<html lang="en">[\s\S]*<\/html>\n?$/)
    },
  },
  csv: {
    type: 'text/csv',
    streams: true,
    read(text) {
      const [header, ...rows] = readCsv(text)
      expect(rows.filter(cells => cells.length !== header?.length)).toEqual([])
    },
  },
  ndjson: {
    type: 'application/x-ndjson',
    streams: true,
    read(text, _fields, list) {
      expect(text).toMatch(/^(?:.+\n)*$/)
      const values = text
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line))
      return list ? values : values[0]
    },
  },
}
export const NAMES = Object.keys(FORMATS)

/** RFC 4180 by the letter. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  while (cell.lastIndex < text.length) {
    const found = cell.exec(text)
    if (!found) throw new SyntaxError(`Not CSV: ${JSON.stringify(text)}`)
    rows.at(-1)?.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
    if (found[3] === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

export const ERROR: Fields = new Map([
  ['message', { kind: 'string', ...plain }],
  ['code', { kind: 'integer', ...plain }],
  ['field', { kind: 'string', ...plain }],
  ['type', { kind: 'string', ...plain }],
])

/** The types that are read. */
export const READ_TYPES = [
  'application/json',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]

/** Those that POST takes of a collection: lists too. */
export const CREATED_TYPES = [...READ_TYPES, 'text/csv', 'application/x-ndjson']

// --- What is asked -------------------------------------------------------------------------------

export const png = drawCar('red', 16)
export const photo_data = png.toString('base64')
const plateOf = (at: number) => `AA-${100 + (at % 900)}-A${'BCDEFGH'[Math.floor(at / 900)] ?? 'Z'}`
export const carOf = (at: number) => ({
  immatriculation: plateOf(at),
  color: 'red',
  model: { name: 'Ünïc <&> "' },
  price: 12.5,
})

export async function make() {
  const blobs = memoryBlobs()
  const { api } = carsApi(() => memoryStore(), blobs)
  const create = (name: string, value: Readonly<Record<string, unknown>>) =>
    api.collection(name).create(value)
  await create('cars', carOf(1))
  await create('cars', { ...carOf(2), registered_on: '2024-02-29', buyer: '' })
  await create('options', { car_id: 1, name: '=Tow bar' })
  await create('models', { name: 'Clio', brand: 'Renault' })
  await create('cars_models', { car_id: 1, model_id: 1 })
  await create('accounts', { name: ' A\nB ', email: 'a@b.example' })
  await create('photos', { comment: 'x', photo_data, thumb_data: photo_data })
  let made = 10
  const idOf = async (name: string) => {
    return (await api.collection(name).list().first())?.id
  }
  const ids = {
    photo: await idOf('photos'),
    account: await idOf('accounts'),
    relation: await idOf('cars_models'),
  }
  /** The fields that items at a path are shown with. */
  const fieldsOf = (path: string) => {
    const name = /(\w+)\/?$/.exec(path.replace(/\/(?:search|\d+|\{\w+\})$/, ''))?.[1] ?? ''
    const version = findApiDefinition(api).versions.find(each => path.startsWith(`/${each.name}/`))
    return version?.collections.get(name)?.readableFields
  }
  return {
    api,
    fieldsOf,
    /** A path with the ids that it names. */
    at: (path: string) =>
      path.replace(/\{(\w+)\}/, (_, name) =>
        String(Object.entries(ids).find(([id]) => id === name)?.[1]),
      ),
    next: () => made++,
  }
}

export type Made = Awaited<ReturnType<typeof make>>

/** What can be read, with what its Vary names besides Accept. `{photo}` stands for an id. */
export const READS: readonly [
  what: string,
  path: string,
  vary?: string | undefined,
  kind?: 'list' | 'item',
][] = [
  ['the root', '/'],
  ['the root of a version', '/v1'],
  ['a list', '/v1/cars', 'Prefer, Range', 'list'],
  ['a list in pages', '/v1/cars?limit=1', 'Prefer', 'list'],
  ['a list of some fields', '/v2/cars?fields=id,model.name', 'Prefer, Range', 'list'],
  ['an empty list', '/v1/cars?color=blue', 'Prefer, Range', 'list'],
  ['a count', '/v1/cars/count', 'Prefer'],
  ['an item', '/v1/cars/1', undefined, 'item'],
  ['an item with null, an empty text and a date', '/v1/cars/2', undefined, 'item'],
  ['an item with white space', '/v1/accounts/{account}', undefined, 'item'],
  ['a sub-collection', '/v1/cars/1/options', 'Prefer, Range', 'list'],
  ['an item of it', '/v1/cars/1/options/1', undefined, 'item'],
  ['the count of it', '/v1/cars/1/options/count', 'Prefer'],
  ['a relation', '/v1/cars_models', 'Prefer, Range', 'list'],
  ['a relation from one side', '/v1/models/1/cars_models', 'Prefer, Range', 'list'],
  ['one of it', '/v1/cars_models/{relation}', undefined, 'item'],
  ['a search', '/v1/cars/search?q=red', 'Prefer, Range', 'list'],
  ['photos, flat', '/v1/photos', 'Prefer, Range', 'list'],
  ['photos, objects', '/v2/photos', 'Prefer, Range', 'list'],
  ['a photo, flat', '/v1/photos/{photo}', undefined, 'item'],
  ['a photo, an object', '/v2/photos/{photo}', undefined, 'item'],
]

/** By the extension, whatever `Accept` says; by `Accept`. */
export const WAYS = ['extension', 'Accept'] as const
export type Way = (typeof WAYS)[number]

/** Asks for a format in one of the ways. */
export function ask(
  handler: OpenHandler,
  way: Way,
  name: string,
  path: string,
  init: Init = {},
): Promise<Answer> {
  const accept = way === 'Accept' ? FORMATS[name]?.type : 'image/png'
  const target = way === 'Accept' ? path : path.replace(/(?=\?|$)/, `.${name}`)
  return handler.request(target, { ...init, headers: { ...init.headers, accept: accept ?? '' } })
}

export const ways = (path: string) => WAYS.filter(way => way === 'Accept' || path !== '/')

export function check(answer: Answer, status: number, name: string, vary: string | null): void {
  const { headers } = answer
  expect([answer.status, headers.get('content-type'), headers.get('vary')]).toEqual([
    status,
    contentTypeOf(name),
    vary,
  ])
  expect(headers.get('x-content-type-options')).toBe('nosniff')
}

/** Texts say their charset: without one, clients read them as latin1. */
export function contentTypeOf(name: string): string | undefined {
  const type = FORMATS[name]?.type
  return type?.startsWith('text/') ? `${type}; charset=utf-8` : type
}

export const varyOf = (way: Way, more?: string) =>
  [way === 'Accept' ? ['Accept'] : [], more ?? []].flat().join(', ') || null
