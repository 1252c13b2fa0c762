// Every TypeScript block of the README and of docs/ runs, every curl gives the answer that stands below it, and
// every link leads somewhere.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle } from './bundle.ts'
import { freePort } from './free-port.ts'
import { anchorsOf, type Block, blocksOf, curlsOf, masked, partsOf } from './markdown.ts'
import { sourceFiles } from './source.ts'
import { postgres, usePostgres } from './stores/postgres.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const readme = await readFile(join(root, 'README.md'), 'utf8')

const DOCS = (await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md')).sort()

const documents: readonly (readonly [path: string, text: string])[] = [
  ['README.md', readme],
  ...(await Promise.all(
    DOCS.map(async name => {
      const path = `docs/${name}`
      return [path, await readFile(join(root, path), 'utf8')] as const
    }),
  )),
]

/** What the examples of these files begin with; all others stand alone. */
const PREAMBLES: Readonly<Record<string, string>> = {
  'model/types/resource.ts': `
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
import { z } from 'zod'
const schema = z.object({ color: z.string(), price: z.number(), plate: z.string().optional(), deleted_at: z.iso.datetime().optional() })
const declared = defineCollection({
  name: 'cars', schema, store: memoryStore(), search: ['color'], groups: ['color'], unique: ['plate'], trash: 'deleted_at',
  actions: { paint: { on: 'item', input: schema.pick({ color: true }), run: ({ input, update }) => update(input) } },
})
const api = defineApi({ collections: { cars: declared } })
const cars = api.collection('cars')
const car = await cars.create({ color: 'red', price: 10 })
`,
  'store/store.ts': `
import { defineCollection, memoryStore } from 'rest-conventions'
import { z } from 'zod'
const store = memoryStore()
const { shape } = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store, id: 'integer' })
const made = await store.write([{ create: { color: 'red' } }])
const [red = { id: 1, item: {}, version: '' }] = made ?? []
const all = { where: [], sort: [{ path: ['id'], descending: false }] }
`,
  'store/program-store.ts': `
import { defineCollection, memoryStore } from 'rest-conventions'
import { z } from 'zod'
const store = memoryStore()
const schema = z.object({ taken_until: z.iso.datetime().optional() })
defineCollection({ name: 'mails', schema, store, lease: 'taken_until' })
`,
  'sql/create-tables.ts': `
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { defineApi, defineCollection } from 'rest-conventions'
import { createTablesSql, sqlStore } from 'rest-conventions/sql'
import { z } from 'zod'
const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new Database(':memory:') }) })
const schema = z.object({ color: z.string() })
const cars = defineCollection({ name: 'cars', schema, store: sqlStore({ db, table: 'cars' }) })
const api = defineApi({ collections: [cars] })
`,
}

const sources = sourceFiles()

const examples = sources.flatMap(({ path, text }) =>
  examplesOf(text).map(example => ({
    language: 'ts',
    text: `${PREAMBLES[path] ?? ''}${example}\n`,
    heading: `src/${path} ${example.split('\n').at(-1)}`,
  })),
)

const blocks = [
  ...documents
    // test/examples/clinic.test.ts runs those of one program.
    .filter(([path]) => path !== 'docs/many-tenants.md')
    .flatMap(([path, text]) =>
      blocksOf(text).map(block => ({ ...block, heading: `${path} ${block.heading}` })),
    ),
  ...examples,
]

/** The examples of docstrings. */
function examplesOf(source: string): string[] {
  return [...source.matchAll(/^ *\/\*\*\n[\s\S]*?\*\/$/gm)].flatMap(([docstring]) => {
    const text = docstring.replace(/^ *(?:\/\*\*| \*\/| \* ?)/gm, '')
    return [...text.matchAll(/@example\s([\s\S]*?)(?=\n@|$(?![\s\S]))/g)].map(([, code = '']) =>
      code.trim(),
    )
  })
}

usePostgres()

let folder: string

beforeAll(async () => {
  // Inside the project, so that its packages are found.
  folder = await mkdtemp(join(root, 'node_modules', '.readme-'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function fileOf(block: Block): Promise<string> {
  const text = block.text.replace('.listen(3000', '.listen(Number(process.env.PORT)')
  // Other blocks import these by their names.
  const named = { 'file-store': 'function fileStore(', api: 'export function createApi(' }
  const [name = blocks.indexOf(block)] =
    Object.entries(named).find(([, text]) => block.text.includes(text)) ?? []
  const file = join(folder, `${name}.${block.language}`)
  await writeFile(file, text)
  return file
}

const END = '\n--- end of block ---\n'

/** A program that imports files, one after another, and prints what each of them printed. */
const programOf = (files: readonly string[]) => `
import { format } from 'node:util'
const end = ${JSON.stringify(END)}
let printed: string[] = []
console.log = console.error = console.warn = (...words: unknown[]) => void printed.push(format(...words))
for (const load of [${files.map(file => `() => import('${file}')`)}]) {
  printed = []
  const error = await load().then(() => undefined, error => String(error?.stack ?? error))
  process.stdout.write(JSON.stringify({ printed, error }) + end)
}
process.exit()
`

const typed = blocks.filter(({ language }) => language === 'ts')

/** Blocks that serve, and the curls with their answers below them. */
const serving = typed.filter(({ text }) => text.includes('.listen(3000'))

describe('the TypeScript blocks run', () => {
  // test/write-a-store.test.ts and test/testing-page.test.ts run those for vitest.
  const finite = typed.filter(
    block => !serving.includes(block) && !/from 'vitest'/.test(block.text),
  )
  const outputs = new Map<Block, { readonly printed: string[]; readonly error?: string }>()

  beforeAll(async () => {
    const files = await Promise.all(finite.map(fileOf))
    const runner = join(folder, 'run.ts')
    await writeFile(runner, programOf(files))
    const env = {
      ...process.env,
      DATABASE_URL: postgres().url,
    }
    // All in one process: to start one for each would take most of the time.
    const { stdout } = await run(process.execPath, [bundle(runner)], { cwd: folder, env })
    for (const [at, text] of stdout.split(END).slice(0, -1).entries()) {
      const block = finite[at]
      if (block) outputs.set(block, JSON.parse(text))
    }
  })

  it.each(finite.map((block, at) => [`${at + 1}: ${block.heading}`, block] as const))(
    '%s',
    (_title, block) => {
      const output = outputs.get(block)
      expect(output?.error).toBe(undefined)
      // What its last line says that it prints, or what the SQL below it is.
      const [, shown] = /\nconsole\.log\(.*\) \/\/ (.*)\n$/.exec(block.text) ?? []
      const next = blocks[blocks.indexOf(block) + 1]
      const printed = next?.language === 'sql' ? next.text.trimEnd() : shown
      if (printed !== undefined) expect(output?.printed.at(-1)).toBe(printed)
      else expect(output).toBeDefined()
    },
  )
})

/** Node 22, which has what the JavaScript blocks import: of its own, or of packages that need it. */
const NODE22 = join(root, 'test/client/runtimes/node_modules/node22/bin/node')
const PACKAGES = join(root, 'test/stores/databases')

it.skipIf(!existsSync(NODE22) || !existsSync(join(PACKAGES, 'node_modules')))(
  'the JavaScript blocks run in Node 22',
  async () => {
    const javascript = blocks.filter(({ language }) => language === 'js')
    const headings = ['docs/databases.md ## SQLite', 'docs/databases.md ### Without a server']
    expect(javascript.map(({ heading }) => heading)).toEqual(headings)
    for (const block of javascript) {
      // A timer of PGlite would keep the process for ten seconds.
      const ending = { ...block, text: `${block.text}process.exit()\n` }
      await run(NODE22, [bundle(await fileOf(ending), PACKAGES)])
    }
  },
)

it('the TypeScript blocks compile', async () => {
  await Promise.all(typed.map(fileOf))
  const config = {
    extends: join(root, 'tsconfig.json'),
    include: ['*.ts'],
    compilerOptions: { noUnusedLocals: false, rewriteRelativeImportExtensions: false },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const { stdout } = await run(tsc, ['-p', folder]).catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
})

/** Runs a command of a document with another port. */
async function runCurl(command: string, port: number, options = '-sS'): Promise<string> {
  const own = command.replace('curl ', `curl ${options} `).replaceAll(':3000', `:${port}`)
  return (await run('bash', ['-c', own], { cwd: folder })).stdout
}

/** Runs a program that serves at `PORT` while the work is done. */
async function serveWhile(
  [file = '', ...words]: readonly string[],
  work: (port: number) => Promise<void>,
) {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port) }
  const server = spawn(process.execPath, [bundle(file), ...words], { cwd: root, env })
  try {
    await listening(port)
    await work(port)
  } finally {
    server.kill()
    await once(server, 'exit')
  }
}

describe.concurrent('the curls give the answers that stand below them', () => {
  it.for(
    serving.flatMap(block => {
      const answers = blocks[blocks.indexOf(block) + 1]
      return answers?.language === 'console' ? [[block.heading, block, answers.text] as const] : []
    }),
  )('%s', async ([_title, block, text], { expect }) => {
    await serveWhile([await fileOf(block)], async port => {
      for (const { command, answer } of curlsOf(text)) {
        const output = await runCurl(command, port)
        const [actual, shown] = [partsOf(masked(output)), partsOf(masked(answer))]
        expect(actual.body).toBe(shown.body)
        expect(actual.head).toEqual(expect.arrayContaining(shown.head))
      }
    })
  })
})

it('the other curls give their answers from the example server', async () => {
  const answered = new Set(serving.map(block => blocks[blocks.indexOf(block) + 1]))
  const others = blocks.filter(
    block =>
      block.language === 'console' &&
      !answered.has(block) &&
      // test/examples/auth-walk.test.ts runs them.
      !block.heading.startsWith('docs/auth.md'),
  )
  const curls = others.flatMap(({ text }) => curlsOf(text))
  const example = [
    join(root, 'examples/server.ts'),
    '--database',
    ':memory:',
    '--blobs',
    ':memory:',
  ]
  await serveWhile(example, async port => {
    for (const { command, answer } of curls) {
      const output = await runCurl(command, port, '-sSf')
      if (answer !== '') expect(masked(output).trimEnd()).toBe(masked(answer))
    }
  })
  expect(curls.length).toBeGreaterThan(4)
})

/** Resolves when something answers on the port. */
async function listening(port: number): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const found = await fetch(`http://localhost:${port}/`).then(
      () => true,
      () => false,
    )
    if (found) return
    if (attempt > 200) throw new Error(`Nothing listens on ${port}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

describe('every link leads somewhere', () => {
  const anchors = new Map(documents.map(([path, text]) => [path, anchorsOf(text)]))
  it.each(documents)('%s', async (path, text) => {
    const lost: string[] = []
    for (const [, link = ''] of text
      .replace(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) {
        // Our own files on GitHub are those of this folder.
        const [, own] =
          /^https:\/\/github\.com\/rest-conventions\/rest-conventions\/blob\/main\/([^#]+)/.exec(
            link,
          ) ?? []
        if (own !== undefined && !existsSync(join(root, own))) lost.push(link)
        continue
      }
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : posix.join(posix.dirname(path), file)
      if (!existsSync(join(root, target))) lost.push(link)
      else if (anchor !== undefined && anchors.get(target)?.has(anchor) === false) lost.push(link)
    }
    expect(lost).toEqual([])
  })
})

it('every public function that begins a project, and every method of Resource and Store, has an example', () => {
  const shown = examples.map(({ text }) => text).join('\n')
  const methods = (path: string, name: string) => {
    const source = sources.find(file => file.path === path)?.text ?? ''
    const [, body = ''] =
      new RegExp(`export interface ${name}\\b[^{]*{([\\s\\S]*?)\\n}`).exec(source) ?? []
    return [...body.matchAll(/^ {2}(\w+)\??[(<]/gm)].map(([, method]) => method)
  }
  const wanted = [
    ...[
      'defineCollection',
      'defineApi',
      'memoryStore',
      'sqlStore',
      'blob',
      'fileBlobs',
      'bearerJwt',
      'basic',
    ],
    ...['harden', 'openApiDocument', 'createClient', 'storeCases'],
    ...methods('model/types/resource.ts', 'OperationsOf').map(name => `cars.${name}`),
    ...methods('model/types/resource.ts', 'SearchOf').map(name => `cars.${name}`),
    ...methods('store/store.ts', 'Store').map(name => `store.${name}`),
  ]
  expect(wanted.length).toBeGreaterThan(30)
  expect(wanted.filter(name => !new RegExp(`\\b${name}[?.]*[(<]`).test(shown))).toEqual([])
})

/** The options of an interface, as they stand in the source. */
function optionsOf(path: string, name: string): string[] {
  const text = sources.find(file => file.path === path)?.text ?? ''
  const [, body = ''] =
    new RegExp(`(?:interface|type) ${name}\\b([\\s\\S]*?)\\n[)}]`).exec(text) ?? []
  return [...body.matchAll(/^ *(?:readonly )?(\w+)\??[:(]/gm)].map(([, option = '']) => option)
}

it.each([
  [
    'docs/collections.md',
    'model/types/collection-options.ts',
    ['PlainOptions', 'CollectionOptions'],
  ],
  ['docs/api.md', 'model/types/policies.ts', ['Policies']],
] as const)('the table of %s has every option', (document, path, names) => {
  const [, text = ''] = documents.find(([name]) => name === document) ?? []
  const [, table = ''] = /\n## All options\n([\s\S]*?)\n(?!\|)\w/.exec(text) ?? []
  const options = names.flatMap(name => optionsOf(path, name))
  expect(options.length).toBeGreaterThan(15)
  expect(options.filter(option => !table.includes(`\`${option}\``))).toEqual([])
})

it('the set-up is two commands, of which contributors find one again', async () => {
  const commands = [...readme.matchAll(/^ {4}(npm .*)$/gm)].map(([, command]) => command)
  expect(commands).toEqual(['npm install && npm start', 'npm install && npm test'])
  const contributing = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8')
  expect(contributing).toContain('\nnpm install && npm test\n')
})

it('the table of one request names every status that the source can answer, and no other', async () => {
  const architecture = await readFile(join(root, 'docs', 'architecture.md'), 'utf8')
  const [, table = ''] = /\n## One request\n([\s\S]*?)\n## /.exec(architecture) ?? []
  const named = new Set([...table.matchAll(/\b[345]\d\d\b/g)].map(([status]) => Number(status)))
  const thrown = new Set([304, 500])
  for (const name of await readdir(join(root, 'src'), { recursive: true })) {
    if (!name.endsWith('.ts')) continue
    const source = await readFile(join(root, 'src', name), 'utf8')
    for (const [, status] of source.matchAll(
      /(?:new HttpError\(|status[:=] ?|refuse\([^)]*?, )\s*([45]\d\d)\b/g,
    )) {
      thrown.add(Number(status))
    }
  }
  expect([...named].sort()).toEqual([...thrown].sort())
})
