// Builds the site: `npm run build`. Its pages are docs/ as they stand; the README is the first one.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = join(HERE, '..')
const PAGES = join(HERE, 'pages')
const PUBLIC = join(PAGES, 'public')
const REPOSITORY = 'https://github.com/rest-conventions/rest-conventions/blob/main/'
/** Where the files stand in the site that are not in docs/. */
const MOVED = { 'README.md': 'index.md', 'CHANGELOG.md': 'changelog.md' }

await rm(PAGES, { recursive: true, force: true })
await cp(join(ROOT, 'docs'), PAGES, { recursive: true })
const found = await readdir(PAGES, { recursive: true })
const files = [...Object.keys(MOVED), ...found.map(name => posix.join('docs', name))]
const entries = []
for (const file of files.filter(name => name.endsWith('.md'))) {
  const text = await readFile(join(ROOT, file), 'utf8')
  const page = toPage(file)
  const move = (_, target) => `](${moveLink(target, file)})`
  const moved = text.replace(/\]\((?!https?:|mailto:|#)([^)\s]+)\)/g, move)
  await writeFile(join(PAGES, page), moved)
  // The page as Markdown, for programs.
  await mkdir(dirname(join(PUBLIC, page)), { recursive: true })
  await writeFile(join(PUBLIC, page), moved)
  entries.push({ page, line: describe(page, text) })
}
const isOptional = ({ page }) => page.startsWith('decisions/')
const llms = `# rest-conventions

> One declaration, a collection with a zod schema and a store, becomes a complete, correct REST resource.

## Docs

${entries
  .filter(entry => !isOptional(entry))
  .map(({ line }) => line)
  .join('\n')}

## Optional

${entries
  .filter(isOptional)
  .map(({ line }) => line)
  .join('\n')}
`
await writeFile(join(PUBLIC, 'llms.txt'), llms)
await build(HERE)

/** A line of llms.txt: the title of a page, its Markdown, and its first sentence. */
function describe(page, text) {
  const [, title = page] = /^# (.+)$/m.exec(text) ?? []
  const paragraph = text.split('\n\n').find(each => /^(?:[A-Z]|`[^`]|\[[^!])/.test(each)) ?? ''
  const plain = paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\s+/g, ' ')
  const [sentence = plain] = /^.*?\.(?= |$)/.exec(plain) ?? []
  return `- [${title}](/${page})${sentence && `: ${sentence.replace(/:$/, '.')}`}`
}

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
