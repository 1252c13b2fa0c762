// The text that patterns and searches of one request may look through: one budget over all of its parts, in memory.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

const COUNT = 1000

async function served() {
  const notes = defineCollection({
    name: 'notes',
    id: 'integer',
    schema: z.object({ text: z.string(), done: z.boolean().default(false) }),
    store: memoryStore(),
    search: ['text'],
    operations: ['list', 'patch', 'patchMany'],
  })
  const marks = defineCollection({
    name: 'marks',
    schema: z.object({ text: z.string(), note_id: z.int() }),
    store: memoryStore(),
    parents: { note_id: 'notes' },
  })
  const api = defineApi({ collections: { notes, marks }, batch: true, onError: () => undefined })
  const all = api.collection(notes)
  await all.create(Array.from({ length: COUNT }, () => ({ text: 'a'.repeat(1000) })))
  const marked = Array.from({ length: COUNT }, () => ({ text: 'a'.repeat(1000), note_id: 1 }))
  await api.collection(marks).create(marked)
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await api.fetch(new Request(`http://localhost${path}`, init))
    const body: unknown = JSON.parse((await answer.text()) || 'null')
    return { status: answer.status, types: Object(body).errors?.map(({ type }: Issue) => type) }
  }
  return { all, ask }
}

interface Issue {
  readonly type: string
}

/** Each of them is compared with each character some 30 times, in vain: one fits into the budget. */
const worst = (n: number) => `%${'_a'.repeat(15)}b${n}%`
/** The longest text of it is searched for, which stops at each character. */
const repeated = (n: number) => `%${'a'.repeat(90)}b${n}%`

const where = (patterns: readonly string[]) =>
  `/notes?where=${encodeURIComponent(JSON.stringify({ or: patterns.map(like => ({ text: { like } })) }))}`
const list = (count: number, make: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n))
const REFUSED = { status: 400, types: ['too_much_text'] }

test.each<[string, number, number | undefined, (n: number) => string]>([
  ['patterns', 1, 10, worst],
  ['patterns of a repeated text', 40, 49, repeated],
  ['short patterns', 49, undefined, n => `%${n}z%`],
])('of %s', async (_, few, many, make) => {
  const { ask } = await served()
  expect((await ask(where(list(few, make)))).status).toBe(200)
  // The next request has a budget of its own.
  expect((await ask(where(list(few, make)))).status).toBe(200)
  if (many !== undefined) expect(await ask(where(list(many, make)))).toEqual(REFUSED)
})

test('of filters through relations', async () => {
  const { ask } = await served()
  const through = (count: number) => {
    const any = list(count, worst).map(like => ({ marks: { text: { like } } }))
    return ask(`/notes?where=${encodeURIComponent(JSON.stringify({ or: any }))}`)
  }
  expect((await through(1)).status).toBe(200)
  expect(await through(10)).toEqual(REFUSED)
})

test('of the steps of a batch together', async () => {
  const { all, ask } = await served()
  const batch = (steps: number) =>
    ask('/batch', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(
        list(steps, worst).map(like => ({
          method: 'PATCH',
          path: `/notes?text[like]=${encodeURIComponent(like)}`,
          body: { done: true },
        })),
      ),
    })
  expect((await batch(1)).status).toBe(200)
  expect(await batch(10)).toEqual(REFUSED)
  expect(await all.count({ done: true })).toBe(0)
})
