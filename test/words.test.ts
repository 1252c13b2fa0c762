// A reader who searches the guides for the usual word finds it in a heading, or in the first sentence below one.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sectionsOf } from './markdown.ts'
import { WORDS } from './searched-words.ts'

const root = join(import.meta.dirname, '..')
const guides = (await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md'))
const pages = await Promise.all(
  ['README.md', ...guides.map(name => `docs/${name}`)].map(path =>
    readFile(join(root, path), 'utf8'),
  ),
)
const places = pages.flatMap(sectionsOf).flatMap(({ heading, first }) => [heading, first])

it.each(WORDS)('%s', word => {
  const words = new RegExp(`(?<![\\p{L}\\p{N}])${word}(?:s|es)?(?![\\p{L}\\p{N}])`, 'iu')
  expect(places.filter(place => words.test(place)).length).toBeGreaterThan(0)
})
