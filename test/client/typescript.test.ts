// The types with TypeScript 5.8, 5.9 and 7: under which settings they compile, and what editors say, show and offer.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { declaredPaths, TSC, writeDeclarations } from '../emitted.ts'
import { type Editor, openEditor } from '../language-server.ts'

const ROOT = join(import.meta.dirname, '../..')
const TOOLS = join(ROOT, 'test/package-tools')
const VERSIONS = ['typescript58', 'typescript59'] as const
const missing = VERSIONS.some(name => !existsSync(join(TOOLS, 'node_modules', name)))
if (missing)
  console.warn('Skipped: TypeScript 5 is not installed. Run npm ci --prefix test/package-tools')
const MINUTES = 60_000

/** Under any of these settings a front end compiles that uses all of the client. */
const SETTINGS = ['nodenext', 'node16', 'bundler'].flatMap(moduleResolution =>
  [
    { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    { strict: true, exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false },
    { strict: false, exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false },
  ].map(strictness => ({
    module: moduleResolution === 'bundler' ? 'esnext' : moduleResolution,
    moduleResolution,
    ...strictness,
  })),
)

const PROGRAM = `import { defineApi, defineCollection, memoryBlobs, memoryStore, blob } from 'rest-conventions'
import { createClient, type DescribedCollection } from 'rest-conventions/client'
import { batch } from 'rest-conventions/client/batch'
import { download, exportList, withProgress } from 'rest-conventions/client/files'
import { beginEdit, fieldErrors } from 'rest-conventions/client/forms'
import { createQueries } from 'rest-conventions/query'
import { z } from 'zod'

const makers = defineCollection({ name: 'makers', schema: z.object({ name: z.string(), country: z.string() }), store: memoryStore(), id: 'integer' })
const models = defineCollection({
  name: 'models',
  schema: z.object({ name: z.string(), maker_id: z.int() }),
  store: memoryStore(),
  id: 'integer',
  parents: { maker_id: { collection: 'makers', onDelete: 'cascade' } },
})
const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    plate: z.string(),
    color: z.enum(['red', 'blue']).default('red'),
    price: z.int(),
    sold: z.boolean().default(false),
    note: z.string().optional(),
    tags: z.array(z.string()).default([]),
    size: z.object({ length: z.int(), width: z.int().optional() }),
    model_id: z.int().nullable(),
  }),
  store: memoryStore(),
  id: 'integer',
  groups: ['color'],
  references: { model_id: { collection: 'models', as: 'kind' } },
  fields: { price: { write: ['sell'] }, note: { read: ['sell'] } },
  actions: {
    buy: { on: 'item', input: z.object({ offer: z.int() }), output: 'item', run: ({ update }) => update({ sold: true }) },
  },
})
const options = defineCollection({
  name: 'options',
  schema: z.object({ car_id: z.int(), label: z.string(), photo: blob() }),
  store: memoryStore(),
  blobs: memoryBlobs(),
  parents: { car_id: 'cars' },
})
export const api = defineApi({ collections: { cars, makers, models, options }, batch: true })
const client = createClient<typeof api>('https://api.example')
const q = createQueries(client, { key: 'shop' })
interface Described { collections: { notes: DescribedCollection<{ name: 'notes'; item: { id: string; text: string }; input: { text: string } }> } }
const notes = createClient<Described>('https://notes.example', { retries: 1 })

const NEW = { plate: 'x', price: 1, size: { length: 3 }, model_id: null }
export async function use() {
  const car = await client.cars.create(NEW)
  const many = await client.cars.create([NEW])
  const changed = await client.cars.patch(car, { price: many.length })
  const [first] = await client.cars.list({ include: ['kind.maker', 'options(2)'], color: 'red', kind: { name: 'Clio' } }).toArray()
  const part = await client.cars.list({ fields: ['id', 'size.length'], sort: '-price' }).first()
  const groups = await client.cars.count({ by: 'color', sum: 'price' })
  const made = await withProgress(client, ({ loaded }) => console.log(loaded)).options.create({ car_id: 1, label: 'x', photo: new Blob(['x']) })
  const edit = beginEdit(changed)
  const [step] = await batch(client, steps => [steps.cars.create(NEW)])
  const { form } = fieldErrors(new Error())
  const csv = await exportList(client, 'cars', { color: 'red', fields: ['price'] })
  await download(client, made.photo_url)
  const note = await notes.notes.create({ text: 'x' })
  const query = q.cars.list({ include: ['kind'] }).queryOptions()
  const mutation = q.cars.patch.mutationOptions()
  return [
    first?.kind?.maker?.country.length, first?.options.map(({ label }) => label.length), part?.size.length.toFixed(),
    groups[0]?.color.length, groups[0]?.count.toFixed(), client.cars.patch(edit.item, edit.changes({ price: 2 })), step.price.toFixed(),
    form.length, csv.status, note.text.length, query.queryKey.length, mutation.mutationKey.length,
    (await client.cars.buy(car, { offer: 1 })).sold, changed.note?.length,
  ]
}
`

/** The same program with what a programmer gets wrong, and asks for. */
const WRONG = `${PROGRAM.replaceAll('export ', '')}export const used = [api, use]
export const item = await client.cars.read(7)
export const included = await client.cars.list({ include: ['kind.maker', 'options'] }).first()
export const kind = included?.kind
client.cars.list({ prise: 1 })
client.cars.list({ sort: 'prise' })
client.cars.list({ color: 'pink' })
client.cars.list({ include: ['knd'] })
client.cars.list({ fields: ['prise'] })
client.cars.patch(7, { prise: 1 })
client.models.count({ prise: 1 })
client.cars.create({ plate: 'x', price: 1, size: { length: 1 } })
client.cars.create({ plate: 'x', price: 1, size: { length: 1 }, model_id: null, colour: 'red' })
client.cars.create({ plate: 'x', price: '1', size: { length: 1 }, model_id: null })
`

/** The errors: what each says, and the most characters that it has. */
const ERRORS: readonly (readonly [line: string, word: string, most: number])[] = [
  ['client.cars.list({ prise: 1 })', "'prise'", 700],
  ["client.cars.list({ sort: 'prise' })", '"price"', 700],
  ["client.cars.list({ color: 'pink' })", '"pink"', 700],
  ["client.cars.list({ include: ['knd'] })", '"kind"', 300],
  ["client.cars.list({ fields: ['prise'] })", '"price"', 700],
  ['client.cars.patch(7, { prise: 1 })', "'prise'", 700],
  ['client.models.count({ prise: 1 })', "'prise'", 700],
  [
    "client.cars.create({ plate: 'x', price: 1, size: { length: 1 } })",
    "'model_id' is missing",
    700,
  ],
  [
    "client.cars.create({ plate: 'x', price: 1, size: { length: 1 }, model_id: null, colour: 'red' })",
    "'colour'",
    700,
  ],
  [
    "client.cars.create({ plate: 'x', price: '1', size: { length: 1 }, model_id: null })",
    "'number'",
    700,
  ],
]
const HOVERS = ['const |item', 'const |included', 'const |kind']
const COMPLETIONS: readonly (readonly [place: string, names: readonly string[]])[] = [
  [
    'client.cars.list({| prise: 1 })',
    ['include', 'fields', 'sort', 'limit', 'color', 'kind', 'options'],
  ],
  ["client.cars.list({ include: ['|knd'] })", ['kind', 'options']],
  ["client.cars.list({ sort: '|prise' })", ['price', '-price']],
  ["client.cars.list({ fields: ['|prise'] })", ['price', 'size.length']],
]
/** Names of types that mean nothing to a reader. */
const INTERNAL = /Made<|Zod|Included|Related|Remote|DefItem/

interface Said {
  readonly errors: readonly (readonly [line: string, message: string])[]
  readonly hovers: readonly string[]
  readonly completions: readonly (readonly string[])[]
  readonly compiled: readonly (readonly string[])[]
}

describe.skipIf(missing)('the types', { timeout: 4 * MINUTES }, () => {
  let folder: string
  let types: string
  let compilerOptions: Readonly<Record<string, unknown>>
  const run = promisify(execFile)

  /** Makes a project of files in a folder of its own. */
  async function makeProject(files: Readonly<Record<string, string>>): Promise<string> {
    const project = await mkdtemp(join(folder, 'project-'))
    await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'))
    const config = {
      compilerOptions,
      files: Object.keys(files).filter(name => name.endsWith('.ts')),
    }
    const all = {
      ...files,
      'package.json': '{"type":"module"}',
      'tsconfig.json': JSON.stringify(config),
    }
    for (const [name, text] of Object.entries(all)) await writeFile(join(project, name), text)
    return project
  }

  const tsc = (program: string, ...words: readonly string[]) =>
    run(process.execPath, [program, ...words]).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rest-conventions-typescript-'))
    types = join(folder, 'types')
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await writeDeclarations(types)
    compilerOptions = {
      target: 'es2022',
      lib: ['es2024'],
      module: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ['node'],
      paths: await declaredPaths(types),
    }
  }, 2 * MINUTES)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(VERSIONS)('%s: settings, short messages, plain hovers, completions', async name => {
    const hovers = HOVERS
    const completions = COMPLETIONS.map(([place]) => place)
    const project = await makeProject({ 'program.ts': WRONG })
    const ask = { hovers, completions, settings: [] }
    await writeFile(join(project, 'ask.json'), JSON.stringify(ask))
    const script = join(TOOLS, 'typescript.js')
    const said: Said = JSON.parse((await run(process.execPath, [script, name, project])).stdout)
    const messages = new Map(said.errors)
    expect([...messages.keys()]).toEqual(ERRORS.map(([line]) => line))
    for (const [line, word, most] of ERRORS) {
      expect(messages.get(line)).toContain(word)
      expect([line, messages.get(line)?.length]).toSatisfy(([, length]) => length <= most)
    }
    expect(said.hovers.filter(text => INTERNAL.test(text) || text.length > 900)).toEqual([])
    // 5.8 cuts long types in hovers.
    if (name !== 'typescript58')
      expect(said.hovers[1]).toMatch(/readonly kind:[\s\S]*country: string[\s\S]*readonly options:/)
    for (const [at, [place, names]] of COMPLETIONS.entries())
      expect([place, said.completions[at]]).toEqual([place, expect.arrayContaining([...names])])

    const good = await makeProject({ 'program.ts': PROGRAM })
    // TypeScript 7 compiles all nine. The older ones take each resolution and each strictness once, in other pairs.
    const turn = VERSIONS.indexOf(name)
    const tried = SETTINGS.filter((_, at) => at % 3 === (Math.floor(at / 3) + turn) % 3)
    const settings = JSON.stringify({ hovers: [], completions: [], settings: tried })
    await writeFile(join(good, 'ask.json'), settings)
    const { compiled }: Said = JSON.parse(
      (await run(process.execPath, [script, name, good])).stdout,
    )
    expect(compiled).toEqual(tried.map(() => []))
  })

  test('typescript 7: nine settings', async () => {
    const project = await makeProject({ 'program.ts': PROGRAM })
    for (const [at, settings] of SETTINGS.entries()) {
      const config = join(project, `tsconfig.${at}.json`)
      await writeFile(
        config,
        JSON.stringify({
          extends: './tsconfig.json',
          compilerOptions: settings,
          files: ['program.ts'],
        }),
      )
      expect([settings, await tsc(TSC, '-p', config)]).toEqual([settings, ''])
    }
  })

  test('typescript59: programs and mistakes that TypeScript 7 knows', async () => {
    const source = join(ROOT, 'test/typed')
    const files: Record<string, string> = {}
    for (const file of await readdir(source)) {
      const text = await readFile(join(source, file), 'utf8')
      files[file] = text.replaceAll(/'\.\.\/\.\.\/src\/([\w/-]+)\.ts'/g, (_, path) =>
        JSON.stringify(join(types, `${path}.d.ts`.replace(/\.d\.ts$/, '.js'))),
      )
    }
    const project = await makeProject(files)
    const program = join(TOOLS, 'node_modules/typescript59/bin/tsc')
    expect(await tsc(program, '-p', project)).toBe('')
  })

  describe('typescript 7', () => {
    let editor: Editor
    beforeAll(async () => {
      editor = await openEditor(WRONG)
    }, 2 * MINUTES)
    afterAll(() => editor.close())

    test('short messages, plain hovers', async () => {
      const messages = await editor.errors()
      expect([...messages.keys()]).toEqual(ERRORS.map(([line]) => line))
      for (const [line, word, most] of ERRORS) {
        expect(messages.get(line)).toContain(word)
        expect([line, messages.get(line)?.length]).toSatisfy(([, length]) => length <= most)
      }
      for (const place of HOVERS) {
        const text = await editor.hover(place)
        expect(text).not.toMatch(INTERNAL)
        expect(text.length).toBeLessThan(900)
      }
    })
  })
})
