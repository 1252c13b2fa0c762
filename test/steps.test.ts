// The order of a request and of a write as docs/architecture.md prints it: from the compiled steps.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../src/html/index.ts'
import { basic, blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../src/index.ts'
import { findView } from '../src/model/compile/compile-views.ts'
import { buildRouter, type Route } from '../src/model/compile/routes.ts'
import { findApiDefinition } from '../src/model/definitions.ts'
import type { ApiDefinition, CollectionDefinition } from '../src/model/types/definition.ts'
import type { RequestContext, Step } from '../src/operations/calls/context.ts'
import { validateNew, validateReplacement } from '../src/operations/writes/input.ts'
import { planChange, planCreate, planDelete } from '../src/operations/writes/plan.ts'
import { Steps, type WriteStep } from '../src/operations/writes/steps.ts'
import { storeChange, storeNew } from '../src/operations/writes/store-item.ts'
import { compileEndpoints } from '../src/server/endpoint.ts'
import { sourceFiles } from './source.ts'

/** An api that uses everything that adds a step. */
function findDefinition(): ApiDefinition {
  const hook = () => undefined
  const folders = defineCollection({
    name: 'folders',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    hideExistence: true,
    requirePrecondition: true,
    hooks: { before: hook, after: hook },
  })
  const files = defineCollection({
    name: 'files',
    schema: z.object({
      name: z.string(),
      folder_id: z.string(),
      owner_id: z.string(),
      code: z.string().optional(),
      note: z.string().optional(),
      content: blob().nullable().optional(),
    }),
    store: memoryStore(),
    blobs: memoryBlobs(),
    parents: { folder_id: { collection: 'folders', onDelete: 'cascade' } },
    fields: { code: 'immutable', note: { read: ['staff'], write: ['staff'] } },
    owner: 'owner_id',
    visible: () => ({}),
    requirePrecondition: true,
    hooks: { before: hook, after: hook },
  })
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ id: z.string(), file_id: z.string() }),
    store: memoryStore(),
    references: { file_id: { collection: 'files', onDelete: 'cascade' } },
    putCreates: true,
    requirePrecondition: true,
  })
  const api = defineApi({
    collections: { folders, files, notes },
    schemes: [basic({ verify: () => undefined })],
    rateLimit: { policies: [{ limit: 100, window: 60 }] },
    pages: html,
  })
  return findApiDefinition(api)
}

interface Row {
  readonly name: string
  /** The bracket around it. */
  readonly within: string
  readonly statuses: readonly number[]
  /** The lists that have it. */
  readonly lists: string[]
}

/** Lists steps and those of their brackets. Creating by PUT has the steps of a create. */
function* listRows(steps: readonly WriteStep[], lists: string[], within = ''): Generator<Row> {
  for (const { name, statuses, steps: inner } of steps) {
    yield { name, within, statuses, lists }
    if (inner && name !== 'retryIfTaken') yield* listRows(inner, lists, name)
  }
}

/** Merges the rows of several lists: a step stands behind the one that it follows in its list. */
function mergeRows(lists: readonly (readonly Row[])[]): Row[] {
  const merged: Row[] = []
  for (const rows of lists) {
    let at = 0
    for (const row of rows) {
      const known = merged.findIndex(({ name }) => name === row.name)
      if (known === -1) merged.splice(at++, 0, { ...row, lists: [...row.lists] })
      else {
        merged[known]?.lists.push(...row.lists)
        at = known + 1
      }
    }
  }
  return merged
}

const sources = sourceFiles()

/** @param folder of the steps. */
function printTable(folder: string, rows: readonly Row[]): string {
  const lines = rows.map(({ name, within, statuses, lists }) => {
    const declares = new RegExp(`(?:function|const) ${name}\\b`)
    const file = sources.find(
      ({ path, text }) => path.startsWith(folder) && declares.test(text),
    )?.path
    if (file === undefined) throw new Error(`No file declares the step ${name}`)
    const place = within === '' ? '' : `\`${within}\``
    const of = [...new Set(lists)].join(', ')
    return `| \`${name}\` | ${file.slice(folder.length)} | ${of} | ${place} | ${statuses.join(', ')} |`
  })
  return ['| step | file | of | within | may end in |', '|---|---|---|---|---|', ...lines].join(
    '\n',
  )
}

const docs = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8')
const api = findDefinition()
const find = (name: string) => api.defaultVersion.collections.get(name) as CollectionDefinition

test('docs/architecture.md prints the steps of a write', () => {
  // A client without scopes sees less of it, and so has more steps.
  const [files, notes] = [findView(find('files'), undefined), find('notes')]
  const lists = [
    ['PATCH', planChange(files, 'patch')],
    ['PATCH', planChange(notes, 'patch')],
    ['PUT', planChange(files, 'replace')],
    ['PUT', planChange(notes, 'replace')],
    ['POST', planCreate(files)],
    ['POST', planCreate(notes)],
  ] as const
  const rows = mergeRows(lists.map(([name, { list }]) => [...listRows(list, [name])]))
  expect(docs).toContain(printTable('operations/writes/', rows))
  const deletion = [...listRows(planDelete(find('folders')).list, ['DELETE'])]
  expect(docs).toContain(printTable('operations/writes/', deletion))
})

/** A POST that is no form: all that the step reads of it. */
const POST = { method: 'POST', request: { headers: {} } } as RequestContext

test('docs/architecture.md prints the steps of a request', () => {
  const lists: Row[][] = []
  const router = buildRouter(api, (route: Route) => {
    for (const [method, steps] of compileEndpoints(api, route).byMethod) {
      if (method === 'HEAD' || method === 'OPTIONS') continue
      const choose = steps.find(({ name }) => name === 'chooseMethod')
      const others = choose ? (choose(POST) as readonly Step[]) : []
      lists.push(
        [...steps, ...others].map(({ name, statuses = [] }) => {
          return { name, within: '', statuses, lists: [method] }
        }),
      )
    }
  })
  // A route is compiled at its first request.
  for (const name of api.defaultVersion.collections.keys())
    for (const path of [`/${name}`, `/${name}/1`]) router.match(path)
  expect(lists.length).toBeGreaterThan(20)
  expect(docs).toContain(printTable('server/', mergeRows(lists)))
})

test('a step does not compile where a field that it needs is not filled in', () => {
  const steps = new Steps<'body'>()
  // @ts-expect-error there is no candidate yet
  steps.set('checked', validateNew)
  // @ts-expect-error the value of this step is no candidate
  steps.set('candidate', storeNew)
  const checked = new Steps<'candidate'>().set('checked', validateNew)
  // @ts-expect-error there is no current item
  checked.set('checked', validateReplacement)
  // @ts-expect-error the store may have another version: it is no `set`
  new Steps<'values' | 'current'>().set('stored', storeChange)
  // @ts-expect-error a list that has not come so far
  const wrong: Steps<'stored'> = checked
  expect(wrong).toBe(checked)
})

test('a create in memory is done at once: nothing in it waits', async () => {
  const store = memoryStore()
  const cars = defineCollection({ name: 'cars', schema: z.object({ color: z.string() }), store })
  const resource = defineApi({ collections: { cars } }).collection(cars)
  const created = resource.create({ color: 'red' })
  expect(store.count({ where: [] }, 'exact')).toBe(1)
  let result: unknown
  created.then(item => {
    result = item
  })
  // Only the functions of the resource are asynchronous: `create`, and the one that runs the operation.
  for (let turn = 0; turn < 5; turn++) await undefined
  expect(result).toMatchObject({ color: 'red' })
})
