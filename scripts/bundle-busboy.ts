// Puts busboy into the build as an ES module. It is CommonJS, and a bundler of an application that keeps its
// `require('stream')` would end at start.
import { readFile, writeFile } from 'node:fs/promises'
import { build, type Plugin } from 'esbuild'

/** What busboy requires of Node, as imports. */
const streams: Plugin = {
  name: 'streams',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^stream$/ }, () => ({ path: 'stream', namespace: 'imported' }))
    onLoad({ filter: /.*/, namespace: 'imported' }, () => ({
      contents: "export { Readable, Writable } from 'node:stream'",
    }))
  },
}

/** Bundles busboy into `dist`, with its licences. */
export async function bundleBusboy(): Promise<void> {
  const licenses = await Promise.all(
    ['busboy', 'streamsearch'].map(async name => {
      const text = await readFile(`node_modules/${name}/LICENSE`, 'utf8')
      return `${name}\n\n${text.trim()}`
    }),
  )

  await build({
    stdin: { contents: "export { default } from 'busboy'", resolveDir: '.' },
    outfile: 'dist/formats/busboy.js',
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    mainFields: ['main'],
    external: ['node:stream'],
    plugins: [streams],
    banner: { js: `/*\n${licenses.join('\n\n')}\n*/` },
  })

  const file = 'dist/formats/multipart.js'
  const text = await readFile(file, 'utf8')
  const linked = text.replace("from 'busboy'", "from './busboy.js'")
  if (linked === text) throw new Error(`${file} does not import busboy`)
  await writeFile(file, linked)
}
