// Shows that tests can fail: for each row of docs/conformance.md it breaks the code in a temporary copy, and the test
// that the row names must fail. `npm run prove`, or `npm run prove -- ETag` for the rows whose names contain a text.
import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MUTATIONS, type Mutation } from './prove/mutations.ts'
import { printTitle, type Row, readRows } from './prove/rows.ts'

const root = new URL('..', import.meta.url)
const [, , wanted = ''] = process.argv
const rows = readRows(root).filter(({ name }) => name.includes(wanted))

/** What a copy needs: the rest of the tree is of no interest to the tests. */
const PARTS = [
  'src',
  'test',
  'examples',
  'docs',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
]

/** How long the tests of one row may take, in milliseconds. */
const MAX_TIME = 180_000

type Status = 'passed' | 'failed' | 'skipped'

interface Report {
  readonly testResults: readonly {
    /** The path of the file. */
    readonly name: string
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: string
    }[]
  }[]
}

/** The key of a test in results: two files may have one title. */
const keyOf = (file: string, title: string) => `${file}: ${title}`

/** Runs tests in the copy. @returns what became of each test: one that runs twice fails only if both fail. */
async function runTests(copy: string, named: readonly Row[]): Promise<Map<string, Status>> {
  const leaves = named.flatMap(({ titles }) => titles.map(title => title.split(' > ').at(-1) ?? ''))
  const pattern = leaves.map(leaf => leaf.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  const output = join(copy, 'report.json')
  rmSync(output, { force: true })
  const files = [...new Set(named.map(({ file }) => file))]
  const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root))
  const options = ['--reporter=json', `--outputFile=${output}`, '-t', pattern]
  await new Promise<void>(resolve => {
    // It ends with 1 where a test fails, which is what is asked for: the report tells.
    const args = [vitest, 'run', ...files, ...options]
    execFile(process.execPath, args, { cwd: copy, timeout: MAX_TIME, maxBuffer: 2 ** 28 }, () =>
      resolve(),
    )
  })
  const results = new Map<string, Status>()
  for (const { name, assertionResults } of readReport(output)) {
    for (const { ancestorTitles, title, status } of assertionResults) {
      const names = [...ancestorTitles, title]
      const now = status === 'passed' || status === 'failed' ? status : 'skipped'
      for (const title of new Set([printTitle(names), names.join(' > ')])) {
        const key = keyOf(relative(copy, name), title)
        const known = results.get(key)
        results.set(key, known === undefined || known === now ? now : 'passed')
      }
    }
  }
  return results
}

function readReport(output: string): Report['testResults'] {
  try {
    const { testResults }: Report = JSON.parse(readFileSync(output, 'utf8'))
    return testResults
  } catch {
    return [] // The run did not end in time.
  }
}

/** Breaks the code of the copy. @returns how to mend it. @throws Error where the text is not there exactly once. */
function mutate(copy: string, { file, text, replacement }: Mutation): () => void {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  const times = source.split(text).length - 1
  if (times !== 1) throw new Error(`${file} has this text ${times} times, not once: ${text}`)
  writeFileSync(
    path,
    source.replace(text, () => replacement),
  )
  return () => writeFileSync(path, source)
}

/** Lists what would keep the proof from being one. */
async function findMissing(copy: string): Promise<readonly string[]> {
  const missing = rows
    .filter(({ name }) => !MUTATIONS[name])
    .map(({ name }) => `No mutation of the row "${name}"`)
  for (const mutation of rows.flatMap(({ name }) => MUTATIONS[name] ?? [])) {
    try {
      mutate(copy, mutation)()
    } catch (error) {
      missing.push(String(error))
    }
  }
  const results = await runTests(copy, rows)
  for (const { file, titles } of rows)
    for (const title of titles) {
      const status = results.get(keyOf(file, title))
      if (status !== 'passed')
        missing.push(`${file}: "${title}" ${status ?? 'does not exist'} without a mutation`)
    }
  return missing
}

/** Proves one row. @returns what is wrong with it: each of its mutations is found, and each of its tests finds one. */
async function prove(copy: string, row: Row): Promise<readonly string[]> {
  const wrong: string[] = []
  const idle = new Set(row.titles)
  for (const mutation of MUTATIONS[row.name] ?? []) {
    const mend = mutate(copy, mutation)
    const results = await runTests(copy, [row])
    mend()
    const failed = row.titles.filter(title => results.get(keyOf(row.file, title)) === 'failed')
    for (const title of failed) idle.delete(title)
    if (failed.length > 0) continue
    const what = results.size === 0 ? 'no test could run' : 'survived'
    wrong.push(`${what}: ${mutation.file}: ${mutation.text} → ${mutation.replacement}`)
  }
  return [...wrong, ...[...idle].map(title => `never failed: ${title}`)]
}

const copy = realpathSync(mkdtempSync(join(tmpdir(), 'prove-')))
try {
  for (const part of PARTS)
    cpSync(fileURLToPath(new URL(part, root)), join(copy, part), { recursive: true })
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(copy, 'node_modules'))
  const missing = await findMissing(copy)
  for (const line of missing) console.log(line)
  const unproved = missing.length > 0 ? rows.length : 0
  let failures = unproved
  for (const row of unproved > 0 ? [] : rows) {
    const wrong = await prove(copy, row)
    console.log(`${wrong.length === 0 ? 'proved' : 'NOT PROVED'}  ${row.name}`)
    for (const line of wrong) console.log(`            ${line}`)
    if (wrong.length > 0) failures++
  }
  console.log(`${rows.length - failures} of ${rows.length} rows proved`)
  process.exitCode = failures > 0 || rows.length === 0 ? 1 : 0
} finally {
  rmSync(copy, { recursive: true, force: true })
}
