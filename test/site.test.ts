// The site, where its tools are installed: no link is dead, and its own search finds the words that readers type.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { WORDS } from './searched-words.ts'

const SITE = join(import.meta.dirname, '..', 'site')
const MINISEARCH = join(SITE, 'node_modules/minisearch/dist/es/index.js')
const isMissing = !existsSync(MINISEARCH)
if (isMissing) console.warn('Skipped: the site (run npm ci --prefix site)')

interface Search {
  search(words: string, options: object): readonly unknown[]
}

describe.skipIf(isMissing)('the site', () => {
  let search: Search
  // VitePress ends with an error for each link that leads nowhere.
  beforeAll(async () => {
    await promisify(execFile)('npm', ['run', 'build'], { cwd: SITE, maxBuffer: 2 ** 24 })
    const chunks = join(SITE, 'dist/assets/chunks')
    const name = (await readdir(chunks)).find(each => each.startsWith('@localSearchIndex')) ?? ''
    const [{ default: index }, { default: MiniSearch }] = await Promise.all(
      [join(chunks, name), MINISEARCH].map(path => import(pathToFileURL(path).href)),
    )
    search = MiniSearch.loadJSON(index, { fields: ['title', 'titles', 'text'] })
  }, 600_000)

  test.each(WORDS)('finds %s', word => {
    expect(search.search(word, { combineWith: 'AND', prefix: true }).length).toBeGreaterThan(0)
  })

  test('names its pages for programs', async () => {
    const text = await readFile(join(SITE, 'dist/llms.txt'), 'utf8')
    expect(text).toContain('- [Querying](/querying.md): Filter, sort, page and choose fields')
    const pages = [...text.matchAll(/\]\((\S+)\)/g)].map(([, page]) => page ?? '')
    expect(pages.filter(page => !existsSync(join(SITE, 'dist', page)))).toEqual([])
  })
})
