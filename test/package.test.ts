// The package as its users get it: packed, installed into an empty project, used from JavaScript and
// from TypeScript, bundled, and in other runtimes. Some tools are in folders of their own: without them
// their tests are skipped.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from './free-port.ts'

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
  'scripts/build.ts',
  'scripts/bundle.ts',
  'scripts/sbom.ts',
  'examples',
]
const MINUTES = 60_000

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** Tools that are no development dependencies, and how to install them. */
const TOOLS = join(ROOT, 'test/package-tools/node_modules')
const RUNTIMES = join(ROOT, 'test/client/runtimes/node_modules')
const PUBLINT = join(TOOLS, 'publint/src/cli.js')
const ATTW = join(TOOLS, '@arethetypeswrong/cli/dist/index.js')
const WORKERD = join(TOOLS, '@cloudflare/workerd-linux-64/bin/workerd')
const BUN = join(RUNTIMES, '@oven/bun-linux-x64/bin/bun')
const DENO = join(RUNTIMES, '@deno/linux-x64-glibc/deno')

/** A test of a tool, skipped with a warning where it is not installed. */
function testWith(tool: string, name: string, run: () => Promise<void>): void {
  const missing = !existsSync(tool)
  const home = tool.startsWith(TOOLS) ? TOOLS : RUNTIMES
  if (missing) {
    const install = `npm ci --prefix ${dirname(home).slice(ROOT.length)}`
    console.warn(`Skipped: ${name} (run ${install})`)
  }
  test.skipIf(missing)(name, run, 2 * MINUTES)
}

let folder: string
let tarball: string
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
  const name = (await readdir(folder)).find(name => name.endsWith('.tgz'))
  if (!name) throw new Error('npm pack left no tarball')
  tarball = join(folder, name)
  manifest = await json(join(source, 'package.json'))

  await mkdir(project)
  await write('package.json', JSON.stringify({ private: true, type: 'module' }))
  const others = ['zod', 'kysely', 'typescript', '@types/node'].map(async name => {
    const { version } = await json<Manifest>(join(ROOT, 'node_modules', name, 'package.json'))
    return `${name}@${version}`
  })
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...options, tarball, ...(await Promise.all(others))])
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

test('the package holds the build, examples and its documents, nothing else', async () => {
  const papers = packed.filter(name => !/^(?:dist|examples)\//.test(name))
  expect(papers).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bench/growth.svg',
    ...(await files(join(ROOT, 'docs')))
      .filter(name => !name.endsWith('.png')) // npm shows them from the repository
      .map(name => `docs/${name}`),
    'package.json',
  ])
  const built = packed.filter(name => name.startsWith('dist/'))
  const sources = (await files(join(ROOT, 'src'))).map(name => `src/${name}`)
  const examples = (await files(join(ROOT, 'examples'))).map(name => `examples/${name}`)
  expect(packed.filter(name => name.startsWith('examples/'))).toEqual(examples)
  const declarations = sources.map(name => name.replace(/^src\/(.*)\.ts$/, 'dist/$1.d.ts'))
  expect(built.filter(name => name.endsWith('.d.ts'))).toEqual(declarations.sort())
  const others = built.filter(name => !declarations.includes(name))
  expect(others.filter(name => !name.endsWith('.js'))).toEqual(['dist/sbom.cdx.json'])
})

/** The sources that a built file says it has: a line of comment stands before each. */
async function builtSources(): Promise<string[]> {
  const files = packed.filter(name => /^dist\/.*\.js$/.test(name))
  const texts = await Promise.all(files.map(name => readFile(join(installed, name), 'utf8')))
  return texts.flatMap(text => {
    const found = [...text.matchAll(/^\/\/ (src\/\S+\.ts)$/gm)].map(([, name = '']) => name)
    return [...new Set(found)]
  })
}

test('the bill of materials names each dependency, and what is bundled', async () => {
  const { components } = await json<{ components: readonly SbomComponent[] }>(
    join(installed, 'dist/sbom.cdx.json'),
  )
  const bundled = components.filter(({ properties }) => properties[0]?.value === 'true')
  expect(bundled.map(({ name }) => name)).toEqual(['busboy', 'streamsearch'])
  const others = components.filter(each => !bundled.includes(each)).map(({ name }) => name)
  expect(others).toEqual(Object.keys(manifest.dependencies).sort())
  for (const { name, version, purl, licenses } of components) {
    const found = await json<Manifest>(join(ROOT, 'node_modules', name, 'package.json'))
    expect([version, purl]).toEqual([found.version, `pkg:npm/${name}@${found.version}`])
    expect(licenses[0]?.license.id).toMatch(/^(?:MIT|ISC|BSD-3-Clause)$/)
  }
})

interface SbomComponent {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly { readonly license: { readonly id: string } }[]
  readonly properties: readonly { readonly value: string }[]
}

test('every module is built into one file, so that entry points share its state', async () => {
  const sources = await builtSources()
  expect(sources.filter((name, at) => sources.indexOf(name) !== at)).toEqual([])
  expect(sources.length).toBeGreaterThan(100)
})

test('entry points name what their sources name, and one value is one for all of them', async () => {
  await write(
    'names.js',
    `export function listNames(entries) {
      const first = new Map()
      const sorted = entries.map(entry => Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      sorted.forEach((entry, at) => {
        for (const [name, value] of entry) if (!first.has(value)) first.set(value, [at, name])
      })
      return sorted.map(entry => entry.map(([name, value]) => [name, typeof value, first.get(value)]))
    }`,
  )
  await write(
    'list-names.js',
    `import { listNames } from './names.js'
    const entries = await Promise.all(process.argv.slice(2).map(name => import(name)))
    console.log(JSON.stringify(listNames(entries)))`,
  )
  const { listNames } = await import(join(project, 'names.js'))
  // The SDK that `s3` imports is not installed here.
  const subpaths = Object.entries(manifest.exports).flatMap(([subpath, entry]) =>
    typeof entry === 'string' || subpath === './s3'
      ? []
      : [[subpath, entry.default ?? ''] as const],
  )
  const files = subpaths.map(([, file]) => file.replace(/^\.\/dist(.*)\.js$/, '../src$1.ts'))
  const sources = await Promise.all(files.map(file => import(file)))
  const names = subpaths.map(([subpath]) => `rest-conventions${subpath.slice(1)}`)
  expect(JSON.parse(await run('node', ['list-names.js', ...names]))).toEqual(listNames(sources))
})

test('a stack names functions', async () => {
  await write(
    'stack.js',
    `import { defineCollection } from 'rest-conventions'
    try {
      defineCollection({ name: 'cars' })
    } catch ({ stack }) {
      console.log(stack)
    }`,
  )
  expect(await run('node', ['stack.js'])).toMatch(
    /at defineCollection \(.*dist\/chunks\/[\w-]+\.js:\d+/,
  )
})

const REPOSITORY = 'https://github.com/rest-conventions/rest-conventions/blob/main/'

test('every link of a document leads to a file of the package, or by its address to one of the repository', async () => {
  const broken: string[] = []
  for (const name of packed.filter(each => each.endsWith('.md'))) {
    const text = (await readFile(join(installed, name), 'utf8')).replace(/^```.*?^```$/gms, '')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)) {
      const [path = ''] = link.split('#')
      if (path.startsWith(REPOSITORY)) {
        if (!existsSync(join(ROOT, path.slice(REPOSITORY.length)))) broken.push(`${name}: ${link}`)
      } else if (path !== '' && !/^(?:https?|mailto):/.test(path)) {
        const root = path.endsWith('.png') ? ROOT : installed
        if (!existsSync(join(root, dirname(name), path))) broken.push(`${name}: ${link}`)
      }
    }
  }
  expect(broken).toEqual([])
})

testWith(PUBLINT, 'publint finds nothing', async () => {
  expect(await run('node', [PUBLINT, '--strict', tarball])).toContain('All good!')
})

testWith(ATTW, 'attw finds nothing that is wrong with the types', async () => {
  const options = ['--profile', 'esm-only', '--format', 'json']
  const { analysis } = JSON.parse(await run('node', [ATTW, tarball, ...options]))
  const kinds: string[] = analysis.problems.map(({ kind, resolutionKind }: Problem) =>
    resolutionKind === 'node10' ? 'node10' : kind,
  )
  // What an ES module alone is: it is imported by CommonJS dynamically, and unknown to Node 10.
  expect(kinds.filter(kind => kind !== 'node10' && kind !== 'CJSResolvesToESM')).toEqual([])
})

interface Problem {
  readonly kind: string
  readonly resolutionKind?: string
}

/** What the package may take on a disk, with its dependencies but without zod, in bytes. */
const MAX_INSTALLED = 5_600_000

test('the installed size is within its limit', async () => {
  const seen = new Set<string>()
  async function sizeOf(name: string): Promise<number> {
    if (seen.has(name)) return 0
    seen.add(name)
    const home = join(project, 'node_modules', name)
    const { dependencies = {} } = await json<Partial<Manifest>>(join(home, 'package.json'))
    const own = await Promise.all(
      (await files(home)).map(async each => (await stat(join(home, each))).size),
    )
    let size = own.reduce((sum, each) => sum + each, 0)
    for (const each of Object.keys(dependencies)) size += await sizeOf(each)
    return size
  }
  const size = await sizeOf('rest-conventions')
  const script =
    "const from = performance.now(); await import('rest-conventions'); console.log(Math.round(performance.now() - from))"
  const time = (await run('node', ['--input-type=module', '-e', script])).trim()
  console.info(
    `Installed: ${(size / 1e6).toFixed(1)} MB with ${[...seen].join(', ')}; imported in ${time} ms`,
  )
  expect(size).toBeLessThan(MAX_INSTALLED)
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

test('the build imports only built files, and no type is any', async () => {
  const wrong: string[] = []
  for (const name of packed.filter(each => each.startsWith('dist/'))) {
    const text = await readFile(join(installed, name), 'utf8')
    if (/(?:from |import\()['"]\.[^'"]*\.ts['"]/.test(text))
      wrong.push(`${name} imports a .ts file`)
    const types = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^']*'|"[^"]*"/g, '')
    if (name.endsWith('.d.ts') && /\bany\b(?!: )/.test(types)) wrong.push(`${name} has a type any`)
  }
  expect(wrong).toEqual([])
})

const IMPORTS = `
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
`

const USE = `
const Car = z.object({ color: z.string(), price: z.int() })
const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore() })
const api = defineApi({ version: 1, collections: { cars } })
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

test('CommonJS can require it', async () => {
  const script = "console.log(typeof require('rest-conventions').defineCollection)"
  expect(await run('node', ['--no-warnings', '--input-type=commonjs', '-e', script])).toBe(
    'function\n',
  )
})

/** The twelve lines of the README, and more formats; the server says where it listens. */
const SERVED = `import { createServer } from 'node:http'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from 'rest-conventions'
const schema = z.object({ color: z.string(), price: z.int(), photo: blob().optional() })
const cars = defineCollection({
  name: 'cars',
  schema,
  store: memoryStore(),
  blobs: memoryBlobs(),
  actions: { stray: { on: 'collection', transaction: true, run: () => count().catch(({ name }) => ({ name })) } },
})
const api = defineApi({ version: 1, collections: [cars] })
const count = () => api.collection(cars).count()
`

/** Asks an api for what each runtime does in its own way: bodies of both kinds, files, times, other formats. */
async function use(ask: (path: string, init?: RequestInit) => Promise<Response>) {
  const form = new FormData()
  form.set('color', 'red')
  form.set('price', '3')
  form.set('photo', new Blob(['GIF89a'], { type: 'image/gif' }), 'a.gif')
  const made = await ask('/v1/cars', { method: 'POST', body: form })
  const { id, photo_url } = (await made.json()) as { id: string; photo_url: string }
  const patched = await ask(`/v1/cars/${id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', prefer: 'return=representation' },
    body: '{"price":4}',
  })
  const { price } = (await patched.json()) as { price: number }
  const photo = await ask(new URL(photo_url).pathname)
  const listed = await ask('/v1/cars.xml?fields=price')
  const missing = await ask('/v1/cars/0')
  const queried = await ask('/v1/cars', {
    method: 'QUERY',
    headers: { 'content-type': 'application/json' },
    body: '{"where":{"not":{"price":5}},"fields":"price"}',
  })
  // A call beside its own transaction is refused where the runtime can follow it.
  const strays: unknown[] = []
  for (let at = 0; at < 2; at++) {
    const answer = await ask('/v1/cars/stray', { method: 'POST' })
    strays.push(Object(await answer.json()).name)
  }
  const texts = [await photo.text(), await listed.text(), await queried.text()]
  return [made.status, price, ...texts, missing.status, ...strays]
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n<cars><car><price>4</price></car></cars>'
const USED = [201, 4, 'GIF89a', XML, '[{"price":4}]', 404, 'TypeError', 'TypeError']

/** Starts a program, and asks it at the address that it prints. */
async function useServer(command: string, words: readonly string[], address?: string) {
  const server = spawn(command, words, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>(resolve => server.once('exit', () => resolve()))
  try {
    const root =
      address ??
      (await new Promise<string>((resolve, reject) => {
        let printed = ''
        for (const stream of [server.stdout, server.stderr]) {
          stream.setEncoding('utf8').on('data', (text: string) => {
            printed += text
            const [, port] = /listening on (\d+)/.exec(printed) ?? []
            if (port) resolve(`http://127.0.0.1:${port}`)
          })
        }
        server.once('exit', () => reject(new Error(printed)))
      }))
    await until(root)
    return await use((path, init) => fetch(root + path, init))
  } finally {
    server.kill()
    await ended
  }
}

async function until(root: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return void (await fetch(root))
    } catch (error) {
      if (attempt > 100) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}

const LISTEN = `const server = createServer(api.handler).listen(0, '127.0.0.1')
server.once('listening', () => console.log('listening on ' + server.address().port))`

/** As anybody bundles for Node, with no option more. */
async function bundle(entry: string, outfile: string) {
  const options = { bundle: true, platform: 'node', format: 'esm', absWorkingDir: project } as const
  await build({ ...options, entryPoints: [entry], outfile: join(project, outfile) })
}

test('a plain bundle of esbuild serves, forms with files too', async () => {
  await write('serve.js', SERVED + LISTEN)
  await bundle('serve.js', 'bundle.mjs')
  expect(await useServer('node', ['bundle.mjs'])).toEqual(USED)
})

test('a page that imports an error or a property from the root gets no server', async () => {
  await write(
    'page.js',
    `import { blob, HttpError } from 'rest-conventions'
    console.log(blob, HttpError)`,
  )
  const { outputFiles } = await build({
    entryPoints: [join(project, 'page.js')],
    absWorkingDir: project,
    bundle: true,
    minify: true,
    format: 'esm',
    external: ['zod', 'node:*'],
    write: false,
  })
  expect(outputFiles[0]?.contents.length).toBeLessThan(5000)
})

for (const version of [22, 24, 26]) {
  testWith(join(RUNTIMES, `node${version}/bin/node`), `Node ${version} serves it`, async () => {
    await write('serve.js', SERVED + LISTEN)
    const node = join(RUNTIMES, `node${version}/bin/node`)
    expect(await useServer(node, ['serve.js'])).toEqual(USED)
  })
}

testWith(BUN, 'Bun serves it by node:http and by its own server', async () => {
  await write('serve.js', SERVED + LISTEN)
  expect(await useServer(BUN, ['serve.js'])).toEqual(USED)
  await write(
    'bun.js',
    `${SERVED}const { port } = Bun.serve({ port: 0, fetch: request => api.fetch(request) })
    console.log('listening on ' + port)`,
  )
  expect(await useServer(BUN, ['bun.js'])).toEqual(USED)
})

testWith(DENO, 'Deno serves it by node:http and by its own server', async () => {
  await write('serve.js', SERVED + LISTEN)
  const words = ['run', '--allow-net', '--allow-read', '--allow-env']
  expect(await useServer(DENO, [...words, 'serve.js'])).toEqual(USED)
  await write(
    'deno.js',
    `${SERVED}Deno.serve(
      { port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log('listening on ' + port) },
      request => api.fetch(request),
    )`,
  )
  expect(await useServer(DENO, [...words, 'deno.js'])).toEqual(USED)
})

testWith(WORKERD, 'workerd serves it', async () => {
  await write('worker.js', `${SERVED}export default { fetch: request => api.fetch(request) }`)
  await bundle('worker.js', 'worker.mjs')
  const port = await freePort()
  await write(
    'config.capnp',
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
);`,
  )
  const address = `http://127.0.0.1:${port}`
  expect(await useServer(WORKERD, ['serve', 'config.capnp'], address)).toEqual(USED)
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
export const alone: Collection = cars
export const stores: (() => Store)[] = [memoryStore]
export const names: string[] = storeCases(memoryStore).map(({ name }) => name)
export { sql }
export const store = memoryStore()
export const { collections } = api

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

// What a program infers has names in its own declarations.
export const calls = api.collection(cars)
export const read = () => calls.read('x')
export const page = () => calls.list({ color: 'red' }).page()
export const { patch, change } = calls
export const inside = () => api.transaction(async tx => tx.collection(cars).list().first())

export async function typed(): Promise<void> {
  const [first] = await api.collection(cars).list({ color: ['red'], limit: 5 }).toArray()
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
  // Every declaration is checked once; that takes most of the time.
  ['nodenext', 'nodenext', false],
  ['esnext', 'bundler', true],
])('TypeScript has its types: module %s, resolution %s', async (...[module, resolution, skip]) => {
  await write('typed.ts', TYPED)
  const options = {
    target: 'es2023',
    module,
    moduleResolution: resolution,
    skipLibCheck: skip,
    strict: true,
    exactOptionalPropertyTypes: true,
    declaration: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    types: ['node'],
  }
  expect(await compile(module, options, 'typed.ts')).toBe('')
})

test('declarations of an api with files compile in another project', async () => {
  await write(
    'files.ts',
    `import { blob, defineApi, defineCollection, memoryBlobs, memoryStore, withPrincipal } from 'rest-conventions'
    import { createClient } from 'rest-conventions/client'
    import { z } from 'zod'
    export const photo = blob()
    export const Photo = z.object({ comment: z.string(), photo: blob(), thumb: blob().nullable() })
    export const photos = defineCollection({
      name: 'photos', schema: Photo, store: memoryStore(), blobs: memoryBlobs(), search: ['comment'],
      actions: {
        act: { on: 'item', input: z.object({ offer: z.number() }), output: 'item', run: ({ update }) => update({}) },
        sum: { on: 'collection', output: z.object({ n: z.int() }), run: () => ({ n: 1 }) },
      },
    })
    export const api = defineApi({ collections: { photos }, batch: true })
    export const calls = api.collection(photos)
    export const first = () => calls.list({ fields: ['id', 'comment'], sort: 'comment' }).first()
    export const client = createClient<typeof api>('https://api.example')
    const remote = client.photos
    export const { create, read, replace, patch, change, list, count, search, act, sum, actions } = remote
    export const { delete: remove } = remote
    export const own = { ...calls }
    export const { collection, transaction, fetch, handler, asSystem } = api
    export const typed = withPrincipal<{ tenant: string }>()
    export const { defineCollection: define } = typed
    export const notes = define({
      name: 'notes',
      schema: z.object({ tenant: z.string() }),
      store: memoryStore(),
      visible: principal => principal && { tenant: principal.tenant },
    })
    export const noted = defineApi({ collections: { notes, photos } })
    export const readNote = noted.collection(notes).read
    `,
  )
  const options = {
    ...{ target: 'es2023', module: 'nodenext', strict: true, types: ['node'] },
    ...{ skipLibCheck: false, exactOptionalPropertyTypes: true },
  }
  // The consumer checks every declaration, these too.
  const emitted = { declaration: true, emitDeclarationOnly: true, outDir: 'emitted' }
  expect(
    await compile('declared', { ...options, ...emitted, skipLibCheck: true }, 'files.ts'),
  ).toBe('')
  expect(await readFile(join(project, 'emitted/files.d.ts'), 'utf8')).not.toMatch(
    /dist|node_modules/,
  )
  await write(
    'consumer.ts',
    `import { batch } from 'rest-conventions/client/batch'
    import { act, calls, client, count, create, first, list, own, transaction } from './emitted/files.js'
    const made = await create({ comment: 'x', photo: { data: '' }, thumb: null })
    const comment: string | undefined = (await first())?.comment
    // @ts-expect-error It is no any.
    made.colour
    // @ts-expect-error It is no any either.
    await calls.create({ comment, photo: 1, thumb: null })
    const [{ photo_url }] = await batch(client, steps => [steps.photos.read(made.id)])
    const address: string = photo_url
    // @ts-expect-error A misspelt filter.
    await count({ coment: address })
    // @ts-expect-error A property that fields leaves out.
    ;(await list({ fields: ['id'] }).first())?.comment
    // @ts-expect-error A misspelt input.
    await act(made, { ofer: 1 })
    await transaction(async tx => tx.collection('photos').patch(made.id, { comment: address }), { signal: AbortSignal.timeout(1) })
    // @ts-expect-error The stored file has a size, no address.
    ;(await own.read('x')).photo_url
    `,
  )
  expect(await compile('consumer', { ...options, noEmit: true }, 'consumer.ts')).toBe('')
})

/** Compiles a file; gives what the compiler prints. */
async function compile(name: string, compilerOptions: object, file: string): Promise<string> {
  const config = `tsconfig.${name}.json`
  await write(config, JSON.stringify({ compilerOptions, files: [file] }))
  const { bin } = await json<{ bin: { tsc: string } }>(
    join(project, 'node_modules/typescript/package.json'),
  )
  return run('node', [join('node_modules/typescript', bin.tsc), '-p', config])
}

test(
  'the command prints types that the client takes, on each Node',
  async () => {
    await write(
      'document.js',
      `${SERVED}import { writeFileSync } from 'node:fs'
    import { openApiDocument } from 'rest-conventions'
    writeFileSync('document.json', JSON.stringify(openApiDocument(api, { formats: ['json'] })))`,
    )
    await run('node', ['document.js'])
    const words = ['types', 'document.json']
    const text = await run('npx', ['--no', 'rest-conventions', ...words])
    await write('printed.ts', text)
    await write(
      'front-end.ts',
      `import { createClient } from 'rest-conventions/client'
    import type { Api, Car } from './printed.js'
    const client = createClient<Api>('https://api.example', { version: 1 })
    export const car: Car = await client.cars.create({ color: 'red', price: 1, photo: new Blob(['x']) })
    export const found = await client.cars.list({ price: { gte: 1 }, sort: '-price' }).first()
    // @ts-expect-error A misspelt property.
    await client.cars.patch(car, { prise: 2 })
    `,
    )
    const options = { target: 'es2023', module: 'nodenext', strict: true, noEmit: true }
    expect(await compile('front-end', { ...options, types: ['node'] }, 'front-end.ts')).toBe('')
    const nodes = [22, 24, 26].map(version => join(RUNTIMES, `node${version}/bin/node`))
    const main = join(installed, 'dist/cli/main.js')
    for (const node of [process.execPath, ...nodes.filter(existsSync)]) {
      expect(await run(node, [main, ...words])).toBe(text)
    }
  },
  2 * MINUTES,
)

test('a browser page has the types of the client without those of Node', async () => {
  await write('api.ts', `${IMPORTS}${USE}export { api }`)
  await write(
    'page.ts',
    `import { ConflictError, createClient } from 'rest-conventions/client'
    import type { api } from './api.js'
    const client = createClient<typeof api>('https://api.example')
    export async function raise(id: string): Promise<number> {
      const car = await client.cars.read(id)
      const { price } = await client.cars.patch(car, { price: car.price + 1 })
      // @ts-expect-error The schema has no such property.
      car.colour
      document.title = String(ConflictError)
      return price
    }`,
  )
  const options = {
    target: 'es2023',
    lib: ['es2023', 'dom'],
    module: 'esnext',
    moduleResolution: 'bundler',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  }
  expect(await compile('page', options, 'page.ts')).toBe('')
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
  // `npm ci` passes over the commands, and `npm install` would write them.
  const { bin } = await json<{ bin: object }>(join(ROOT, 'package.json'))
  expect(Object.keys(Object(lock.packages['']).bin)).toEqual(Object.keys(bin))
  const named = Object.entries(lock.packages).filter(([, { resolved }]) => resolved !== undefined)
  expect(named.map(([name]) => name)).toEqual([])
  expect(Object.keys(lock.packages).length).toBeGreaterThan(10)
})

/** The package of `npm create rest-conventions`, as it is packed. */
async function unpackCreate(): Promise<string> {
  const target = join(folder, 'create')
  await mkdir(target)
  await run('npm', ['pack', '--pack-destination', target], join(ROOT, 'create'))
  const [name = ''] = await readdir(target)
  await run('tar', ['-xzf', name], target)
  return join(target, 'package', 'index.js')
}

/** An empty folder, in which what `npm install` would bring is there already: the packed package, and others of this project. */
async function emptyProject(name: string): Promise<string> {
  const modules = join(folder, name, 'node_modules')
  await mkdir(join(modules, '@types'), { recursive: true })
  for (const each of ['rest-conventions', 'kysely', 'zod', 'typescript', '@types/node'])
    await symlink(join(project, 'node_modules', each), join(modules, each))
  for (const each of ['libsql', 'pg', 'tsx', '@types/pg', '.bin'])
    await symlink(join(ROOT, 'node_modules', each), join(modules, each))
  return join(folder, name)
}

test(
  'npm create rest-conventions writes a project that compiles, passes its test and starts',
  async () => {
    const create = await unpackCreate()
    const database = join(folder, 'shop.db')
    // In another process: a driver belongs to one thread.
    const statement = 'create table cars (id integer primary key, name text not null)'
    const script = `new (require('libsql'))('${database}').exec('${statement}')`
    await run('node', ['-e', script], ROOT)
    const KINDS = { plain: [], postgres: ['--pg'], pulled: ['--from', database] }
    const common = [
      '.dockerignore',
      '.gitignore',
      'Dockerfile',
      'README.md',
      'api.test.ts',
      'api.ts',
      'node_modules',
    ]
    const others = ['package.json', 'server.ts', 'tsconfig.json']
    for (const [kind, words] of Object.entries(KINDS)) {
      const own = await emptyProject(kind)
      const printed = await run('node', [create, kind, ...words], folder)
      expect(printed).toContain('Everybody may write to this API: add schemes')
      const pulled = kind === 'pulled' ? ['collections.ts'] : []
      expect((await readdir(own)).sort()).toEqual([...common, ...pulled, ...others].sort())
      expect(await readFile(join(own, 'server.ts'), 'utf8')).toContain(
        'everybody may write: add schemes',
      )
      await run('npm', ['run', 'check'], own)
      if (kind !== 'postgres') expect(await run('npm', ['test'], own)).toMatch(/^# fail 0$/m)
      await expect(run('node', [create, kind, ...words], folder)).rejects.toThrow(
        'already. Choose another folder.',
      )
    }
    await emptyProject('unread')
    const lost = `postgres://ann:secret@127.0.0.1:${await freePort()}/shop`
    const failed = await run('node', [create, 'unread', '--from', lost], folder).catch(String)
    expect(failed).toContain('Created unread without its collections.')
    // Once, in the command of this test.
    expect(failed.split('secret')).toHaveLength(2)
    const port = await freePort()
    const started = spawn('node', ['--import', 'tsx', 'server.ts'], {
      cwd: join(folder, 'plain'),
      env: { ...process.env, PORT: String(port), DATABASE: ':memory:' },
    })
    try {
      const [first] = await once(started.stdout, 'data')
      expect(String(first)).toMatch(/is ready\. Everybody may write: add schemes to api\.ts\./)
      const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'text/html' } })
      expect(await page.text()).toContain('notes')
    } finally {
      started.kill()
    }
  },
  2 * MINUTES,
)

test('npm create rest-conventions says what is wrong, and writes nothing', async () => {
  const create = join(ROOT, 'create', 'index.js')
  for (const [words, why] of [
    [[], 'Usage: npm create rest-conventions'],
    [['one', 'two'], 'Usage: npm create rest-conventions'],
    [['--what'], "Unknown option '--what'"],
    [['one', '--from', 'none.db'], 'There is no file none.db.'],
  ] as const)
    await expect(run('node', [create, ...words], folder)).rejects.toThrow(why)
  expect(existsSync(join(folder, 'one'))).toBe(false)
})
