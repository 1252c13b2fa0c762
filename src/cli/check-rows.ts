// `rest-conventions check-rows`: the rows of a database that the schemas of their collections refuse.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Item } from '../base/values.ts'
import { AnyHttpError, type AnyIssue } from '../errors.ts'
import { listBlobFields } from '../schema/blob.ts'
import { buildValidator } from '../schema/validate.ts'
import type { Schema } from '../schema/zod-fields.ts'
import type { Shape } from '../store/store.ts'
import { CommandError } from './output/command-error.ts'

/** An api as its module exports it, maybe of another copy of the package. */
interface OpenApi {
  readonly collections: Readonly<Record<string, { readonly schema: Schema; readonly shape: Shape }>>
  asSystem(): { collection(name: string): { list(): AsyncIterable<Item> } }
  close(): Promise<void>
}

export interface CheckedRows {
  /** The module that exports the api. */
  readonly path: string
  /** The collection to check. Default: all. */
  readonly collection?: string | undefined
}

/**
 * Checks all items of an api, one after another.
 * @returns how many items have issues.
 * @param print gets each line of the report.
 * @throws CommandError
 */
export async function checkRows(
  { path, collection }: CheckedRows,
  print: (line: string) => unknown,
): Promise<number> {
  const api = await loadApi(path)
  const names = Object.keys(api.collections)
  const chosen = collection === undefined ? names : names.filter(name => name === collection)
  if (chosen.length === 0)
    throw new CommandError(`${path} has no collection ${collection}. It has ${names.join(', ')}`)
  let refused = 0
  try {
    for (const name of chosen) refused += await checkCollection(api, name, print)
  } finally {
    await api.close()
  }
  return refused
}

async function checkCollection(
  api: OpenApi,
  name: string,
  print: (line: string) => unknown,
): Promise<number> {
  const { schema, shape } = api.collections[name] ?? {}
  if (!schema || !shape) return 0
  const { identity, createdAt, updatedAt, fields } = shape
  const added = new Set([createdAt, updatedAt])
  if (fields.get(identity.name)?.serverOwned) added.add(identity.name)
  const files = new Set(listBlobFields(fields))
  const own = [...fields.keys()].filter(each => !added.has(each) && !files.has(each))
  const { create } = buildValidator(schema)
  let [count, refused] = [0, 0]
  for await (const item of api.asSystem().collection(name).list()) {
    count++
    // One by one: a copy of an item lacks what is write-only.
    const values = own.flatMap(each => (item[each] === undefined ? [] : [[each, item[each]]]))
    const issues = await findIssues(() => create(Object.fromEntries(values)))
    const counted = issues.filter(({ field = '' }) => !files.has(field))
    if (counted.length === 0) continue
    refused++
    await print(`${name} ${item[identity.name]}: ${counted.map(each => each.message).join('; ')}\n`)
  }
  await print(`${name}: ${refused} of ${count} items are not as declared.\n`)
  return refused
}

async function findIssues(check: () => unknown): Promise<readonly AnyIssue[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (error instanceof AnyHttpError) return error.errors
    throw error
  }
}

async function loadApi(path: string): Promise<OpenApi> {
  if (!existsSync(path)) throw new CommandError(`Cannot read ${path}. There is no such file`)
  const url = pathToFileURL(resolve(path)).href
  const module: Record<string, unknown> = await import(url).catch(error => {
    if (error.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error
    throw new CommandError(
      `This Node.js does not run ${path}. Use 22.18 or later, or set NODE_OPTIONS='--import tsx'`,
    )
  })
  const api = Object.values(module).find(isApi)
  if (!api)
    throw new CommandError(
      `${path} exports no api. Export what defineApi returns: export const api = defineApi({ … })`,
    )
  return api
}

function isApi(value: unknown): value is OpenApi {
  const { collections, asSystem, close } = Object(value)
  return [asSystem, close].every(each => typeof each === 'function') && Boolean(collections)
}
