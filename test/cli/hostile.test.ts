// Whatever a document says, its types are types: they compile strictly, and declare nothing else.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAst } from 'vitest/node'
import { printTypes } from '../../src/cli/print-types.ts'
import { listNodes } from '../source.ts'
import { compile } from './compile.ts'
import { HOSTILE, REFUSED } from './hostile-documents.ts'

/** The kinds of syntax that a module of types has. None of them runs, or names another module. */
const HARMLESS = new Set([
  ...['Program', 'ExportNamedDeclaration', 'Identifier', 'Literal', 'UnaryExpression'],
  ...['TSInterfaceDeclaration', 'TSInterfaceBody', 'TSTypeAliasDeclaration', 'TSPropertySignature'],
  ...['TSIndexSignature', 'TSTypeAnnotation', 'TSTypeLiteral', 'TSTypeReference', 'TSLiteralType'],
  ...['TSTypeParameterInstantiation', 'TSUnionType', 'TSIntersectionType', 'TSParenthesizedType'],
  ...[
    'TSArrayType',
    'TSTupleType',
    'TSOptionalType',
    'TSRestType',
    'TSStringKeyword',
    'TSNullKeyword',
  ],
  ...[
    'TSNumberKeyword',
    'TSBooleanKeyword',
    'TSUnknownKeyword',
    'TSNeverKeyword',
    'TSUndefinedKeyword',
  ],
])

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-hostile-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each(Object.entries(HOSTILE))('%s', (_, document) => {
  const text = printTypes(JSON.parse(document))
  // Neither a control nor a separator of lines, and nothing that turns or hides text.
  expect(text).not.toMatch(/[^\p{L}\p{M}\p{N}\p{P}\p{S} \n]/u)
  const { body } = parseAst(text, { lang: 'ts' }, 'api.ts')
  const [first, ...others] = body
  expect(first).toMatchObject({
    type: 'ImportDeclaration',
    importKind: 'type',
    source: { value: 'rest-conventions/client' },
  })
  expect(others.length).toBeGreaterThan(1)
  const kinds = others.flatMap(statement => [...listNodes(statement)].map(({ type }) => type))
  expect([...new Set(kinds)].filter(kind => !HARMLESS.has(kind))).toEqual([])
  // All comments are those that the command opens and ends on a line.
  const comments = text.split('\n').filter(line => /^ *\/[/*]/.test(line))
  for (const line of comments.slice(1)) expect(line).toMatch(/^ *\/\*\*(?:(?!\*\/).)* \*\/$/)
})

test('all of them compile strictly, and make clients', async () => {
  const files = Object.values(HOSTILE).flatMap((document, at) => [
    [`api${at}.ts`, printTypes(JSON.parse(document))] as const,
    [
      `use${at}.ts`,
      `import type { Client } from 'rest-conventions/client'
      import type { Api } from './api${at}.ts'
      export declare const client: Client<Api, 2>
      export const read = () => Object.entries(client)`,
    ] as const,
  ])
  for (const [name, text] of files) await writeFile(join(folder, name), text)
  const names = files.map(([name]) => name)
  expect(await compile(folder, names)).toBe('')
  expect(names.length / 2).toBeGreaterThanOrEqual(30)
  await writeFile(join(folder, 'wrong.ts'), "import { client } from './use0.ts'\nclient.nothing")
  expect(await compile(folder, ['wrong.ts'])).toContain("'nothing' does not exist")
})

test.each(Object.entries(REFUSED))('%s is refused', (_, [document, message]) => {
  expect(() => printTypes(JSON.parse(document))).toThrow(message)
})
