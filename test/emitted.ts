// The declarations of the package as its users have them: TypeScript of any version reads those, not the source.
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
export const TSC = join(ROOT, 'node_modules/.bin/tsc')

/** Writes the declarations of `src` into a folder. */
export async function writeDeclarations(folder: string): Promise<void> {
  const words = ['--emitDeclarationOnly', '--noCheck', '--declarationMap', 'false']
  const project = join(ROOT, 'tsconfig.build.json')
  await promisify(execFile)(TSC, ['-p', project, ...words, '--outDir', folder])
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue
    const text = await readFile(join(folder, name), 'utf8')
    const linked = text.replace(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js')
    await writeFile(join(folder, name), linked)
  }
}

/** Where the names of the package lead: to the declarations in a folder. */
export async function declaredPaths(folder: string): Promise<Record<string, [string]>> {
  const config = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8'))
  const paths: Readonly<Record<string, readonly [string]>> = config.compilerOptions.paths
  return Object.fromEntries(
    Object.entries(paths).map(([name, [source]]) => [
      name,
      [source.replace('./src', folder).replace(/\.ts$/, '.d.ts')],
    ]),
  )
}
