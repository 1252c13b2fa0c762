// Texts at random in many scripts, and searches for parts of them, said in plain JavaScript. The same items live in
// several stores; some of their texts are written by other programs, beside the library.
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineApi, defineCollection, type Store } from '../../src/index.ts'
import { createRandom, type Random } from './trees.ts'

/** A store, and how another program writes a title; `undefined` where none can. */
export interface Searched {
  readonly store: Store
  readonly write?: ((id: number, title: string) => Promise<unknown>) | undefined
}

const Book = z.object({
  title: z.string(),
  note: z.string().nullable().optional(),
  author: z.object({ name: z.string(), born: z.int().optional() }).optional(),
  day: z.iso.date().optional(),
})

type Values = z.input<typeof Book>

const defineBooks = (store: Store) =>
  defineCollection({
    name: 'books',
    id: 'integer',
    schema: Book,
    store,
    maxLimit: 1000,
    search: ['title', 'note', 'author.name', 'day'],
  })

const PIECES = [
  ...'aAeEiIıİoOsSßẞKkÅåΩωΣσςæŒøđłé',
  ...['e\u0301', 'E\u0300\u0323', 'ﬁ', '½', 'Ⅷ', 'ｓ', '２', '2', '-', '%', '_', '\\', "'", '"'],
  ...[
    '한',
    '국',
    '\u1112\u1161\u11ab',
    '가',
    'が',
    'か\u3099',
    'カ',
    'ｶﾞ',
    'हिन्दी',
    'ไทย',
    'שָׁלוֹם',
    'مُحَمَّد',
  ],
  ...[
    '❤\ufe0f',
    '\u{1F600}',
    '\u{1D400}',
    '\u0345',
    '\u0307',
    '\u200d',
    'ŉ',
    'ǰ',
    'ΐ',
    'Ǆ',
    '…',
    '㎏',
    '¨',
  ],
]

function makeText({ below, pick }: Random): string {
  const words = Array.from({ length: 1 + below(3) }, () =>
    Array.from({ length: 1 + below(5) }, () => pick(PIECES)).join(''),
  )
  return words.join(pick([' ', '  ', '\n']))
}

function makeValues(random: Random): Values {
  const { below, pick, maybe } = random
  return {
    title: makeText(random),
    note: maybe(pick([null, '', makeText(random)])),
    author: maybe({ name: makeText(random), born: maybe(below(9)) }),
    day: maybe(pick(['2024-02-29', '1969-12-31'])),
  }
}

/** Folds character by character, as the docs say it. */
function foldByHand(text: string): string {
  const characters = [...text.normalize('NFKD')].filter(
    each => !/\p{M}/u.test(each) || !/[\p{Diacritic}\p{Variation_Selector}]/u.test(each),
  )
  return characters.map(each => each.toLowerCase().replace('ς', 'σ')).join('')
}

function isFound({ title, note, author, day }: Values, q: string): boolean {
  const texts = [title, note, author?.name, day].map(text => foldByHand(text ?? ''))
  return q.split(/\s+/).every(word => texts.some(text => text.includes(foldByHand(word))))
}

/** Makes a search for a part of a text, in another form. */
function makeSearch(texts: readonly string[], { below, pick }: Random): string {
  const word = () => {
    const characters = [...pick(pick(texts).split(/\s+/))]
    const from = below(characters.length)
    const part = characters.slice(from, from + 1 + below(4)).join('')
    const change = pick([
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => text.toLowerCase(),
      (text: string) => text.normalize('NFD'),
      (text: string) => text.normalize('NFKC'),
      // In full width.
      (text: string) =>
        text.replace(/[!-~]/g, each => String.fromCodePoint(each.charCodeAt(0) + 0xfee0)),
    ])
    return change(part)
  }
  return Array.from({ length: 1 + below(2) }, word).join(' ')
}

const ROUND = 100

/**
 * Searches for parts of random texts in each store.
 * @returns how many texts and searches there were, and how many searches found some of the items but not all.
 */
export async function searchStores(
  stores: Readonly<Record<string, Searched>>,
  count: number,
  seed?: number,
): Promise<{ texts: number; searches: number; telling: number }> {
  const random = createRandom(seed)
  const opened = Object.entries(stores).map(([name, { store, write }]) => {
    const books = defineBooks(store)
    const api = defineApi({ collections: { books } })
    return { name, write, fetch: api.fetch, resource: api.collection(books) }
  })
  let [texts, searches, telling] = [0, 0, 0]
  while (texts < count) {
    const items = Array.from({ length: ROUND / 2 }, () => makeValues(random))
    // Some items get other texts: by the library, or by another program that knows nothing of it.
    const later = items.map(values =>
      random.below(2) === 0 ? { ...values, title: makeText(random) } : values,
    )
    const ways = items.map(() => random.below(2) === 0)
    const words = [...items, ...later].flatMap(({ title, author, day }) =>
      [title, author?.name, day].filter(text => text !== undefined),
    )
    const asked = Array.from({ length: ROUND }, () => makeSearch(words, random))
    const expected = asked.map(q => later.flatMap((each, at) => (isFound(each, q) ? [at] : [])))
    for (const { name, write, fetch, resource } of opened) {
      const ids: number[] = []
      for (const values of items) ids.push((await resource.create(values)).id)
      for (const [at, { title }] of later.entries()) {
        if (title === items[at]?.title) continue
        const id = ids[at] ?? 0
        await (write && ways[at] ? write(id, title) : resource.patch(id, { title }))
      }
      for (const [at, q] of asked.entries()) {
        const query = new URLSearchParams({ q, sort: 'id', limit: '1000', fields: 'id' })
        const response = await fetch(new Request(`http://localhost/books/search?${query}`))
        const found = z.array(z.object({ id: z.int() })).parse(await response.json())
        const places = found.map(({ id }) => ids.indexOf(id))
        assert.deepEqual(places, expected[at], `${name}: ${JSON.stringify(q)}`)
        assert.equal(response.headers.get('x-result-count'), String(places.length))
      }
      for (const id of ids) await resource.delete(id)
    }
    texts += words.length
    searches += asked.length
    telling += expected.filter(each => each.length > 0 && each.length < items.length).length
  }
  return { texts, searches, telling }
}
