// Bundles the JavaScript of the package: a file for each entry point and the command, and chunks for what they share. A module is
// in one file alone, so classes, symbols and weak maps are the same for all entry points. See
// docs/decisions/bundles.md.
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** What browsers import from the root, without the server: chunks of their own. */
const ALONE = ['errors', 'schema/blob']
/** It imports the whole root too, so that `index.js` only names what is in chunks. */
const SECOND = 'second-root'

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: object
  readonly peerDependencies: object
}

/** @param folder where the files go, with its whole path; those of an earlier bundle stay. */
export async function bundle(folder: string): Promise<void> {
  const manifest: Manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const exported = Object.values(manifest.exports).flatMap(entry =>
    typeof entry === 'string' ? [] : [entry.default],
  )
  const entries = [...exported, ...Object.values(manifest.bin)].map(target =>
    target.replace(/^\.\/dist\/|\.js$/g, ''),
  )
  await build({
    entryPoints: Object.fromEntries([
      ...[...entries, ...ALONE].map(name => [name, `src/${name}.ts`]),
      [SECOND, SECOND],
    ]),
    absWorkingDir: ROOT,
    outdir: folder,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2023',
    mainFields: ['main'],
    external: [
      'node:*',
      ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    ],
    legalComments: 'inline',
    plugins: [secondRoot, streamsOfBusboy, licensesOfBusboy],
  })
  await rm(join(folder, `${SECOND}.js`))
}

const secondRoot: Plugin = {
  name: 'second root',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^${SECOND}$`) }, ({ path }) => ({ path, namespace: 'second' }))
    onLoad({ filter: /.*/, namespace: 'second' }, () => ({
      contents: "export * from './src/index.ts'",
      resolveDir: ROOT,
    }))
  },
}

/** What busboy requires of Node, as imports: a bundler that keeps its `require('stream')` would end at start. */
const streamsOfBusboy: Plugin = {
  name: 'streams of busboy',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^stream$/ }, () => ({ path: 'stream', namespace: 'imported' }))
    onLoad({ filter: /.*/, namespace: 'imported' }, () => ({
      contents: "export { Readable, Writable } from 'node:stream'",
    }))
  },
}

/** Its code keeps its licenses. */
const licensesOfBusboy: Plugin = {
  name: 'licenses of busboy',
  setup({ onLoad }) {
    const main = /[\\/]node_modules[\\/](busboy|streamsearch)[\\/]lib[\\/](?:index|sbmh)\.js$/
    onLoad({ filter: main }, async ({ path }) => {
      const [, name = ''] = main.exec(path) ?? []
      const license = await readFile(join(path, '../../LICENSE'), 'utf8')
      const code = await readFile(path, 'utf8')
      return { contents: `/*!\n${name}\n\n${license.trim()}\n*/\n${code}` }
    })
  },
}
