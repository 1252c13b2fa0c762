// The package as its users get it: packed, installed into an empty project, used from JavaScript and
// from TypeScript.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** What goes into the build, without the tests and without an earlier build. */
const SOURCES = [
  'src',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'docs',
  'bench/growth.svg',
]
const MINUTES = 60_000

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
}

let folder: string
let project: string
let installed: string
let packed: readonly string[]
let manifest: Manifest

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-package-'))
  project = join(folder, 'project')
  installed = join(project, 'node_modules', 'rest-conventions')
  const source = join(folder, 'source')
  await mkdir(source)
  for (const name of SOURCES) await cp(join(ROOT, name), join(source, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  // `npm pack` builds first: see `prepack`.
  await run('npm', ['pack', '--pack-destination', folder], source)
  const tarball = (await readdir(folder)).find(name => name.endsWith('.tgz'))
  if (!tarball) throw new Error('npm pack left no tarball')
  manifest = await json(join(source, 'package.json'))

  await mkdir(project)
  await write('package.json', JSON.stringify({ private: true, type: 'module' }))
  const others = ['zod', 'kysely', 'typescript', '@types/node'].map(async name => {
    const { version } = await json<Manifest>(join(ROOT, 'node_modules', name, 'package.json'))
    return `${name}@${version}`
  })
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...options, join(folder, tarball), ...(await Promise.all(others))])
  packed = await files(installed)
}, 5 * MINUTES)

afterAll(() => rm(folder, { recursive: true, force: true }))

async function run(command: string, words: readonly string[], cwd = project): Promise<string> {
  const done = promisify(execFile)(command, words, { cwd, maxBuffer: 2 ** 24 })
  const { stdout } = await done.catch(({ message, stdout, stderr }) => {
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  })
  return stdout
}

const write = (name: string, text: string) => writeFile(join(project, name), text)

async function json<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8'))
}

async function files(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort()
}

test('the package holds what is built and its papers, nothing else', async () => {
  const papers = packed.filter(name => !name.startsWith('dist/'))
  expect(papers).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bench/growth.svg',
    ...(await readdir(join(ROOT, 'docs'))).sort().map(name => `docs/${name}`),
    'package.json',
  ])
  const built = packed.filter(name => name.startsWith('dist/'))
  expect(built.filter(name => !/\.(?:js|d\.ts)$/.test(name))).toEqual([])
  expect(built.filter(name => name.endsWith('.js')).length).toBe(built.length / 2)
})

test('every target of exports exists', () => {
  const targets = Object.values(manifest.exports).flatMap(entry =>
    typeof entry === 'string' ? [entry] : Object.values(entry),
  )
  expect(targets).toContain('./dist/index.js')
  expect(targets.filter(target => !packed.includes(target.replace('./', '')))).toEqual([])
})

test('the core has at most eight dependencies', () => {
  expect(Object.keys(manifest.dependencies).length).toBeLessThanOrEqual(8)
})

test('what is built names built files, and no type is any', async () => {
  const wrong: string[] = []
  for (const name of packed.filter(each => each.startsWith('dist/'))) {
    const text = await readFile(join(installed, name), 'utf8')
    if (/(?:from |import\()['"]\.[^'"]*\.ts['"]/.test(text))
      wrong.push(`${name} imports a .ts file`)
    const types = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^']*'|"[^"]*"/g, '')
    if (name.endsWith('.d.ts') && /\bany\b/.test(types)) wrong.push(`${name} has a type any`)
  }
  expect(wrong).toEqual([])
})

const USE = `
const Car = z.object({ color: z.string(), price: z.int() })
const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore() })
const api = defineApi({ version: 1, collections: [cars] })
`

test('JavaScript defines a collection and is answered', async () => {
  await write(
    'use.js',
    `import { z } from 'zod'
    import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
    import { storeCases } from 'rest-conventions/testing'
    ${USE}
    const made = await api.fetch(new Request('http://api.test/v1/cars', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"color":"red","price":3}',
    }))
    const listed = await api.fetch(new Request('http://api.test/v1/cars?fields=color'))
    const seen = [made.status, listed.status, await listed.json()]
    console.log(JSON.stringify([...seen, storeCases(memoryStore).length > 10]))
    await api.close()`,
  )
  expect(JSON.parse(await run('node', ['use.js']))).toEqual([201, 200, [{ color: 'red' }], true])
})

test('CommonJS may require it', async () => {
  const script = "console.log(typeof require('rest-conventions').defineCollection)"
  expect(await run('node', ['--no-warnings', '--input-type=commonjs', '-e', script])).toBe(
    'function\n',
  )
})

const TYPED = `
import { createServer } from 'node:http'
import { z } from 'zod'
import {
  type Collection, defineApi, defineCollection, type HttpRequest, memoryStore, type Principal,
  type Scheme, type Store,
} from 'rest-conventions'
import { printChallenge } from 'rest-conventions/rules'
import type { Kysely } from 'kysely'
import * as sql from 'rest-conventions/sql'
import { storeCases } from 'rest-conventions/testing'
${USE}
export const server = createServer(api.handler)
export const answer: Promise<Response> = api.fetch(new Request('http://api.test/v1/cars'))
export const alone: Collection<typeof Car> = cars
export const stores: (() => Store)[] = [memoryStore]
export const names: string[] = storeCases(memoryStore).map(({ name }) => name)
export { sql }
export const store = memoryStore()
export const { definition } = api

let make = () => memoryStore()
make = () => sql.sqlStore({ db: {} as Kysely<unknown> })
export const other = make

export class Key implements Scheme {
  readonly name = 'Key'
  challenge() {
    return printChallenge(this.name, {})
  }
  async authenticate({ headers }: HttpRequest) {
    const id = headers['x-api-key']
    return typeof id === 'string' ? { id } : undefined
  }
}

export function countOf(principal: Principal | undefined, signal: AbortSignal | undefined) {
  return api.collection(cars).count({}, { principal, signal })
}

export async function typed(): Promise<void> {
  const [first] = await api.collection(cars).list({ color: 'red', limit: 5 })
  const color: string | undefined = first?.color
  const price: number | undefined = first?.price
  const made: string | undefined = first?.created_at
  // @ts-expect-error The schema has no such member.
  first?.colour
  // @ts-expect-error A colour is no number.
  await api.collection(cars).create({ color: 1, price: 2 })
  // @ts-expect-error A collection is called by itself or by its name.
  api.collection(1)
  console.log(color, price, made)
}

// @ts-expect-error A schema is zod's.
defineCollection({ name: 'cars', schema: {}, store: memoryStore() })
`

test.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])('TypeScript has its types: module %s, resolution %s', async (module, moduleResolution) => {
  await write('typed.ts', TYPED)
  const options = {
    target: 'es2023',
    module,
    moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    declaration: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    types: ['node'],
  }
  const config = `tsconfig.${module}.json`
  await write(config, JSON.stringify({ compilerOptions: options, files: ['typed.ts'] }))
  const { bin } = await json<{ bin: { tsc: string } }>(
    join(project, 'node_modules/typescript/package.json'),
  )
  const tsc = join('node_modules/typescript', bin.tsc)
  expect(await run('node', [tsc, '-p', config])).toBe('')
})

test('the lock file is in step with the manifest and names no addresses of a registry', async () => {
  const checked = join(folder, 'checked')
  await mkdir(checked)
  for (const name of ['package.json', 'package-lock.json']) {
    await cp(join(ROOT, name), join(checked, name))
  }
  // Refuses a lock file that `npm install` would change.
  await run('npm', ['ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund'], checked)
  const lock = await json<{ packages: Record<string, { resolved?: string }> }>(
    join(ROOT, 'package-lock.json'),
  )
  const named = Object.entries(lock.packages).filter(([, { resolved }]) => resolved !== undefined)
  expect(named.map(([name]) => name)).toEqual([])
  expect(Object.keys(lock.packages).length).toBeGreaterThan(10)
})
