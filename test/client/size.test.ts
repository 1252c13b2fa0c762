// What the client adds to a page.
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const nameOf = (file: string) =>
  fileURLToPath(new URL(`../../src/client/${file}.ts`, import.meta.url))
const MAX_BYTES = 5_400

/** Bundles what entry points export together. */
async function bundle(...entries: readonly string[]) {
  const lines = entries.map(entry => `export * from ${JSON.stringify(nameOf(entry))}`)
  const { outputFiles, metafile } = await build({
    stdin: { contents: lines.join('\n'), resolveDir: '.', loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
  })
  const [file] = outputFiles
  if (!file) throw new Error('esbuild made no bundle')
  const inputs = Object.keys(metafile.inputs).filter(name => name !== '<stdin>')
  return {
    zipped: gzipSync(file.contents, { level: 9 }).length,
    size: file.contents.length,
    inputs,
  }
}

test(`with everything at most ${MAX_BYTES} bytes, minified and zipped, and nothing of the server`, async () => {
  const { zipped, size, inputs } = await bundle('index')
  console.info(`The client has ${size} bytes, ${zipped} of them zipped`)
  expect(zipped).toBeLessThanOrEqual(MAX_BYTES)
  expect(inputs.filter(name => !name.includes('src/client/'))).toEqual([])
})

test.each([
  ['tanstack-query', 1_500],
  ['batch', 950],
  ['query-batch', 1_500],
  ['forms', 900],
  ['files', 900],
  ['live', 1_200],
  ['live-tabs', 1_400],
])('%s adds at most %i bytes', async (entry, max) => {
  const [core, both] = [await bundle('index'), await bundle('index', entry)]
  const added = both.zipped - core.zipped
  console.info(`${entry} adds ${added} bytes`)
  expect(added).toBeLessThanOrEqual(max)
  expect(both.inputs.filter(name => !name.includes('src/client/'))).toEqual([])
})
