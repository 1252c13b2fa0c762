// docs/testing.md: the first test that it shows runs as it stands.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { bundle } from './bundle.ts'
import { blocksOf } from './markdown.ts'

const root = join(import.meta.dirname, '..')
// Inside the project, so that its packages are found.
const folder = await mkdtemp(join(root, 'node_modules', '.testing-'))
afterAll(() => rm(folder, { recursive: true }))

const blocks = blocksOf(await readFile(join(root, 'docs/testing.md'), 'utf8'))
for (const { text } of blocks.slice(0, 2)) {
  const [, name = ''] = /^\/\/ (\S+)/.exec(text) ?? []
  await writeFile(join(folder, name), text)
}
await import(bundle(join(folder, 'cars.test.ts')))
