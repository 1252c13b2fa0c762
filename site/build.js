// Builds the site: `npm run build`. Its pages are docs/ as they stand; the README is the first one.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = join(HERE, '..')
const PAGES = join(HERE, 'pages')
const REPOSITORY = 'https://github.com/rest-conventions/rest-conventions/blob/main/'
/** Where the files stand in the site that are not in docs/. */
const MOVED = { 'README.md': 'index.md', 'CHANGELOG.md': 'changelog.md' }

await rm(PAGES, { recursive: true, force: true })
await cp(join(ROOT, 'docs'), PAGES, { recursive: true })
const found = await readdir(PAGES, { recursive: true })
const files = [...Object.keys(MOVED), ...found.map(name => posix.join('docs', name))]
const titles = []
for (const file of files.filter(name => name.endsWith('.md'))) {
  const text = await readFile(join(ROOT, file), 'utf8')
  const page = toPage(file)
  const move = (_, target) => `](${moveLink(target, file)})`
  await writeFile(join(PAGES, page), text.replace(/\]\((?!https?:|mailto:|#)([^)\s]+)\)/g, move))
  const [, title = page] = /^# (.+)$/m.exec(text) ?? []
  titles.push(`- [${title}](/${page.replace(/\.md$/, '.html')})`)
}
await mkdir(join(PAGES, 'public'))
await writeFile(join(PAGES, 'public/llms.txt'), `# rest-conventions\n\n${titles.join('\n')}\n`)
await build(HERE)

/** The path of a file of the repository in the site; `undefined` for a file that is not there. */
function toPage(file) {
  return (
    MOVED[file] ?? (/^docs\/.*\.(?:md|png)$/.test(file) ? file.slice('docs/'.length) : undefined)
  )
}

/** Leads a link of a file to the page, or to the file in the repository. */
function moveLink(target, from) {
  const [path, hash] = target.split('#')
  const file = posix.join(posix.dirname(from), path)
  const page = toPage(file)
  const moved = page && posix.relative(posix.dirname(toPage(from)), page)
  return `${moved ? `./${moved}` : REPOSITORY + file}${hash === undefined ? '' : `#${hash}`}`
}
