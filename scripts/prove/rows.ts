// The rows of docs/conformance.md, and the titles of the tests that they name.
import { readFileSync } from 'node:fs'

export interface Row {
  /** What stands in its first column. */
  readonly name: string
  /** The file of its tests. */
  readonly file: string
  /** Their full titles: those of the groups and of the test, joined by ` > `. */
  readonly titles: readonly string[]
}

/** Reads the rows below a folder. @throws Error for a row that names no test. */
export function readRows(root: URL): readonly Row[] {
  const page = readFileSync(new URL('docs/conformance.md', root), 'utf8')
  const lines = page.split('\n').filter(line => /^\| (?!specification|---)/.test(line))
  return lines.map(line => {
    const [, name, file, titles] = /^\| (.+?) \|.*\| `(test\/[\w/.-]+)`: (.+) \|$/.exec(line) ?? []
    if (!name || !file || !titles) throw new Error(`docs/conformance.md: no test in ${line}`)
    return { name, file, titles: titles.split(' · ') }
  })
}

/** Prints the full title of a test: one that runs through both handlers has one title. */
export function printTitle(names: readonly string[]): string {
  return names.filter(name => !/^through (fetch|node:http|%s)$/.test(name)).join(' > ')
}
