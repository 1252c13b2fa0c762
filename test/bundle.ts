// Programs of TypeScript as bundles: they start in a quarter of the time that tsx needs.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, buildSync } from 'esbuild'
import { cleanUps } from './clean-up.ts'

const ROOT = join(import.meta.dirname, '..')

/** Where the names of the package lead: to the source. */
const { paths }: { paths: Readonly<Record<string, readonly [string]>> } = JSON.parse(
  readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'),
).compilerOptions

const OPTIONS: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  alias: Object.fromEntries(
    Object.entries(paths).map(([name, [path]]) => [name, join(ROOT, path)]),
  ),
}

/** The folders of the bundles, by the folder whose packages they find. */
const folders = new Map<string, string>()
cleanUps.add(() => {
  for (const folder of folders.values()) rmSync(folder, { recursive: true })
  folders.clear()
  built.clear()
})

function folderIn(packages: string): string {
  const known = folders.get(packages)
  if (known !== undefined) return known
  const made = mkdtempSync(join(packages, 'node_modules', '.bundles-'))
  folders.set(packages, made)
  return made
}

const built = new Map<string, string>()

/**
 * Bundles a program, once for the tests of a file. @returns the file to start
 * @param packages the folder whose packages the program finds before those of the project.
 */
export function bundle(file: string, packages = ROOT): string {
  const key = `${packages} ${file}`
  const known = built.get(key)
  if (known !== undefined) return known
  const outfile = join(folderIn(packages), `${built.size}.mjs`)
  buildSync({ ...OPTIONS, entryPoints: [file], outfile })
  built.set(key, outfile)
  return outfile
}
