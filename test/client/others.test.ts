// Clients of other people: their types come from the document, by the TypeScript that they need, and compile strictly.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { carsApi } from '../../examples/cars-api.ts'
import { memoryBlobs, memoryStore } from '../../src/index.ts'
import { TSC } from '../emitted.ts'
import { blocksOf } from '../markdown.ts'
import { serve } from './line.ts'

const FOLDER = join(import.meta.dirname, 'others')
const MODULES = join(FOLDER, 'node_modules')
const INSTALL = 'npm ci --prefix test/client/others'
const ROOT = join(import.meta.dirname, '../..')
const TSX = join(ROOT, 'node_modules/.bin/tsx')

const missing = !existsSync(MODULES)
const isWhole = ['db', 'query-persist-client-core'].every(name =>
  existsSync(join(MODULES, '@tanstack', name)),
)
if (missing || !isWhole)
  console.warn(`Skipped: the clients of others are not installed. Run ${INSTALL}`)

/** Has a program import the source in place of the package. */
function importSource(program: string): string {
  return program
    .replaceAll("'rest-conventions'", `'${join(ROOT, 'src/index.ts')}'`)
    .replaceAll("'rest-conventions/query'", `'${join(ROOT, 'src/client/tanstack-query.ts')}'`)
    .replaceAll("'rest-conventions/client'", `'${join(ROOT, 'src/client/index.ts')}'`)
    .replaceAll("'rest-conventions/client/live'", `'${join(ROOT, 'src/client/live.ts')}'`)
}

describe.skipIf(missing)('clients of other people', () => {
  const { api } = carsApi(() => memoryStore(), memoryBlobs())
  let server: Awaited<ReturnType<typeof serve>>
  let folder: string

  beforeAll(async () => {
    server = await serve(api.handler)
    // Among their packages, so that these are found.
    folder = await mkdtemp(join(MODULES, '.run-'))
    for (const name of ['fetch.ts', 'light.ts', 'package.json', 'tsconfig.json'])
      await cp(join(FOLDER, name), join(folder, name))
    if (!isWhole) return
    const persisted = await readFile(join(FOLDER, 'persisted.ts'), 'utf8')
    await writeFile(join(folder, 'persisted.ts'), importSource(persisted))
    const example = await readFile(join(ROOT, 'examples/tanstack-db.ts'), 'utf8')
    await writeFile(join(folder, 'live.ts'), importSource(example))
  })

  afterAll(async () => {
    await server.close()
    await api.close()
    await rm(folder, { recursive: true })
  })

  /** Writes a block of the documentation that has a text, with imports of the source. */
  async function writeBlock(name: string, text: string): Promise<void> {
    const blocks = blocksOf(await readFile(join(ROOT, 'docs/client.md'), 'utf8'))
    const block = blocks.find(each => each.text.includes(text))
    if (!block) throw new Error(`docs/client.md has no block with ${text}`)
    await writeFile(join(folder, name), importSource(block.text))
  }

  /** Runs a program; what it prints, failures included. */
  async function run(program: string, ...words: readonly string[]): Promise<string> {
    const { stdout, stderr } = await promisify(execFile)(program, words, { cwd: folder }).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    return `${stdout}${stderr}`.trim()
  }

  test('openapi-typescript with openapi-fetch, and TanStack Query: types compile strictly, calls work', async () => {
    for (const [name, query] of [
      ['schema', ''],
      ['light-schema', '?formats=json'],
    ] as const) {
      const document = await fetch(`${server.url}/v1/openapi.json${query}`)
      await writeFile(join(folder, `${name}.json`), await document.text())
      const made = await run(
        join(MODULES, '.bin/openapi-typescript'),
        `${name}.json`,
        '-o',
        `${name}.d.ts`,
        // What has a default need not be sent.
        '--default-non-nullable=false',
      )
      expect(made).toContain(`${name}.d.ts`)
    }
    await writeBlock('query.ts', '@tanstack/query-core')
    const [types, query, calls, light] = await Promise.all([
      run(TSC, '-p', '.'),
      run(TSX, 'query.ts'),
      run(TSX, 'fetch.ts', server.url),
      run(TSX, 'light.ts', server.url),
    ])
    expect([types, query, light]).toEqual(['', '2', '["grey",[3]]'])
    expect(JSON.parse(calls)).toEqual([
      ['red'],
      1,
      [1],
      1,
      412,
      expect.stringContaining('has changed'),
      'Ann',
    ])
  })

  test.skipIf(!isWhole)('a collection of TanStack DB is the live list', async () => {
    const printed = (await run(TSX, 'live.ts')).split('\n')
    expect(printed.at(-1)).toBe('400')
  })

  test.skipIf(!isWhole)(
    'a mutation that waits in the persister of TanStack Query goes on after a reload',
    async () => {
      const printed = await run(TSX, 'persisted.ts')
      // The second is a conflict: somebody else patched the car meanwhile.
      expect(printed).toBe('[["success",9,9],["error",6,6]]')
    },
  )
})
