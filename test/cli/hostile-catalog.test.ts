// Whatever a catalog says, what `pull` prints of it are names, values and comments: it compiles, and nothing of it runs.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { parseAst } from 'vitest/node'
import type { FoundColumn, FoundTable } from '../../src/cli/pull/found-tables.ts'
import { printCollections } from '../../src/cli/pull/print-collections.ts'
import { isNode, listNodes, type SyntaxNode } from '../source.ts'
import { compile } from './compile.ts'

const column = (name: string, more: Partial<FoundColumn> = {}): FoundColumn => ({
  ...{ name, type: 'text', notNull: true, preset: undefined, generated: false, comment: undefined },
  ...more,
})
const ID = column('id', { type: 'bigint' })
const table = (name: string, more: Partial<FoundTable> = {}): FoundTable => ({
  ...{ name, isView: false, fills: false, comment: undefined, columns: [ID], key: ['id'] },
  ...{ references: [], indexes: [], checks: [] },
  ...more,
})

/** Texts that would be code, the end of a comment or of a string, or a name that objects have. */
const EVIL = [
  "'); process.exit(1); ('",
  '*/ process.exit(1) /*',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must not become a template
  '`${process.exit(1)}`',
  '\n// process.exit(1)\nprocess.exit(1)',
  '\u2028process.exit(1)\u2029',
  '\\',
  "\\'",
  '"',
  '\u202Eevil\u202C',
  '__proto__',
  'constructor',
  'toString',
  'process',
  'api',
  'z',
  'db',
  'class',
  'default',
  '',
  ' ',
  '1',
  '日本',
  'a.b',
  'jsonb',
  'price (12)',
  'x'.repeat(50),
]

const CATALOGS: Readonly<Record<string, readonly FoundTable[]>> = {
  'names of tables': EVIL.map(name => table(name)),
  'names of tables with a reference': EVIL.map(name =>
    table(name, {
      columns: [ID, column('other', { type: 'bigint' })],
      references: [{ columns: ['other'], table: name, to: ['id'], onDelete: name }],
    }),
  ),
  'names of keys': EVIL.map((name, at) =>
    table(`t${at}`, { columns: [column(name)], key: [name] }),
  ),
  'names of columns': [table('cars', { columns: [ID, ...EVIL.map(each => column(each))] })],
  'names of secrets': [
    table('cars', { columns: [ID, ...EVIL.map(each => column(`${each}_token`))] }),
  ],
  'types of columns': [
    table('cars', { columns: [ID, ...EVIL.map((type, at) => column(`c${at}`, { type }))] }),
  ],
  comments: [...EVIL, 'long '.repeat(5_000)].map((comment, at) =>
    table(`t${at}`, { comment, columns: [ID, column('name', { comment })] }),
  ),
  labels: [
    table('cars', {
      columns: [
        ID,
        column('color', { type: `color ${JSON.stringify(EVIL)}` }),
        column('none', { type: 'none []' }),
      ],
    }),
  ],
  defaults: [
    table('cars', {
      columns: [
        ID,
        ...EVIL.map((each, at) =>
          column(`c${at}`, { preset: `'${each.replaceAll("'", "''")}'::text` }),
        ),
        ...EVIL.map((preset, at) => column(`d${at}`, { preset })),
        ...['1e999', '9'.repeat(400), '-', '0x10', "'NaN'::bigint", '1.5'].map((preset, at) =>
          column(`n${at}`, { type: 'bigint', preset }),
        ),
        column('json', { type: 'jsonb', preset: `'{"__proto__":{"a":1}}'::jsonb` }),
        column('uuid', { type: 'uuid', preset: "'x'::uuid" }),
        column('short', { type: 'character varying(2)', preset: "'long'::text" }),
      ],
    }),
  ],
  indexes: [
    table('cars', {
      columns: [ID, ...EVIL.map(each => column(each))],
      indexes: EVIL.flatMap(text => [
        { unique: true, columns: [text], where: null, text },
        { unique: true, columns: [null], where: text, text },
        { unique: false, columns: [text, 'id'], where: null, text: null },
      ]),
    }),
  ],
  'conditions of indexes': [
    table('cars', {
      columns: [ID, column('color'), column('n', { type: 'bigint' })],
      indexes: [
        ...EVIL.map(each => `color = '${each.replaceAll("'", "''")}'`),
        ...['007', '9'.repeat(400), '9007199254740993'].map(each => `n = ${each}`),
      ].map(where => ({ unique: true, columns: ['color'], where, text: null })),
    }),
  ],
  checks: [
    table('cars', {
      columns: [
        ID,
        ...EVIL.map(each => column(each)),
        column('color'),
        column('n', { type: 'integer' }),
      ],
      checks: [
        ...EVIL,
        ...EVIL.map(each => `color in ('${each.replaceAll("'", "''")}')`),
        ...EVIL.map(each => `"${each}" = 'x'`),
        `n >= ${'9'.repeat(400)}`,
        'n >= 5 and n <= 1',
        'color in ()',
        `${'('.repeat(20_000)}n`,
        `${'('.repeat(3_000)}n`,
        `${'n >= 0 and '.repeat(300)}n >= 0`,
        `${'a '.repeat(1_500)}between`,
        `${'n >= 0 and '.repeat(5_000)}n >= 0`,
        `${'a '.repeat(20_000)}between`,
      ],
    }),
  ],
}

/** The names that the module itself has; all others are keys, members of them, or names of collections. */
const KNOWN =
  /^(?:z|db|pg|pool|table|name|columns|api|process|Kysely|PostgresDialect|Pool|preparePostgres|reuseStatements|sqlStore|defineApi|defineCollection|connectionString|Record|unknown|Date)$/
const CALLED =
  /^(?:table|sqlStore|preparePostgres|reuseStatements|defineApi|defineCollection|z\.(?:object|array|string|int|int32|number|boolean|enum|json|guid|iso\.date|iso\.datetime)|\.(?:min|max|gt|lt|nullable|optional|default|meta|toISOString))$/

/** Prints what is called: `z.string`, or `.max` of a call. */
function nameCallee(node: unknown): string {
  if (!isNode(node)) return '?'
  if (node.type === 'Identifier') return String(node.name)
  if (node.type !== 'MemberExpression') return ''
  return `${nameCallee(node.object)}.${nameCallee(node.property)}`
}

const isOf = (type: string) => (node: SyntaxNode) => node.type === type

test.each(Object.entries(CATALOGS))('%s', (_, tables) => {
  const text = printCollections(tables, { database: 'postgres', driver: 'pg', file: undefined })
  expect(text).not.toMatch(/[^\p{L}\p{M}\p{N}\p{P}\p{S} \n]/u)
  const { body } = parseAst(text, { lang: 'ts' }, 'collections.ts')
  const nodes = body.flatMap(statement => [...listNodes(statement)])
  const calls = nodes.filter(isOf('CallExpression')).map(({ callee }) => nameCallee(callee))
  expect(calls.filter(each => !CALLED.test(each))).toEqual([])
  // The pool, the dialect, Kysely, and the error without a DATABASE_URL.
  expect(nodes.filter(isOf('NewExpression')).length).toBe(4)
  expect(nodes.filter(isOf('TemplateLiteral'))).toEqual([])
  // `process` is there once, for its environment.
  const named = nodes.filter(isOf('Identifier')).map(({ name }) => name)
  expect(named.filter(each => each === 'process').length).toBeLessThanOrEqual(2)
  const declared = nodes.filter(isOf('VariableDeclarator')).map(({ id }) => nameCallee(id))
  expect(new Set(declared).size).toBe(declared.length)
  expect(declared.filter(each => !KNOWN.test(each) && !/^[a-z][a-z0-9_]*$/.test(each))).toEqual([])
  for (const line of text.split('\n'))
    if (/^ *\/[/*]/.test(line)) expect(line).toMatch(/^(?:\/\/ |\/\*\* .* \*\/$)/)
})

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-hostile-catalog-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('all of them compile strictly, and each collection can be defined', async () => {
  const files: string[] = []
  for (const [at, tables] of Object.values(CATALOGS).entries()) {
    const text = printCollections(tables, { database: 'postgres', driver: 'pg', file: undefined })
    files.push(`catalog${at}.ts`)
    await writeFile(join(folder, `catalog${at}.ts`), text)
  }
  expect(await compile(folder, files)).toBe('')
  vi.stubEnv('DATABASE_URL', 'postgres://127.0.0.1/none')
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const file of files) {
    // A pool connects at the first statement: nothing is asked here.
    const { api } = await import(/* @vite-ignore */ join(folder, file))
    await api.close()
  }
}, 60_000)
