// What the client adds to a page.
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const ENTRY = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url))
const MAX_BYTES = 5_500

test(`with everything at most ${MAX_BYTES} bytes, minified and zipped, and nothing of the server`, async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
  })
  const [bundle] = outputFiles
  if (!bundle) throw new Error('esbuild made no bundle')
  const size = gzipSync(bundle.contents, { level: 9 }).length
  console.info(`The client has ${bundle.contents.length} bytes, ${size} of them zipped`)
  expect(size).toBeLessThanOrEqual(MAX_BYTES)
  expect(Object.keys(metafile.inputs).filter(name => !name.includes('src/client/'))).toEqual([])
})
