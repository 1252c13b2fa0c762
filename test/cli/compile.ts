// The compiler of a project that imports the package by its names.
import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSC = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))

/** Makes a folder such a project. @returns the path of its configuration, which tsx takes too. */
export async function createProject(folder: string, files: readonly string[]): Promise<string> {
  const paths = {
    'rest-conventions': [join(ROOT, 'src/index.ts')],
    'rest-conventions/client': [join(ROOT, 'src/client/index.ts')],
    'rest-conventions/client/batch': [join(ROOT, 'src/client/batch.ts')],
    'rest-conventions/sql': [join(ROOT, 'src/sql/index.ts')],
    'odd-api': [join(ROOT, 'test/cli/odd-api.ts')],
    'rest-conventions/query': [join(ROOT, 'src/client/tanstack-query.ts')],
  }
  const config = join(folder, 'tsconfig.json')
  const extended = join(ROOT, 'tsconfig.json')
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules')).catch(() => {})
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(
    config,
    JSON.stringify({ extends: extended, compilerOptions: { paths }, include: [], files }),
  )
  return config
}

/** Compiles files of a folder as strictly as this package is. @returns what the compiler prints. */
export async function compile(folder: string, files: readonly string[]): Promise<string> {
  const config = await createProject(folder, files)
  const done = promisify(execFile)(process.execPath, [TSC, '-p', config], { maxBuffer: 2 ** 26 })
  return (await done.catch(({ stdout, stderr }) => ({ stdout: stdout + stderr }))).stdout
}
