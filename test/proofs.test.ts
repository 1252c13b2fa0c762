// The table of `npm run prove` cannot rot: each text that it replaces is there, and each test that a row names exists.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { MUTATIONS } from '../scripts/prove/mutations.ts'
import { printTitle, readRows } from '../scripts/prove/rows.ts'

const root = new URL('..', import.meta.url)
const rows = readRows(root)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

it('each row of docs/conformance.md has its mutations', () => {
  expect(Object.keys(MUTATIONS)).toEqual(rows.map(({ name }) => name))
  expect(rows.length).toBeGreaterThan(30)
})

it.each(Object.entries(MUTATIONS))('%s: the code to break is there once', (_row, mutations) => {
  expect(mutations.length).toBeGreaterThan(0)
  for (const { file, text, replacement } of mutations) {
    expect(read(file).split(text), `${file}: ${text}`).toHaveLength(2)
    expect(replacement).not.toBe(text)
  }
})

/** What stands in the titles of tests that run on rows of a table. */
const PLACEHOLDER = /%[sdijof]|\$\{[^}]*\}|\$[\w.]+/

it('each test that a row names exists, by its full title', () => {
  const files = [...new Set(rows.map(({ file }) => file))]
  const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root))
  // Read and not run: that takes a second.
  const options = [...files, '--static-parse', '--json']
  const text = execFileSync(process.execPath, [vitest, 'list', ...options], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  const listed: readonly { name: string; file: string }[] = JSON.parse(text)
  for (const { file, titles } of rows) {
    const known = listed
      .filter(each => each.file === fileURLToPath(new URL(file, root)))
      .flatMap(({ name }) => [name, printTitle(name.split(' > '))])
    const unknown = titles.filter(title => !known.some(name => fits(title, name)))
    expect(unknown, file).toEqual([])
  }
})

/** Whether a title may be one of a template: what stands for its placeholders is not known without running the file. */
function fits(title: string, template: string): boolean {
  const parts = template.split(PLACEHOLDER).map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(title)
}
