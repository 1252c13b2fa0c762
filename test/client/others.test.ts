// Clients of other people: their types come from the document, and compile strictly, with the TypeScript that
// they need.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { carsApi } from '../../examples/cars-api.ts'
import { memoryBlobs, memoryStore } from '../../src/index.ts'
import { serve } from './line.ts'

const FOLDER = join(import.meta.dirname, 'others')
const MODULES = join(FOLDER, 'node_modules')
const INSTALL = 'npm ci --prefix test/client/others'
const TSX = join(import.meta.dirname, '../../node_modules/.bin/tsx')

const missing = !existsSync(MODULES)
if (missing) console.warn(`Skipped: the clients of others are not installed. Run ${INSTALL}`)

describe.skipIf(missing)('clients of other people', () => {
  const { api } = carsApi(() => memoryStore(), memoryBlobs())
  let server: Awaited<ReturnType<typeof serve>>
  let folder: string

  beforeAll(async () => {
    server = await serve(api.handler)
    // Among their packages, so that these are found.
    folder = await mkdtemp(join(MODULES, '.run-'))
    for (const name of ['fetch.ts', 'package.json', 'tsconfig.json'])
      await cp(join(FOLDER, name), join(folder, name))
  })

  afterAll(async () => {
    await server.close()
    await api.close()
    await rm(folder, { recursive: true })
  })

  /** Runs a program; what it prints, failures included. */
  async function run(program: string, ...words: readonly string[]): Promise<string> {
    const { stdout, stderr } = await promisify(execFile)(program, words, { cwd: folder }).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    return `${stdout}${stderr}`.trim()
  }

  test('openapi-typescript and openapi-fetch: the types compile strictly, and the calls work', async () => {
    const document = await fetch(`${server.url}/v1/openapi.json`)
    await writeFile(join(folder, 'openapi.json'), await document.text())
    const made = await run(
      join(MODULES, '.bin/openapi-typescript'),
      'openapi.json',
      '-o',
      'schema.d.ts',
      // What has a default need not be sent.
      '--default-non-nullable=false',
    )
    expect(made).toContain('schema.d.ts')
    expect(await run(join(MODULES, '.bin/tsc'), '-p', '.')).toBe('')
    const shown = JSON.parse(await run(TSX, 'fetch.ts', server.url))
    expect(shown).toEqual([
      ['red'],
      1,
      [1],
      412,
      expect.stringContaining('not in the state'),
      'Ann',
    ])
  }, 60_000)
})
