// The client in other runtimes: newer versions of Node, Bun, Deno, a browser.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import { type Line, openLine, serve } from './line.ts'

const FOLDER = join(import.meta.dirname, 'runtimes')
const INSTALL = 'npm ci --prefix test/client/runtimes'
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** Of each runtime its program and what stands before the script. */
const RUNTIMES: readonly (readonly [name: string, program: string, ...words: string[]])[] = [
  [`Node ${process.versions.node}`, process.execPath],
  ['Node 22', join(FOLDER, 'node_modules/node22/bin/node')],
  ['Node 24', join(FOLDER, 'node_modules/node24/bin/node')],
  ['Node 26', join(FOLDER, 'node_modules/node26/bin/node')],
  ['Bun', join(FOLDER, 'node_modules/@oven/bun-linux-x64/bin/bun')],
  ['Deno', join(FOLDER, 'node_modules/@deno/linux-x64-glibc/deno'), 'run', '--allow-net'],
]

const EXPECTED =
  '[true,2,["ConflictError",2],[12],"Sun","AbortError",["color","price"],1,[{"price":12}]]'

const api = defineApi({
  collections: [
    defineCollection({
      name: 'cars',
      schema: z.object({ color: z.string(), price: z.int() }),
      store: memoryStore(),
    }),
    defineCollection({
      name: 'photos',
      schema: z.object({ comment: z.string(), photo: blob() }),
      store: memoryStore(),
      blobs: memoryBlobs(),
    }),
  ],
})

let folder: string
let line: Line
let server: Awaited<ReturnType<typeof serve>>

/** The client and the smoke test in one file. @param last what it does with them. */
async function bundle(last: string): Promise<string> {
  const contents = `import { createClient } from '../../src/client/index.ts'
    import { smoke } from './runtimes/smoke.js'
    ${last}`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-runtimes-'))
  server = await serve(api.handler)
  line = await openLine(server.url)
})

afterAll(async () => {
  await line.close()
  await server.close()
  await api.close()
  await rm(folder, { recursive: true })
})

describe('the client runs', () => {
  for (const [name, program, ...words] of RUNTIMES) {
    const missing = !existsSync(program)
    if (missing) console.warn(`Skipped: ${name} is not installed. Run ${INSTALL}`)
    test.skipIf(missing)(`in ${name}`, async () => {
      const script = join(folder, 'smoke.mjs')
      await writeFile(script, await bundle(`console.log(await smoke(createClient, '${line.url}'))`))
      line.next('drop')
      const { stdout, stderr } = await promisify(execFile)(program, [...words, script], {
        cwd: folder,
      })
      expect([stdout.trim(), stderr]).toEqual([EXPECTED, ''])
    })
  }

  const missing = !existsSync(CHROMIUM)
  if (missing) console.warn(`Skipped: there is no Chromium at ${CHROMIUM}`)
  test.skipIf(missing)('in Chromium, on a page of another origin', async () => {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage()
      const text = await bundle(`globalThis.run = () => smoke(createClient, '${line.url}')`)
      await page.addScriptTag({ content: text, type: 'module' })
      // A module runs some time after it was added.
      await page.waitForFunction('globalThis.run')
      line.next('drop')
      expect(await page.evaluate('run()')).toBe(EXPECTED)
    } finally {
      await browser.close()
    }
  })
})
