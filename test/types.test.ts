// What fifty collections cost the type checker of a user, in type instantiations. Reading what a
// schema takes and gives is zod's own work, done by whoever asks for the types: it is measured
// without us and subtracted, and so is declaring the schemas.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TSC, writeDeclarations } from './emitted.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COUNT = 50
const MOST = 10_000
const MOST_FOR_CALLS = 22_300
const MOST_FOR_CLIENT = 1_050
const MINUTES = 60_000

/** Schemas of different sorts, each with a member to read. `at` makes every one a type of its own. */
const SCHEMAS: readonly ((at: number) => { schema: string; member: string })[] = [
  at => ({
    member: 'color',
    schema: `z.object({ price${at}: z.number().optional(), color: z.enum(['red', 'blue']).default('red') })`,
  }),
  at => ({
    member: 'author',
    schema: `z.object({ tags: z.array(z.string()), author: z.object({ name: z.string(), mail${at}: z.email() }) })`,
  }),
  at => ({
    member: 'at',
    schema: `z.object({ at: z.iso.datetime(), count${at}: z.int().nullable(), more: z.record(z.string(), z.number()) })`,
  }),
  at => ({
    member: 'parts',
    schema: `z.object({ on${at}: z.stringbool(), parts: z.array(z.object({ size: z.union([z.string(), z.int()]) })) })`,
  }),
  at => ({
    member: 'type',
    schema: `z.discriminatedUnion('type', [z.object({ type: z.literal('a${at}'), a: z.string() }), z.object({ type: z.literal('b'), b: z.number().prefault(1) })])`,
  }),
]

const each = (lines: (at: number, member: string) => string) =>
  Array.from({ length: COUNT }, (_, at) => lines(at, kind(at).member)).join('\n')

function kind(at: number) {
  const make = SCHEMAS[at % SCHEMAS.length]
  if (!make) throw new Error('There are no schemas')
  return make(at)
}

const HEAD = `
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
export const used = [z, defineApi, defineCollection, memoryStore]
${each(at => `export const schema${at} = ${kind(at).schema}`)}
`

/** The schemas, and what they take and give, read without us. */
const TYPES = each(
  (at, member) => `
export function read${at}(output: (typeof schema${at})['_zod']['output'], input: (typeof schema${at})['_zod']['input']) {
  return [output.${member}, input.${member}]
}`,
)

const COLLECTIONS = `
${each(at => `export const items${at} = defineCollection({ name: 'items${at}', schema: schema${at}, store: memoryStore() })`)}
export const api = defineApi({ version: 1, collections: { ${each(at => `items${at},`)} } })
`

/** The same read by way of calls. */
const CALLS = each(
  (at, member) => `
export async function call${at}(input: (typeof schema${at})['_zod']['input']) {
  const calls = api.collection(items${at})
  const first = await calls.list({ limit: 5 }).first()
  const made = await calls.create(input)
  return [first?.id, first?.${member}, made.created_at, input.${member}]
}`,
)

/** The same over HTTP. */
const CLIENT = `
import { createClient } from 'rest-conventions/client'
const client = createClient<typeof api>('https://api.example')
${each(
  (at, member) => `
export async function send${at}(input: (typeof schema${at})['_zod']['input']) {
  const first = await client.items${at}.list({ limit: 5 }).first()
  const made = await client.items${at}.create(input)
  return [first?.id, first?.${member}, made.created_at, input.${member}]
}`,
)}`

/** Schemas of 15 properties, every fifth a union of objects, and what each feature may cost above them. */
const FIFTEEN = (at: number) => {
  const fields = `plate${at}: z.string(), color: z.enum(['red', 'blue']).default('red'), price: z.number(),
    sold: z.boolean().default(false), doors: z.int(), note: z.string().optional(), built: z.iso.date(),
    owner_id: z.string().nullable(), seen: z.iso.datetime().nullable().default(null),
    tags: z.array(z.string()).default([]), model: z.object({ name: z.string(), year: z.int().optional() }),
    parts: z.array(z.object({ size: z.union([z.string(), z.int()]) })), size: z.union([z.string(), z.number()]),
    rates: z.record(z.string(), z.number()), extra: z.object({ a: z.string() }).optional()`
  const whole = `z.object({ ${fields} })`
  if (at % 5 !== 4) return whole
  return `z.discriminatedUnion('type', [${whole.replace('{ ', "{ type: z.literal('a'), ")}, z.object({
    type: z.literal('b'), price: z.number(), color: z.enum(['red', 'blue']), model: z.object({ name: z.string() }) })])`
}
const LARGE_HEAD =
  HEAD.slice(0, HEAD.indexOf('export const schema0')) +
  each(
    at => `export const schema${at} = ${FIFTEEN(at)}
export type In${at} = (typeof schema${at})['_zod']['input']
export type Out${at} = (typeof schema${at})['_zod']['output']
`,
  )

/** So many collections that refer to each other, with a list of each that includes two of them. */
const related = (count: number) => {
  const numbers = Array.from({ length: count }, (_, at) => at)
  const lines = numbers.map(at => {
    const parents = at > 0 ? `parents: { p_id: 'items${Math.floor(at / 3)}' }, ` : ''
    return `const items${at} = defineCollection({ name: 'items${at}', store: memoryStore(), ${parents}
  references: { r_id: 'items${(at * 7) % count}' }, schema: z.object({ price: z.int(), p_id: z.string(), r_id: z.string() }) })`
  })
  const uses = numbers.map(at => {
    const child = at * 3 + 1 < count ? `, 'items${at * 3 + 1}'` : ''
    return `export const use${at} = async () => [
  (await client.items${at}.list({ include: ['r.r'${child}], price: 1, r: { price: 1 } }).first())?.r?.r?.price,
  (await client.items${at}.read('x', { include: ['r'] })).r?.price]`
  })
  return `import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
import { createClient } from 'rest-conventions/client'
${lines.join('\n')}
const api = defineApi({ collections: { ${numbers.map(at => `items${at}`).join()} } })
const client = createClient<typeof api>('https://api.example')
${uses.join('\n')}`
}

/** Each feature in use, and a plain function with the schema's own types that does the same. */
const FEATURES = {
  list: {
    max: 450,
    plain:
      at => `declare const plain${at}: { list(filters: { readonly [K in keyof Out${at}]?: Out${at}[K] }): Promise<Out${at} | undefined> }
export const use${at} = async () => (await plain${at}.list({ color: 'red', price: 1, model: { name: 'x' } }))?.price`,
    ours: at => `export const use${at} = async () =>
  (await api.collection(items${at}).list({ color: 'red', price: { gte: 1 }, model: { name: { prefix: 'x' } } }).first())?.price`,
  },
  patch: {
    // 5 of them patch each member of a union by itself, so that schemas with z.json() can be patched at all.
    max: 320,
    plain:
      at => `declare const plain${at}: { patch(id: string, changes: Partial<In${at}>): Promise<Out${at}> }
export const use${at} = async () => (await plain${at}.patch('x', { price: 1, model: { name: 'x' } })).price`,
    ours: at => `export const use${at} = async () =>
  (await api.collection(items${at}).patch('x', { price: 1, model: { name: 'x' } })).price`,
  },
  action: {
    max: 1_300,
    plain: at => `const input${at} = z.object({ offer: z.number() })
const output${at} = z.object({ total: z.number() })
export async function run${at}({ input, item, update }: { input: z.infer<typeof input${at}>; item: Out${at}; update(changes: Partial<In${at}>): Promise<Out${at}> }): Promise<z.infer<typeof output${at}>> {
  await update({ price: 1, color: 'red' })
  return { total: item.price + input.offer }
}`,
    ours: at => `export const acted${at} = defineCollection({ name: 'acted${at}', schema: schema${at}, store: memoryStore(), actions: {
  buy: { on: 'item', input: z.object({ offer: z.number() }), output: z.object({ total: z.number() }), async run({ input, item, update }) {
    await update({ price: 1, color: 'red' })
    return { total: item.price + input.offer }
  } } } })`,
  },
} as const satisfies Record<
  string,
  { max: number; plain: (at: number) => string; ours: (at: number) => string }
>

const PROGRAMS = {
  schemas: HEAD,
  collections: HEAD + COLLECTIONS,
  types: HEAD + TYPES,
  calls: HEAD + COLLECTIONS + CALLS,
  client: HEAD + COLLECTIONS + CALLS + CLIENT,
  listPlain: LARGE_HEAD + each(FEATURES.list.plain),
  list: LARGE_HEAD + COLLECTIONS + each(FEATURES.list.ours),
  patchPlain: LARGE_HEAD + each(FEATURES.patch.plain),
  patch: LARGE_HEAD + COLLECTIONS + each(FEATURES.patch.ours),
  actionPlain: LARGE_HEAD + each(FEATURES.action.plain),
  action: LARGE_HEAD + each(FEATURES.action.ours),
  related100: related(100),
  related300: related(300),
  wrong: `${HEAD + COLLECTIONS}export const wrong: string = await api.collection(items0).list().first()`,
}

const run = promisify(execFile)
let folder: string
const types = () => join(folder, 'types')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-types-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeDeclarations(types())
}, 2 * MINUTES)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The instantiations of a program; fails where it does not compile. */
async function costOf(name: keyof typeof PROGRAMS): Promise<number> {
  await writeFile(join(folder, `${name}.ts`), PROGRAMS[name])
  const config = join(folder, `tsconfig.${name}.json`)
  const compilerOptions = {
    paths: {
      'rest-conventions': [join(types(), 'index.d.ts')],
      'rest-conventions/client': [join(types(), 'client/index.d.ts')],
    },
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  const extended = join(ROOT, 'tsconfig.json')
  const program = { extends: extended, compilerOptions, include: [], files: [`${name}.ts`] }
  await writeFile(config, JSON.stringify(program))
  // One thread: several would each instantiate what they share.
  const words = ['-p', config, '--extendedDiagnostics', '--singleThreaded']
  const { stdout } = await run(TSC, words).catch(({ stdout }: { stdout: string }) => ({ stdout }))
  const issues = stdout.split('\n').filter(line => line.includes(`${name}.ts(`))
  if (issues.length > 0) throw new Error(issues.join('\n'))
  const cost = /^Instantiations:\s+(\d+)$/m.exec(stdout)?.[1]
  if (cost === undefined) throw new Error(`tsc printed no number:\n${stdout}`)
  return Number(cost)
}

test(
  `${COUNT} collections in one api cost fewer than ${MOST} instantiations above their schemas`,
  async () => {
    const cost = (await costOf('collections')) - (await costOf('schemas'))
    console.info(`${COUNT} collections: ${cost} instantiations`)
    expect(cost).toBeGreaterThan(COUNT)
    expect(cost).toBeLessThan(MOST)
  },
  2 * MINUTES,
)

test(
  `and typed calls of each fewer than ${MOST_FOR_CALLS} above the same types read from zod alone`,
  async () => {
    const cost = (await costOf('calls')) - (await costOf('types'))
    console.info(`${COUNT} collections with calls: ${cost} instantiations`)
    expect(cost).toBeLessThan(MOST_FOR_CALLS)
  },
  2 * MINUTES,
)

test(
  `and the client beside them at most ${MOST_FOR_CLIENT} more`,
  async () => {
    const cost = (await costOf('client')) - (await costOf('calls'))
    console.info(`${COUNT} collections by the client too: ${cost} instantiations more`)
    expect(cost).toBeLessThanOrEqual(MOST_FOR_CLIENT)
  },
  2 * MINUTES,
)

test.each(['list', 'patch', 'action'] as const)(
  'a typed %s with 15 properties costs little above a plain function that does the same',
  async feature => {
    const cost = ((await costOf(feature)) - (await costOf(`${feature}Plain`))) / COUNT
    console.info(`${feature}: ${Math.round(cost)} instantiations for each collection`)
    expect(cost).toBeLessThan(FEATURES[feature].max)
  },
  2 * MINUTES,
)

test.each([
  [100, 700_000],
  [300, 2_200_000],
] as const)(
  '%i collections that include each other cost at most %i instantiations in all',
  async (count, max) => {
    const cost = await costOf(`related${count}`)
    console.info(`${count} collections with include: ${cost} instantiations`)
    expect(cost).toBeLessThanOrEqual(max)
  },
  2 * MINUTES,
)

test(
  'an error in such a program would be seen',
  async () => {
    await expect(costOf('wrong')).rejects.toThrow("not assignable to type 'string'")
  },
  2 * MINUTES,
)
