// `rest-conventions pull`: what it prints of well-known tables compiles, opens and is used; and what it says otherwise.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import Database from 'libsql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pull } from '../../src/cli/pull/pull.ts'
import { postgres, usePostgres } from '../stores/postgres.ts'
import { ask } from '../stores/postgres-server.ts'
import { compile, createProject } from './compile.ts'
import { POSTGRES, SQLITE } from './pull-tables.ts'

const WALK = fileURLToPath(new URL('walk-collections.ts', import.meta.url))
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const TSX = import.meta.resolve('tsx')
const MINUTE = 60_000

usePostgres()
let folder: string
const names = [...Object.keys(POSTGRES), ...Object.keys(SQLITE)]
const pulled = new Map<string, string>()

/** The database of one of the sets of tables. */
function sourceOf(name: string): string {
  if (name in SQLITE) return join(folder, `${name}.db`)
  const url = new URL(postgres().url)
  url.searchParams.set('options', `-csearch_path=${name}`)
  return url.href
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-pull-'))
  for (const [name, statements] of Object.entries(POSTGRES)) {
    await ask(postgres().url, `create schema ${name}; set search_path = ${name}; ${statements}`)
  }
  for (const [name, statements] of Object.entries(SQLITE)) {
    const database = new Database(sourceOf(name))
    database.exec(statements)
    database.close()
  }
  for (const name of names) {
    const text = await pull({ source: sourceOf(name) })
    pulled.set(name, text)
    await writeFile(join(folder, `${name}.ts`), text)
  }
}, MINUTE)
afterAll(() => rm(folder, { recursive: true, force: true }))

const moduleOf = (name: string) => pulled.get(name) ?? ''

/** The declaration of a collection in a module, with its notes. */
function find(name: string, collection: string): string {
  const parts = moduleOf(name).split('\n\n')
  return parts.find(part => part.includes(`export const ${collection} = `)) ?? ''
}

test(
  'the modules compile strictly',
  async () => {
    expect(
      await compile(
        folder,
        names.map(name => `${name}.ts`),
      ),
    ).toBe('')
  },
  MINUTE,
)

/** The tables that no collection can have: their keys are of several columns that are no references, or other programs keep state in them. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  rentals: ['film_list', 'payment'],
  prisma: ['_prisma_migrations'],
  rails: ['ar_internal_metadata', 'schema_migrations'],
  laravel: ['migrations'],
  music_lite: ['PlaylistTrack'],
  odd: ['odd.dot.table'],
  odd_lite: ['main.dot.table'],
  rails_lite: ['schema_migrations'],
}

test(
  'every collection lists, creates, reads, patches, puts, includes and deletes, and nothing is warned that a declaration prevents',
  async () => {
    const config = await createProject(folder, [])
    const modules = names.map(name => [join(folder, `${name}.ts`), sourceOf(name)])
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', TSX, WALK, JSON.stringify(modules)],
      { env: { ...process.env, TSX_TSCONFIG_PATH: config }, maxBuffer: 2 ** 26 },
    )
    const used: { failed: string[]; warnings: string[]; served: string[] }[] = JSON.parse(stdout)
    expect(used.map(({ failed }, at) => [names[at], failed])).toEqual(names.map(each => [each, []]))
    const warnings = used.flatMap(each => each.warnings)
    // The administrator decides on indexes.
    const others = warnings.filter(each => !/ids come from a sequence|nulls first/.test(each))
    expect(others).toEqual([])
    const served = used.flatMap(each => each.served).length
    const without = names.map(name =>
      [...moduleOf(name).matchAll(/^\/\/ ([\w.]+) is left out/gm)].map(([, table]) => table),
    )
    expect(without).toEqual(names.map(name => LEFT_OUT[name] ?? []))
    console.info(`${served} tables are served, ${without.flat().length} are left out`)
    expect(served).toBeGreaterThanOrEqual(60)
  },
  2 * MINUTE,
)

describe('it reads as if a person had written it', () => {
  test('an enum, checks, a default of the database, a reference that cascades', () => {
    expect(find('drizzle', 'users')).toBe(`export const users = defineCollection({
  name: 'users',
  schema: z.object({
    name: z.string(),
    email: z.string().max(255),
    role: z.enum(['user', 'admin']).default('user'),
    age: z.int32().min(0).lt(150).nullable().default(null),
  }),
  store: table('users'),
  id: 'integer',
  unique: ['email'],
})`)
    expect(
      find('drizzle', 'posts'),
    ).toBe(`// DELETE deletes the row. To set deleted_at instead, add trash: 'deleted_at'.
// Unique in the database: (lower((title)::text)).
export const posts = defineCollection({
  name: 'posts',
  schema: z.object({
    title: z.string().min(3).max(256),
    author_id: z.int32(),
    slug: z.string().nullable().default(null),
    published: z.boolean().default(false),
    deleted_at: z.iso.datetime().nullable().default(null),
    metadata: z.json().optional(),
    settings: z.json().default({}),
  }),
  store: table('posts'),
  ordered: false,
  timestamps: false,
  references: { author_id: { collection: 'users', onDelete: 'cascade' } },
  unique: [{ fields: ['slug'], where: { deleted_at: { exists: false } } }],
})`)
  })

  test('a trigger, a generated column, comments, types that cannot be served', () => {
    const films = find('rentals', 'films')
    expect(films).toMatch(/^\/\/ Left out: fulltext \(tsvector\)\.\n/)
    expect(films).toContain('features: z.array(z.string()).nullable().default(null),')
    expect(films).toContain("store: table('film', { id: 'film_id' }),")
    expect(films).toContain('rental_duration: z.int().gt(0).default(3),')
    expect(films).toContain('release_year: z.int32().min(1901).max(2155).nullable().default(null),')
    expect(find('rentals', 'rentals')).toContain("state: z.enum(['out', 'VALUE']).nullable()")
    expect(films).toContain("rating: z.enum(['G', 'PG', 'PG-13', 'R']).nullable().default('G'),")
    expect(films).toContain("fields: { length_hours: 'readOnly', last_update: 'readOnly' },")
    const actors = find('rentals', 'actors')
    expect(actors).toContain("description: 'Who plays in films',")
    expect(actors).toContain(
      "last_name: z.string().max(45).meta({ description: 'As in the credits' }),",
    )
    expect(actors).toContain("indexes: ['last_name'],")
    expect(find('rentals', 'customer_lists')).toContain('// A view: it is only read.\n')
  })

  test.each([
    [
      'prisma',
      'users',
      "store: table('User', { created_at: 'createdAt', updated_at: 'updatedAt' }),",
    ],
    ['prisma', 'users', "fields: { passwordHash: 'writeOnly' },"],
    [
      'rails',
      'users',
      "fields: { encrypted_password: 'writeOnly', reset_password_token: 'writeOnly' },",
    ],
    ['rails', 'active_storage_blobs', 'created_at: { readOnly: () => new Date().toISOString() }'],
    ['laravel', 'posts', "status: z.enum(['draft', 'published']).default('draft'),"],
    [
      'drizzle',
      'comments',
      '// A deletion that would set null parent_id in the database is refused here.',
    ],
    ['drizzle', 'profiles', "operations: ['list', 'count', 'read', 'replace', 'patch', 'delete'],"],
    ['supabase', 'profiles', "references: { id: { collection: 'users', onDelete: 'cascade' } },"],
    ['music', 'media_types', "store: table('MediaType', { id: 'MediaTypeId' }),"],
    ['rentals', 'staff', "itemName: 'staff',"],
    ['drizzle_lite', 'posts', "status: z.enum(['draft', 'live']).default('draft'),"],
    ['drizzle_lite', 'users', "store: table('users', { created_at: { type: 'unix seconds' } }),"],
    ['odd', 'domains', 'ms: z.array(z.string()).default([]),'],
    ['odd', 'domains', 'q: z.int32().gt(0).lt(1000).nullable().default(null),'],
    ['odd_lite', 'times', "seconds: { type: 'unix seconds' },"],
    ['odd_lite', 'times', "ms: { type: 'unix milliseconds' },"],
    ['odd_lite', 'times', "fine: { type: 'unix milliseconds' },"],
    ['odd_lite', 'times', "sub: { type: 'unix milliseconds' },"],
    ['odd_lite', 'times', "printed: { type: 'datetime utc' },"],
    ['odd_lite', 'times', 'flag: z.boolean().default(false),'],
    ['odd_lite', 'strict_ones', '// Left out: b (BLOB), x (ANY).'],
    ['django_lite', 'blog_posts', 'data: z.json(),'],
    ['laravel_lite', 'users', 'admin: z.boolean().default(false),'],
  ])('%s: %s has %s', (name, collection, line) => {
    expect(find(name, collection)).toContain(line)
  })

  test('the key of a link table is its two references', () => {
    expect(find('drizzle', 'posts_to_tags')).toBe(`export const posts_to_tags = defineCollection({
  name: 'posts_to_tags',
  schema: z.object({
    post_id: z.guid(),
    tag_id: z.int32(),
  }),
  store: table('posts_to_tags'),
  id: ['post_id', 'tag_id'],
  timestamps: false,
  relation: { post_id: 'posts', tag_id: 'tags' },
})`)
    expect(find('prisma', 'post_to_tags')).toContain("relation: { A: 'posts', B: 'tags' },")
    expect(find('social', 'follows')).toContain(
      "references: { follower_id: 'users', followee_id: 'users' },",
    )
    expect(find('social', 'follows')).toContain("id: ['follower_id', 'followee_id'],")
  })

  test('what names a row otherwise is left out, with a way to serve it', () => {
    expect(moduleOf('rentals')).toContain(
      '// payment is left out: it has no key of one column, or of two references: payment_date, payment_id. Add a view that has a column "id".\n',
    )
  })

  test('the zone is said only for tables with times that have none', () => {
    const zoned = names.filter(name => moduleOf(name).includes("timezone: 'UTC'"))
    expect(zoned).toEqual(['music', 'drizzle', 'prisma', 'rails', 'laravel'])
  })
})

describe('--diff', () => {
  test('prints nothing of what only a formatter has changed', async () => {
    const file = join(folder, 'formatted.ts')
    await writeFile(file, moduleOf('drizzle_lite').replaceAll("'", '"').replace(/\)$/gm, ');'))
    expect(await pull({ source: sourceOf('drizzle_lite'), diff: file })).toBe('')
  })

  test('prints what the database has become', async () => {
    const source = join(folder, 'changed.db')
    const database = new Database(source)
    database.exec('create table cars (id integer primary key, color text not null, doors int)')
    const file = join(folder, 'changed.ts')
    await writeFile(file, await pull({ source }))
    database.exec('alter table cars drop column doors')
    database.exec("alter table cars add column state text not null default 'new'")
    database.close()
    expect(await pull({ source, diff: file })).toBe(`… export const cars = defineCollection({
    schema: z.object({
      color: z.string(),
-     doors: z.int().nullable().default(null),
+     state: z.string().default('new'),
    }),
    store: table('cars'),
`)
  })
})

describe('the command', () => {
  const main = () => join(folder, 'main.mjs')
  beforeAll(async () => {
    const external = ['kysely', 'zod', 'path-to-regexp']
    const options = { bundle: true, platform: 'node', format: 'esm', external } as const
    await build({ ...options, entryPoints: [MAIN], outfile: main() })
    await createProject(folder, [])
  })

  const run = (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    new Promise<{ code: number; out: string; err: string }>(resolve => {
      const options = { cwd: folder, env: { ...process.env, DATABASE_URL: '', ...env } }
      execFile(process.execPath, [main(), ...words], options, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      )
    })

  test(
    'takes DATABASE_URL, and a schema',
    async () => {
      const DATABASE_URL = postgres().url
      const { code, out, err } = await run(['pull', '--schema', 'trade'], { DATABASE_URL })
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain("store: table('trade.region', { id: 'region_id' }),")
      expect(out).toContain("references: { region_id: 'regions' },")
    },
    MINUTE,
  )

  test('takes a file', async () => {
    const { out } = await run(['pull', 'rails_lite.db'])
    const text = await readFile(join(folder, 'rails_lite.ts'), 'utf8')
    expect(out).toBe(text.replace(/new Database\(.*?\)/, "new Database('rails_lite.db')"))
  })

  test.each([
    [['pull'], /^Neither a source nor DATABASE_URL is given\n\nUsage: npx rest-conventions pull/],
    [['pull', 'a', 'b'], /^pull has too many arguments: b\n\nUsage: npx rest-conventions pull/],
    [['pull', 'mysql://a/b'], /^Only PostgreSQL and SQLite can be read, not mysql: URLs\n$/],
    [['pull', '--what', 'x'], /^The option --what is unknown .*\n\nUsage: npx/],
    [['pull', 'no.db'], /^Cannot read no\.db\. There is no such file\n$/],
    [['pull', 'main.mjs'], /^main\.mjs is not a SQLite file\. .+\n$/],
    [['pull', 'postgres://127.0.0.1:1/x'], /^Cannot connect to the database\. .+\n$/],
    [
      ['pull', 'rails_lite.db', '--diff', 'no.ts'],
      /^Cannot read no\.ts\. There is no such file\n$/,
    ],
  ])(
    'of the words %j it says what is wrong, in one line, and ends with 1',
    async (words, message) => {
      const { code, out, err } = await run(words)
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(message)
    },
  )

  test('help lists the commands', async () => {
    const { code, out } = await run(['help'])
    expect(code).toBe(0)
    expect(out).toMatch(/types <source>.*\n.*pull/)
    expect((await run(['help', 'pull'])).out).toMatch(/^Usage: npx rest-conventions pull/)
  })
})
