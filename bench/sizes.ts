// Prints what the package takes: installed with its dependencies, and the first program of the README in one file.
//   npm run build && npx tsx bench/sizes.ts
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly files?: readonly string[]
}
const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))

/** Adds up the bytes of a file or folder; npm shows pictures from the repository. */
function sizeOf(path: string): number {
  if (!statSync(path).isDirectory()) return path.endsWith('.png') ? 0 : statSync(path).size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(`${path}/${name}`), 0)
}

/** Lists the dependencies of a package, and theirs. */
function listDependencies(folder: string, found = new Set<string>()): ReadonlySet<string> {
  for (const name of Object.keys(readManifest(folder).dependencies ?? {})) {
    if (found.has(name)) continue
    found.add(name)
    listDependencies(`node_modules/${name}`, found)
  }
  return found
}

const print = (bytes: number) => `${(bytes / 1e6).toFixed(2)} MB`
const { files = [] } = readManifest('.')
const packed = [...files.filter(name => !name.startsWith('!')), 'README.md', 'package.json']
const own = packed.reduce((sum, name) => sum + sizeOf(name), 0)
const others = [...listDependencies('.')]
const whole = others.reduce((sum, name) => sum + sizeOf(`node_modules/${name}`), own)
console.log(`installed: ${print(own)}, of which dist has ${print(sizeOf('dist'))}`)
console.log(`with ${others.join(', ')}: ${print(whole)}`)

const [, program = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? []
const { outputFiles, metafile } = await build({
  stdin: { contents: program, resolveDir: '.', loader: 'ts' },
  ...{ bundle: true, minify: true, platform: 'node', format: 'esm', write: false, metafile: true },
})
const [{ contents } = { contents: new Uint8Array() }] = outputFiles
const zod = Object.values(metafile.outputs)
  .flatMap(({ inputs }) => Object.entries(inputs))
  .filter(([name]) => name.includes('node_modules/zod/'))
  .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0)
console.log(
  `README's first program: ${print(contents.length)} minified, ${print(gzipSync(contents).length)} with gzip; zod is ${print(zod)} of it`,
)
