// Writes the tables of docs/errors.md from the table of error types: `npm run docs:errors`.
import { readFileSync, writeFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { pathToFileURL } from 'node:url'
import { ERROR_TYPES } from '../src/errors.ts'

/** Replaces the tables of the page, and keeps the introduction above them. */
export function printErrorsPage(page: string): string {
  const [introduction = ''] = page.split('\n## 400 ', 1)
  const sections = Object.entries(ERROR_TYPES).map(([status, types]) => {
    const rows = Object.entries(types).map(([type, meaning]) => `| \`${type}\` | ${meaning} |`)
    const title = `\n## ${status} ${STATUS_CODES[status]}\n`
    return [title, '| type | what happened, and what to do |', '|---|---|', ...rows, ''].join('\n')
  })
  return introduction + sections.join('')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const page = new URL('../docs/errors.md', import.meta.url)
  writeFileSync(page, printErrorsPage(readFileSync(page, 'utf8')))
}
