import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type SourceFile, type SyntaxNode, sourceFiles } from './source.ts'

/** The order to read in; each file imports only files before it. docs/architecture.md says each one's room. */
const ORDER: Readonly<Record<string, readonly string[]>> = {
  words: ['http', 'errors', 'fields', 'as-json', 'json-size', 'options', 'limits', 'fallbacks'],
  rules: [
    'pagination',
    'selection',
    'operators',
    'sort',
    'value-lists',
    'query',
    'dialects',
    'blobs',
    'byte-ranges',
    'schema',
    'json-schema',
    'keeping',
    'foreign',
    'unknown-members',
    'validate',
    'formats/format',
    'formats/json',
    'formats/form-marks',
    'formats/form',
    'formats/xml-shape',
    'formats/xml-syntax',
    'formats/xml-writer',
    'formats/xml-reader',
    'formats/xml',
    'formats/boundaries',
    'formats/multipart',
    'formats/ndjson',
    'formats/csv',
    'formats/html-markup',
    'formats/html-style',
    'formats/html-values',
    'formats/html-state',
    'formats/html-page',
    'formats/html-form',
    'formats/html-list',
    'formats/html',
    'negotiate',
    'conditional',
    'prefer',
    'patch',
    'cors',
    'auth',
    'auth/basic',
    'auth/tokens',
    'auth/bearer-jwt',
    'auth/introspection',
    'rate-limit',
    'guesses',
    'deadlines',
  ],
  models: [
    'store',
    'stores/ids',
    'stores/attempts',
    'stores/shapes',
    'stores/sorted-list',
    'stores/memory-index',
    'stores/memory-select',
    'stores/memory',
    'stores/memory-blobs',
    'stores/file-blobs',
    'stores/s3-blobs',
    'stores/sql-text',
    'stores/sql-types',
    'stores/sql-dialect',
    'stores/sql-sqlite',
    'stores/sql-postgres',
    'stores/sql-mysql-json',
    'stores/sql-mysql',
    'stores/sql-reuse',
    'stores/sql-indexes',
    'stores/sql-columns',
    'stores/sql-layout',
    'stores/sql-where',
    'stores/sql-lists',
    'stores/sql-tables',
    'stores/sql-session',
    'stores/sql-serial',
    'stores/sql-pool',
    'stores/sql-catalog',
    'stores/sql-reads',
    'stores/sql-statements',
    'stores/sql-attempts',
    'stores/sql-creates',
    'stores/sql',
    'definition',
  ],
  machine: [
    'route',
    'describe-schemas',
    'describe-requests',
    'describe-answers',
    'describe',
    'view',
    'address',
    'request-head',
    'documents',
    'admit',
    'operations/sight',
    'operations/call',
    'body',
    'operations/root',
    'operations/uploads',
    'operations/shown',
    'operations/blobs',
    'operations/download',
    'operations/values',
    'operations/idempotency',
    'operations/reads',
    'operations/writes',
    'operations/actions',
    'operations',
    'calls',
    'exchange',
    'request-body',
    'encode',
    'streamed',
    'events',
    'steps',
    'handle',
  ],
  doors: ['node', 'fetch'],
  builders: ['serve', 'collection-options', 'collection', 'api'],
  'side doors': [
    'harden',
    'sweep',
    'testing/sample',
    'testing/reading',
    'testing/writing',
    'testing',
    'index',
  ],
}

/** Where each package may be imported; a package that is not here may be imported nowhere. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  zod: /^(?:schema|json-schema|keeping|validate)\.ts$/,
  'path-to-regexp': /^route\.ts$/,
  negotiator: /^negotiate\.ts$/,
  busboy: /^formats\/multipart\.ts$/,
  'fast-xml-parser': /^formats\/xml-reader\.ts$/,
  kysely: /^stores\/sql/,
  '@aws-sdk/client-s3': /^stores\/s3-/,
  'rate-limiter-flexible': /^rate-limit\.ts$/,
  jose: /^auth\/bearer-jwt\.ts$/,
}

const MOST_LINES = 450

const order = Object.values(ORDER).flatMap(names => names.map(name => `${name}.ts`))
const files = sourceFiles()

test('the reading order names every file of src, and no other', () => {
  expect([...order].sort()).toEqual(files.map(({ path }) => path))
  expect(new Set(order).size).toBe(order.length)
})

test('docs/architecture.md tells of the same files in the same order', () => {
  const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (?:`([^`]+)`|\*\*([^*]+)\*\*) \|/gm)]
  const told = rows.map(([, file, group]) => file ?? group)
  const listed = Object.entries(ORDER).flatMap(([group, names]) => [
    group,
    ...names.map(name => `${name}.ts`),
  ])
  expect(told).toEqual(listed)
})

test('a file imports only files that stand before it, types included', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter(from => from.endsWith('.ts') && order.indexOf(from) >= order.indexOf(path))
      .map(from => `${path} imports ${from}`),
  )
  expect(wrong).toEqual([])
  expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(files.length)
})

test('each package is imported only where it lives', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter(from => !from.endsWith('.ts') && !from.startsWith('node:'))
      .filter(from => !PACKAGES[packageOf(from)]?.test(path))
      .map(from => `${path} imports ${from}`),
  )
  expect(wrong).toEqual([])
})

function packageOf(from: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from
}

test('no type is any', () => {
  expect(filesWith(({ type }) => type === 'TSAnyKeyword')).toEqual([])
  // The tree does tell of types: every file of models has some.
  expect(filesWith(({ type }) => type === 'TSStringKeyword').length).toBeGreaterThan(10)
})

test('index.ts, and every other door of the package, names what it exports', () => {
  expect(filesWith(({ type }) => type === 'ExportAllDeclaration')).toEqual([])
  const index = files.find(({ path }) => path === 'index.ts')
  const [program] = index?.nodes ?? []
  const statements = program?.body as SyntaxNode[] // the body of a program: its statements
  expect(
    statements.filter(({ type, source }) => type !== 'ExportNamedDeclaration' || !source),
  ).toEqual([])
  expect(statements.length).toBeGreaterThan(1)
})

test(`no file has more than ${MOST_LINES} lines`, () => {
  const long = files.filter(({ lines }) => lines > MOST_LINES)
  expect(long.map(({ path, lines }) => `${path} has ${lines} lines`)).toEqual([])
})

function filesWith(found: (node: SyntaxNode) => boolean): string[] {
  return files.filter(({ nodes }: SourceFile) => nodes.some(found)).map(({ path }) => path)
}
