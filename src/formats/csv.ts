// `text/csv` (RFC 4180): a header line, CRLF, one column for each dotted path. Null and absent are
// empty, an empty text is `""`; lists, records and values of several types are JSON. Read, an empty cell is
// null where the property must be present, else absent.
//
// Spreadsheets run cells that begin like a formula. A text that begins with `=`, `+`, `-`, `@`, one of
// these in full width, a tab or a line break gets a `'` in front (OWASP, "CSV Injection"). So does one that has
// `'` in front of these already: a reader takes exactly one off. A telephone number, `+` and 7 to 15 digits (E.164), is none.

import { findDigits, printJson, withDigits } from '../base/exact-numbers.ts'
import { memoize } from '../base/memoize.ts'
import { getValue, type Path } from '../base/paths.ts'
import { getProperty, type Item, isObject, type Json } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { printBatches } from './chunks.ts'
import { type CsvColumn, listColumns } from './csv-columns.ts'
import { readCsv } from './csv-reader.ts'
import type { Format, Representation } from './format.ts'

/**
 * `text/csv`: a list is streamed whole, one column for each dotted path; `.csv`. It is read as an array of items to
 * create.
 */
export const csv: Format = {
  name: 'csv',
  extensions: ['csv'],
  types: ['text/csv'],
  streams: true,
  tabular: true,
  write: printCsv,
  readItems: readCsv,
}

const ERROR_COLUMNS: readonly CsvColumn[] = ['message', 'code', 'field', 'type'].map(column)

function printCsv(representation: Representation): string | AsyncIterable<Uint8Array> {
  switch (representation.kind) {
    case 'item':
      return printTable(toColumns(representation.fields), [representation.data])
    case 'list':
      return printTable(toColumns(representation.fields), representation.data)
    case 'stream': {
      const columns = toColumns(representation.fields)
      const print = (item: Item) => printRow(columns, item)
      return printBatches(representation.data, print, printHeader(columns))
    }
    case 'document':
      return printDocument(representation.name, representation.data, representation.fields)
    case 'errors': {
      const rows = representation.errors.map(entry => ({ ...entry }))
      return printTable(ERROR_COLUMNS, rows)
    }
    default:
      throw new TypeError(`CSV cannot print ${representation.kind}`)
  }
}

function printTable(columns: readonly CsvColumn[], items: readonly Item[]): string {
  let text = printHeader(columns)
  for (const item of items) text += printRow(columns, item)
  return text
}

/** Prints objects with their properties as columns, other values in a column of the document's name. */
function printDocument(name: string, data: Json, fields: Fields | undefined): string {
  const values = Array.isArray(data) ? data : [data]
  const rows = values.map(value => (isObject(value) ? value : { [name]: value }))
  const names = new Set(rows.flatMap(row => Object.keys(row)))
  return printTable(fields ? toColumns(fields) : [...names].map(column), rows)
}

/** Lists the columns of fields, which are of the definition, once. */
const toColumns = memoize((fields: Fields): readonly CsvColumn[] => listColumns(fields))

function column(name: string): CsvColumn {
  return { path: [name], json: false }
}

function printHeader(columns: readonly CsvColumn[]): string {
  return `${columns.map(({ path }) => printText(path.join('.'))).join(',')}\r\n`
}

function printRow(columns: readonly CsvColumn[], item: Item): string {
  let text = ''
  let separator = ''
  for (const { path, json } of columns) {
    text += separator + printCell(readCell(item, path), json)
    separator = ','
  }
  // Readers skip a row of empty cells.
  return `${/^,*$/.test(text) ? `""${text}` : text}\r\n`
}

/** Reads the value of a column; a number within a value that keeps its digits as a text of them. */
function readCell(item: Item, path: Path): Json | undefined {
  const [name = '', ...below] = path
  if (below.length === 0) return getProperty(item, name)
  return getValue(withDigits(getProperty(item, name) ?? null), below)
}

function printCell(value: Json | undefined, json: boolean): string {
  if (value === undefined || value === null) return ''
  if (json || typeof value === 'object') return quote(printJson(value))
  return typeof value === 'string' ? (findDigits(value) ?? printText(value)) : String(value)
}

function printText(text: string): string {
  if (text === '') return '""'
  if (/^\+\d{7,15}$/.test(text)) return text
  return quote(/^'*[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text)
}

function quote(text: string): string {
  // Spreadsheets of some languages separate by semicolons, and some readers by tabs.
  return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
