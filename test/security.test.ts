// docs/SECURITY.md: every promise is there, and the tests that it names are.
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const document = await readFile(join(root, 'docs', 'SECURITY.md'), 'utf8')

/** What stands in the third column of a promise: a file, and a test in it where one is named. */
interface Named {
  readonly file: string
  readonly title: string | undefined
}

const rows = [...document.matchAll(/^\| (\d+) \| (.+?) \| (.+?) \|.*\|$/gm)].map(
  ([, number = '', promise = '', tests = '']) => ({ number: Number(number), promise, tests }),
)

function namedIn(tests: string): Named[] {
  return tests
    .replace(/by hand: .*$/, '')
    .split('; ')
    .filter(text => text !== '')
    .map(text => {
      const [, file, title] = /^`([\w/-]+)`(?:: (.+))?$/.exec(text) ?? []
      if (file === undefined) throw new Error(`This names no test: ${text}`)
      return { file, title: title?.replaceAll('\\_', '_') }
    })
}

test('they are there, in their order', () => {
  const all = Array.from({ length: 36 }, (_, at) => at + 1)
  expect(rows.map(({ number }) => number)).toEqual(all)
})

describe('the tests that a promise names exist', () => {
  test.each(rows.map(({ number, promise, tests }) => [number, promise, tests] as const))(
    '%d: %s',
    async (_number, _promise, tests) => {
      const named = namedIn(tests)
      expect(named.length).toBeGreaterThan(0)
      for (const { file, title } of named) {
        // Cases that several files run have one of their own.
        const path = [`${file}.test.ts`, `${file}.ts`].find(each =>
          existsSync(join(root, 'test', each)),
        )
        const source = await readFile(join(root, 'test', path ?? file), 'utf8')
        if (title !== undefined) expect(source.includes(title), `${file}: ${title}`).toBe(true)
      }
    },
  )

  test('by hand', () => {
    const scripts = [...document.matchAll(/`(bench\/[\w/-]+\.ts)`/g)].map(([, path = '']) => path)
    expect(scripts.length).toBeGreaterThan(2)
    expect(scripts.filter(path => !existsSync(join(root, path)))).toEqual([])
  })
})

const pages = [
  'README.md',
  'bench/README.md',
  ...(await readdir(join(root, 'docs'), { recursive: true }))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

/** As GitHub names a heading: `## The items that are there` is `#the-items-that-are-there`. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

test.each(pages)('every link of %s within the project leads somewhere', async page => {
  const text = await readFile(join(root, page), 'utf8')
  const broken: string[] = []
  for (const [link, path = '', , heading] of text.matchAll(
    /\]\((?!https?:)([^)#]*)(#([^)]+))?\)/g,
  )) {
    const target = path === '' ? join(root, page) : join(root, dirname(page), path)
    if (!existsSync(target)) broken.push(link)
    else if (heading && !headingsOf(await readFile(target, 'utf8')).includes(heading))
      broken.push(link)
  }
  expect(broken).toEqual([])
})
