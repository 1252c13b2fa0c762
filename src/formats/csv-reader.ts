// CSV as it is read (RFC 4180), typed by the fields of its columns: what `csv.ts` prints comes back.

import { isInexact } from '../base/exact-numbers.ts'
import { getValue, type Path, toPath } from '../base/paths.ts'
import { type Item, isObject, type Json } from '../base/values.ts'
import { HttpError } from '../errors.ts'
import type { Fields, Kind } from '../schema/fields.ts'
import { findInner, listColumns } from './csv-columns.ts'
import type { ReadContext } from './format.ts'
import { tooManyMembers } from './json.ts'
import { checkExact, checkJson, checkName, inexactNumber, locateLine } from './json-value.ts'
import { readText } from './read-body.ts'

interface CsvRow {
  /** An empty cell is absent, an empty text is `""`. */
  readonly cells: readonly (string | undefined)[]
  readonly line: number
}

/** A column, and how its cells are read. */
interface ReadColumn {
  readonly name: string
  readonly path: Path
  readonly read: (text: string) => Json | undefined
}

/** The columns of a table, and what its empty cells stand for: the outer properties first. */
interface Header {
  readonly columns: readonly ReadColumn[]
  readonly blanks: readonly { readonly path: Path; readonly isObject: boolean }[]
}

/**
 * Reads the items of a table, and the line of each. A cell that is not of its column's type stays a text, for the schema
 * to refuse.
 * @throws HttpError 400, 413
 */
export async function readCsv(
  body: AsyncIterable<Uint8Array>,
  context: ReadContext,
): Promise<Json[]> {
  const text = await readText(body, context)
  const items: Item[] = []
  let header: Header | undefined
  let members = 0
  for (const { cells, line } of parseRows(text)) {
    members += cells.length
    if (members > context.limits.members) throw tooManyMembers(context.limits.members)
    // Many writers end with empty lines, and spreadsheets with empty cells.
    const count = cells.findLastIndex(cell => cell !== undefined) + 1
    if (count === 0) continue
    if (!header) {
      header = readHeader(cells.slice(0, count), context)
      continue
    }
    const { columns } = header
    if (count > columns.length)
      throw invalidCsv(line, `has ${count} cells for ${columns.length} columns`)
    const item: Item = {}
    for (const [at, cell] of cells.entries()) {
      const column = columns[at]
      const value = cell === undefined ? undefined : column && readCell(cell, column, line)
      if (column && value !== undefined) setValue(item, column, value, line)
    }
    fillBlanks(item, header)
    items.push(item)
    context.lines?.push(line)
  }
  checkJson(items, '', context.limits.depth)
  return items
}

/** @throws HttpError 400 that names the line. */
function readCell(cell: string, { read }: ReadColumn, line: number): Json | undefined {
  try {
    return read(cell)
  } catch (error) {
    throw locateLine(error, line)
  }
}

function readHeader(cells: CsvRow['cells'], { fields = new Map(), limits }: ReadContext): Header {
  const known = new Map(listColumns(fields).map(column => [column.path.join('.'), column]))
  const names = cells.map(cell => unguard(cell ?? ''))
  const seen = new Set<string>()
  const doubled = names.find(name => seen.size === seen.add(name).size)
  if (doubled !== undefined) {
    const message = `Two columns have the name ${JSON.stringify(doubled)}`
    throw new HttpError(400, [{ message, field: doubled, type: 'repeated_key' }])
  }
  const columns = names.map(name => {
    const column = known.get(name)
    const path = column?.path ?? toPath(name)
    if (path.length > limits.depth) throw invalidCsv(1, `has the column ${name.slice(0, 64)}`)
    for (const part of path) checkName(part, name)
    const parse = column?.json ? readJson : READERS[column?.kind ?? 'any']
    // Writers that quote all cells have no other way to say that one is empty.
    const read = (text: string) => {
      if (!parse) return unguard(text)
      return text === '' ? undefined : parse(text, name)
    }
    return { name, path, read }
  })
  return { columns, blanks: listBlanks(fields, columns) }
}

/**
 * Lists the properties with columns that must be present: without a value they are null, if they may be, and an object with
 * columns of its own is empty. Other properties are absent then.
 */
function listBlanks(
  fields: Fields,
  columns: readonly ReadColumn[],
  above: Path = [],
): Header['blanks'] {
  return [...fields].flatMap(([name, field]) => {
    const path = [...above, name]
    const inner = findInner(field)
    const isNamed = columns.some(column => path.every((part, at) => part === column.path[at]))
    if (!isNamed) return []
    const isObject = inner !== undefined && !field.nullable
    const own = !field.optional && (field.nullable || isObject) ? [{ path, isObject }] : []
    return [...own, ...(inner ? listBlanks(inner, columns, path) : [])]
  })
}

function fillBlanks(item: Item, { blanks }: Header): void {
  for (const { path, isObject: isEmpty } of blanks) {
    const parent = getValue(item, path.slice(0, -1))
    const name = path.at(-1) ?? ''
    if (isObject(parent) && !Object.hasOwn(parent, name)) parent[name] = isEmpty ? {} : null
  }
}

/** Cells of other kinds are texts. */
const READERS: Readonly<Partial<Record<Kind, (text: string, name: string) => Json>>> = {
  number: readNumber,
  integer: readNumber,
  boolean: readBoolean,
}

/** Spreadsheets write `TRUE`. */
function readBoolean(text: string): Json {
  return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : text
}

function readNumber(text: string, name: string): Json {
  if (isInexact(text)) throw inexactNumber(name, text)
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text
}

function readJson(text: string, name: string): Json {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  checkExact(text, name)
  return value
}

/** Takes off the `'` that keeps spreadsheets from running a text. */
function unguard(text: string): string {
  return /^'+[=+\-@＝＋－＠\t\r\n]/.test(text) ? text.slice(1) : text
}

function setValue(item: Item, { name, path }: ReadColumn, value: Json, line: number): void {
  let target = item
  for (const part of path.slice(0, -1)) {
    target[part] ??= {}
    const inner = target[part]
    if (!isObject(inner)) throw invalidCsv(line, `has values for ${name} and for a part of it`)
    target = inner
  }
  target[path.at(-1) ?? ''] = value
}

const CELL = /[^,\r\n]*/y
const LINE_END = /\r\n|\n|\r/y

/** Parses rows: fields in quotes may hold separators, line ends and doubled quotes. @throws HttpError 400 */
function* parseRows(text: string): Generator<CsvRow> {
  let line = 1
  for (let at = 0; at < text.length; line++) {
    const cells: (string | undefined)[] = []
    const first = line
    for (let more = true; more; ) {
      if (text[at] === '"') {
        const [cell, end] = parseQuoted(text, at, line)
        cells.push(cell)
        for (const char of cell) if (char === '\n') line++
        at = end
      } else {
        CELL.lastIndex = at
        const [cell = ''] = CELL.exec(text) ?? []
        cells.push(cell === '' ? undefined : cell)
        at += cell.length
      }
      more = text[at] === ','
      if (more) at++
    }
    if (at < text.length) {
      LINE_END.lastIndex = at
      const end = LINE_END.exec(text)
      if (!end) throw invalidCsv(line, 'has characters behind a closing quote')
      at += end[0].length
    }
    yield { cells, line: first }
  }
}

/** @returns the cell, and where it ends. */
function parseQuoted(text: string, start: number, line: number): [cell: string, end: number] {
  let cell = ''
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at)
    if (quote === -1) throw invalidCsv(line, 'has a quote that is not closed')
    cell += text.slice(at, quote)
    if (text[quote + 1] !== '"') return [cell, quote + 1]
    cell += '"'
    at = quote + 2
  }
}

function invalidCsv(line: number, what: string): HttpError {
  return new HttpError(400, [{ message: `Line ${line} of the CSV ${what}`, type: 'invalid_csv' }])
}
