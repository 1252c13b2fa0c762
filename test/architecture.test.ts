import { dirname } from 'node:path/posix'
import { expect, test } from 'vitest'
import { type SourceFile, type SyntaxNode, sourceFiles } from './source.ts'
import {
  findCircles,
  findContextWrites,
  findDoubledTypes,
  findManyParameters,
  findUnexplained,
  measureFunctions,
} from './source-shape.ts'

/** Folders and files at the top of `src` are layers: each imports only layers above it, types included. */
const LAYERS = [
  'base',
  'errors',
  'options',
  'schema',
  'http',
  'store',
  'query',
  'pagination',
  'blobs',
  'formats',
  'negotiate',
  'auth',
  'model',
  'types',
  'openapi',
  'operations',
  'live',
  'server',
  'collection',
  'with-principal',
  'api',
  'index',
]

/** Entry points and the command: they import the core and each other's types, and the core never imports them. */
const SUBPATHS = [
  'cli',
  'client',
  'dialects',
  'html',
  'node',
  'rules',
  'memory',
  's3',
  'sql',
  'store-authors',
  'testing',
]

/** Where each package may be imported; a package that is not here may be imported nowhere. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  zod: /^(?:schema|cli\/serve)\//,
  'path-to-regexp': /^model\//,
  negotiator: /^negotiate\.ts$/,
  busboy: /^formats\/multipart\/(?:multipart|part)\.ts$/,
  'fast-xml-parser': /^formats\/xml\/reader\.ts$/,
  kysely: /^(?:sql|cli\/serve)\//,
  '@aws-sdk/client-s3': /^s3\//,
  '@tanstack/query-core': /^client\/tanstack-query\.ts$/,
  // The module of a user, which a command runs.
  '(computed)': /^cli\/check-rows\.ts$/,
  jose: /^auth\/bearer-jwt\.ts$/,
}

const MAX_LINES = 400
const MAX_FUNCTION_LINES = 100
/** The functions with more than four parameters: their number only falls. */
const MANY_PARAMETERS = 19

const files = sourceFiles()

/** `schema` of `schema/fields.ts`, `errors` of `errors.ts`. */
function layerOf(path: string): string {
  return path.split('/')[0]?.replace(/\.ts$/, '') ?? path
}

test('every folder and top-level file of src is a layer or a subpath', () => {
  const unknown = files
    .map(({ path }) => layerOf(path))
    .filter(layer => !LAYERS.includes(layer) && !SUBPATHS.includes(layer))
  expect(unknown).toEqual([])
})

test('a folder imports only folders above it, types included', () => {
  const upward = files.flatMap(({ path, imports }) =>
    imports
      .filter(from => from.endsWith('.ts') && isUpward(layerOf(path), layerOf(from)))
      .map(from => `${path} imports ${from}`),
  )
  expect(upward).toEqual([])
  expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(files.length)
})

test('no two folders import each other, at any depth', () => {
  const arrows = new Map(
    files.flatMap(({ path, imports }) =>
      imports.map(from => [`${dirname(path)} → ${dirname(from)}`, `${path} imports ${from}`]),
    ),
  )
  const mutual = files.flatMap(({ path, imports }) =>
    imports
      .filter(from => from.includes('/') && path.includes('/') && dirname(from) !== dirname(path))
      .filter(from => arrows.has(`${dirname(from)} → ${dirname(path)}`))
      .map(
        from => `${path} imports ${from}, and ${arrows.get(`${dirname(from)} → ${dirname(path)}`)}`,
      ),
  )
  expect(mutual).toEqual([])
  expect(arrows.size).toBeGreaterThan(100)
})

test('only the list of names imports the memory store', () => {
  const importers = files
    .filter(
      ({ path, imports }) =>
        layerOf(path) !== 'memory' && imports.some(from => layerOf(from) === 'memory'),
    )
    .map(({ path }) => path)
  expect(importers).toEqual(['index.ts'])
})

test('what stores items knows nothing of HTTP', () => {
  const wrong = files
    .filter(({ path }) => ['store', 'memory', 'sql', 'store-authors'].includes(layerOf(path)))
    .flatMap(({ path, imports }) =>
      imports.filter(from => layerOf(from) === 'http').map(from => `${path} imports ${from}`),
    )
  expect(wrong).toEqual([])
})

function isUpward(importer: string, imported: string): boolean {
  if (importer === imported || SUBPATHS.includes(importer)) return false
  if (importer === 'index' && imported === 'memory') return false
  return LAYERS.indexOf(imported) > LAYERS.indexOf(importer) || SUBPATHS.includes(imported)
}

test('no file imports itself by way of others, types included: one reads each after those below it', () => {
  expect(findCircles(files)).toEqual([])
})

test('only steps of a request fill in its context', () => {
  const isStep = ({ path }: SourceFile) => layerOf(path) === 'server'
  const elsewhere = files
    .filter(file => !isStep(file) && findContextWrites(file).length > 0)
    .map(({ path }) => path)
  expect(elsewhere).toEqual([])
  expect(files.filter(isStep).flatMap(findContextWrites).length).toBeGreaterThan(10)
})

/** Errors of a call have the names of those in process: the client imports no code of the server. */
const TWINS = ['ConflictError', 'HttpError']

test('requests reach items by the part of a store that is the collection, not past its trash', () => {
  const raw = files.filter(
    ({ path, text }) =>
      /^(?:operations|server|live|html)\//.test(path) &&
      // `write.store` is that part.
      /(?<!\bwrite)\.store\s*\.(?:find|list|listEach|count|countBy|stream|write)\(/.test(text),
  )
  expect(raw.map(({ path }) => path)).toEqual([])
})

test('a type name has one meaning', () => {
  const own = files.filter(({ path }) => !path.startsWith('testing/'))
  const doubled = findDoubledTypes(own)
  expect([...doubled.keys()]).toEqual(TWINS)
  expect([...doubled.values()].map(paths => paths[0])).toEqual(TWINS.map(() => 'client/errors.ts'))
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

/** Words of the first version that no name may have: each has a standard word. */
const RETIRED =
  /mistake|doors?(?![a-z])|exchange|forged|guess|outOfSight|keeping|^MOST_|^LEAST_|^KIN$|^odd-/i

test('no identifier and no file has a retired name', () => {
  const named = files.flatMap(({ path, nodes }) =>
    nodes
      .filter(({ type }) => type === 'Identifier')
      .map(({ name }) => String(name))
      .filter(name => RETIRED.test(name))
      .map(name => `${path}: ${name}`),
  )
  expect([...new Set(named)]).toEqual([])
  expect(files.filter(({ path }) => path.split('/').some(part => RETIRED.test(part)))).toEqual([])
})

test('index.ts and every other entry point name their exports', () => {
  expect(filesWith(({ type }) => type === 'ExportAllDeclaration')).toEqual([])
  const index = files.find(({ path }) => path === 'index.ts')
  const [program] = index?.nodes ?? []
  const statements = program?.body as SyntaxNode[] // the body of a program: its statements
  expect(
    statements.filter(({ type, source }) => type !== 'ExportNamedDeclaration' || !source),
  ).toEqual([])
  expect(statements.length).toBeGreaterThan(1)
})

test(`no file has more than ${MAX_LINES} lines`, () => {
  const long = files.filter(({ lines }) => lines > MAX_LINES)
  expect(long.map(({ path, lines }) => `${path} has ${lines} lines`)).toEqual([])
})

test(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => {
  const measured = files.flatMap(measureFunctions)
  expect(measured.filter(({ lines }) => lines > MAX_FUNCTION_LINES)).toEqual([])
})

test('few functions have more than four parameters: others take the object that these are', () => {
  const many = files.flatMap(findManyParameters)
  expect(many.length, JSON.stringify(many, undefined, 1)).toBeLessThanOrEqual(MANY_PARAMETERS)
})

test('what outlives a call says why in a comment above: WeakMaps, memoized values, variables of modules', () => {
  expect(files.flatMap(findUnexplained)).toEqual([])
})

function filesWith(found: (node: SyntaxNode) => boolean): string[] {
  return files.filter(({ nodes }: SourceFile) => nodes.some(found)).map(({ path }) => path)
}
