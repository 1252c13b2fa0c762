// `text/csv` (RFC 4180): a header line, CRLF, one column for each dotted path. It only writes; a list
// is streamed whole. Null and absent are empty, an empty text is `""`; lists, records and values that
// may be of several types are JSON.
//
// Spreadsheets run cells that begin like a formula. A text that begins with `=`, `+`, `-`, `@`, one of these
// in full width, a tab or a line break has `'` put before it (OWASP, "CSV Injection"); numbers have not.
import type { Field, Fields } from '../schema/fields.ts'
import { getValue, type Path } from '../schema/paths.ts'
import { type Item, isObject, type Json } from '../schema/values.ts'
import { type Format, inChunks, type Representation } from './format.ts'

/** `text/csv`, written only: a list, whole, a column for each dotted path; `.csv`. */
export const csv: Format = {
  name: 'csv',
  extensions: ['csv'],
  types: ['text/csv'],
  streams: true,
  write: printCsv,
}

interface Column {
  readonly path: Path
  /** Whether every value is printed as JSON, texts too. */
  readonly json: boolean
}

const ERROR_COLUMNS: readonly Column[] = ['message', 'code', 'field', 'type'].map(column)

function printCsv(representation: Representation): string | AsyncIterable<string> {
  switch (representation.kind) {
    case 'item':
      return table(columnsOf(representation.fields), [representation.data])
    case 'list':
      return table(columnsOf(representation.fields), representation.data)
    case 'stream':
      return chunks(columnsOf(representation.fields), representation.data)
    case 'document':
      return documentTable(representation.name, representation.data, representation.fields)
    case 'errors':
      return table(
        ERROR_COLUMNS,
        representation.errors.map(entry => ({ ...entry })),
      )
    default:
      throw new TypeError(`CSV prints no ${representation.kind}`)
  }
}

/** The header goes with the first item. */
async function* chunks(
  columns: readonly Column[],
  batches: AsyncIterable<readonly Item[]>,
): AsyncGenerator<string> {
  let head = header(columns)
  for await (const batch of batches) {
    if (batch.length === 0) continue
    yield* inChunks(batch, item => row(columns, item), head)
    head = ''
  }
  if (head !== '') yield head
}

function table(columns: readonly Column[], items: readonly Item[]): string {
  let text = header(columns)
  for (const item of items) text += row(columns, item)
  return text
}

/** A document of objects has their properties as columns; any other has one column of its name. */
function documentTable(name: string, data: Json, fields: Fields | undefined): string {
  const values = Array.isArray(data) ? data : [data]
  if (!values.every(isObject)) {
    return table(
      [column(name)],
      values.map(value => ({ [name]: value })),
    )
  }
  if (fields) return table(columnsOf(fields), values)
  const names = new Set(values.flatMap(value => Object.keys(value)))
  return table([...names].map(column), values)
}

const tables = new WeakMap<Fields, readonly Column[]>()

function columnsOf(fields: Fields): readonly Column[] {
  const known = tables.get(fields)
  if (known) return known
  const columns = columnsBelow(fields, [])
  tables.set(fields, columns)
  return columns
}

function columnsBelow(fields: Fields, parents: Path): Column[] {
  return [...fields].flatMap(([name, field]) => {
    const path = [...parents, name]
    if (field.kind === 'object' && field.properties?.size && !field.open)
      return columnsBelow(field.properties, path)
    return [{ path, json: !isScalar(field) }]
  })
}

function isScalar({ kind }: Field): boolean {
  return kind !== 'array' && kind !== 'record' && kind !== 'union' && kind !== 'object'
}

function column(name: string): Column {
  return { path: [name], json: false }
}

function header(columns: readonly Column[]): string {
  return `${columns.map(({ path }) => textCell(path.join('.'))).join(',')}\r\n`
}

function row(columns: readonly Column[], item: Item): string {
  let text = ''
  let separator = ''
  for (const { path, json } of columns) {
    text += separator + cell(getValue(item, path), json)
    separator = ','
  }
  // A line of nothing is no row to many readers.
  return `${text || '""'}\r\n`
}

function cell(value: Json | undefined, json: boolean): string {
  if (value === undefined || value === null) return ''
  if (json || typeof value === 'object') return quoted(JSON.stringify(value))
  return typeof value === 'string' ? textCell(value) : String(value)
}

function textCell(text: string): string {
  if (text === '') return '""'
  return quoted(/^[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text)
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
