// Builds the package into `dist`: `npm run build`. It runs wherever Node does.
//   npx tsx scripts/build.ts <folder>   only the JavaScript, into that folder
import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.ts'
import { writeSbom } from './sbom.ts'

const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))

const [folder] = process.argv.slice(2)
await rm(folder ?? 'dist', { recursive: true, force: true })
if (folder === undefined) {
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  await nameBuiltFiles()
  await writeSbom('dist/sbom.cdx.json')
}
await bundle(resolve(folder ?? 'dist'))

/** Names the built files in declarations: TypeScript rewrites the extensions of imports in JavaScript alone. */
async function nameBuiltFiles(): Promise<void> {
  for (const name of await readdir('dist', { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue
    const file = join('dist', name)
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(/^.*(?:from|import\().*$/gm, renameSource))
  }
}

function renameSource(line: string): string {
  return line.replace(/\.ts(['"])/g, '.js$1')
}
