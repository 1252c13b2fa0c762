// Every TypeScript block of the README and of docs/ runs, every curl gives the answer that stands below it, and
// every link leads somewhere.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from './free-port.ts'
import { anchorsOf, type Block, blocksOf, curlsOf, masked, partsOf } from './markdown.ts'
import { sourceFiles } from './source.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const readme = await readFile(join(root, 'README.md'), 'utf8')

/** The project's own names, as they stand in the source. */
const SOURCES: Readonly<Record<string, string>> = {
  'rest-conventions': 'src/index.ts',
  'rest-conventions/client': 'src/client/client.ts',
  'rest-conventions/rules': 'src/rules/index.ts',
  'rest-conventions/html': 'src/html/html.ts',
  'rest-conventions/dialects': 'src/dialects/dialects.ts',
  'rest-conventions/node': 'src/node/node.ts',
  'rest-conventions/sql': 'src/sql/sql-store.ts',
  'rest-conventions/s3': 'src/s3/s3-blobs.ts',
  'rest-conventions/store': 'src/store-authors/index.ts',
  'rest-conventions/testing': 'src/testing/store-cases.ts',
}

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
  'model/resource.ts': `
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
import { z } from 'zod'
const schema = z.object({ color: z.string(), price: z.number() })
const declared = defineCollection({
  name: 'cars', schema, store: memoryStore(), search: ['color'],
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
const { definition: { shape } } = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store, id: 'integer' })
const red = await store.create({ color: 'red' })
const all = { where: [], sort: [{ path: ['id'], descending: false }] }
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
  ...documents.flatMap(([path, text]) =>
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

let folder: string

beforeAll(async () => {
  // Inside the project, so that its packages are found.
  folder = await mkdtemp(join(root, 'node_modules', '.readme-'))
})

afterAll(() => rm(folder, { recursive: true }))

async function fileOf(block: Block): Promise<string> {
  const text = block.text.replace(/from '(rest-conventions[^']*)'/g, (_all, name: string) => {
    expect(SOURCES).toHaveProperty([name])
    return `from '${join(root, SOURCES[name] ?? '')}'`
  })
  const file = join(folder, `block-${blocks.indexOf(block)}.mts`)
  await writeFile(file, text.replace('.listen(3000', '.listen(Number(process.env.PORT)'))
  return file
}

const NODE = ['--import', 'tsx']

const END = '\n--- end of block ---\n'

/** Imports the files of its command line, one after another, and prints what each of them printed. */
const RUN = `
import { format } from 'node:util'
const end = ${JSON.stringify(END)}
let printed: string[] = []
console.log = console.error = console.warn = (...words: unknown[]) => void printed.push(format(...words))
for (const file of process.argv.slice(2)) {
  printed = []
  const error = await import(file).then(() => undefined, error => String(error?.stack ?? error))
  process.stdout.write(JSON.stringify({ printed, error }) + end)
}
process.exit()
`

describe('the TypeScript blocks run', () => {
  const finite = blocks.filter(
    ({ language, text }) => language === 'ts' && !text.includes('.listen(3000'),
  )
  const outputs = new Map<Block, { readonly printed: string[]; readonly error?: string }>()

  beforeAll(async () => {
    const files = await Promise.all(finite.map(fileOf))
    const runner = join(folder, 'run.mts')
    await writeFile(runner, RUN)
    // All in one process: to start one for each would take most of the time.
    const { stdout } = await run(process.execPath, [...NODE, runner, ...files], { cwd: root })
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
      // What its last line says that it prints.
      const [, printed] = /\nconsole\.log\(.*\) \/\/ (.*)\n$/.exec(block.text) ?? []
      if (printed !== undefined) expect(output?.printed.at(-1)).toBe(printed)
      else expect(output).toBeDefined()
    },
  )
})

it('the TypeScript blocks have the types that they say', async () => {
  for (const block of blocks) if (block.language === 'ts') await fileOf(block)
  const config = {
    extends: join(root, 'tsconfig.json'),
    include: ['*.mts'],
    compilerOptions: { noUnusedLocals: false, rewriteRelativeImportExtensions: false },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const { stdout } = await run(tsc, ['-p', folder]).catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
})

describe('the curls give the answers that stand below them', () => {
  it.each(
    blocks.flatMap((block, at) => {
      const answers = blocks[at + 1]
      return block.text.includes('.listen(3000') && answers?.language === 'console'
        ? [[block.heading, block, answers] as const]
        : []
    }),
  )('%s', async (_title, block, { text }) => {
    const PORT = String(await freePort())
    const server = spawn(process.execPath, [...NODE, await fileOf(block)], {
      cwd: root,
      env: { ...process.env, PORT },
    })
    try {
      await listening(Number(PORT))
      for (const { command, answer } of curlsOf(text)) {
        const { stdout } = await run('bash', [
          '-c',
          command.replace('curl ', 'curl -sS ').replaceAll(':3000', `:${PORT}`),
        ])
        const [given, shown] = [partsOf(masked(stdout)), partsOf(masked(answer))]
        expect(given.body).toBe(shown.body)
        expect(given.head).toEqual(expect.arrayContaining(shown.head))
      }
    } finally {
      server.kill()
      await once(server, 'exit')
    }
  })
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
    ...methods('model/resource.ts', 'Resource').map(name => `cars.${name}`),
    ...methods('store/store.ts', 'Store').map(name => `store.${name}`),
  ]
  expect(wanted.length).toBeGreaterThan(30)
  expect(wanted.filter(name => !new RegExp(`\\b${name}[?.]*[(<]`).test(shown))).toEqual([])
})

it('names both commands of the set-up, and only those', () => {
  const commands = [...readme.matchAll(/^ {4}(npm .*)$/gm)].map(([, command]) => command)
  expect(commands).toEqual(['npm install && npm start', 'npm install && npm test'])
})

const conformance = await readFile(join(root, 'docs', 'conformance.md'), 'utf8')

/** The rows of docs/conformance.md: a line of the specification, and the test that shows it. */
function namedTests(): (readonly [string, string, string])[] {
  return [...conformance.matchAll(/^\| (.+?) \|.*\| `(test\/[\w/.-]+)`: (.+?) \|$/gm)].map(
    ([, row = '', file = '', name = '']) => [row, file, name] as const,
  )
}

describe('each row of docs/conformance.md names the test that shows it', () => {
  it('in every row', () => {
    const rows = conformance.match(/^\| (?!specification|---)/gm) ?? []
    expect(namedTests()).toHaveLength(rows.length)
    expect(rows.length).toBeGreaterThan(30)
  })

  it.each(namedTests())('%s', async (_row, file, name) => {
    const source = await readFile(join(root, file), 'utf8')
    expect(source.includes(name), `${file}: ${name}`).toBe(true)
  })
})

it('the table of one request names every status that the source can refuse with, and no other', async () => {
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
