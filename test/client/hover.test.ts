// What an editor shows of the client: plain types that one reads at a glance, and messages with the names that there are.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Editor, openEditor } from '../language-server.ts'

const PROGRAM = `import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
import { createClient } from 'rest-conventions/client'
import { z } from 'zod'

const models = defineCollection({ name: 'models', schema: z.object({ name: z.string() }), store: memoryStore() })
const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    plate: z.string(),
    color: z.enum(['red', 'blue']).default('red'),
    price: z.int(),
    sold: z.boolean().default(false),
    note: z.string().optional(),
    tags: z.array(z.string()).default([]),
    model: z.object({ name: z.string(), year: z.int().optional() }),
    model_id: z.uuid().nullable(),
  }),
  store: memoryStore(),
  id: 'integer',
  actions: {
    buy: { on: 'item', input: z.object({ offer: z.int() }), output: 'item', run: ({ update }) => update({ sold: true }) },
  },
})
const api = defineApi({ collections: { cars, models } })
const client = createClient<typeof api>('https://api.example')

export const car = await client.cars.read(7)
export const made = await client.cars.create({ plate: 'x', price: 1, model: { name: 'x' }, model_id: null })
export const page = await client.cars.list({ color: 'red' }).page()
export const part = await client.cars.list({ fields: ['id', 'model.name'] }).first()
export const own = await api.collection(cars).read(7)
export const bought = await client.cars.buy(7, { offer: 1 })

client.cars.list({ sort: 'prise' })
client.cars.patch(7, { prise: 1 })
client.cars.buy(7, { ofer: 1 })
client.cars.search('x')
`

let editor: Editor
beforeAll(async () => {
  editor = await openEditor(PROGRAM)
})
afterAll(() => editor.close())

const ITEM = `Readonly<{
    plate: string;
    color: "blue" | "red";
    price: number;
    sold: boolean;
    note?: string | undefined;
    tags: string[];
    model: {
        name: string;
        year?: number | undefined;
    };
    model_id: string | null;
}> & ServerFields<number>`

test.each([
  ['const |car = ', `const car: ${ITEM}`],
  ['const |made', `const made: ${ITEM}`],
  ['const |own', `const own: ${ITEM}`],
  ['const |bought', `const bought: ${ITEM}`],
  ['const |page', `const page: Page<${ITEM}>`],
  [
    'const |part',
    `const part: {
    readonly id: number;
    readonly model: {
        readonly name: string;
    };
} | undefined`,
  ],
  [
    'cars.|buy(7, { offer',
    `(property) buy: (target: Target<number>, input: {
    offer: number;
}, options?: WriteOptions<AnyPrincipal> | undefined) => Promise<${ITEM}>`,
  ],
])('%s', async (place, text) => {
  expect((await editor.hover(place)).replaceAll(/^```tsx?\n|\n```\n*$/g, '')).toBe(text)
})

test.each([
  ['= |defineCollection(', 'Defines a collection: '],
  ['= |defineApi(', 'Defines an api. '],
  ['= |createClient<', 'Creates a client of an api: '],
])('what stands below the types of %s begins with words', async (place, words) => {
  expect(await editor.hover(place)).toContain(`<...>${words}`)
})

describe('an error', () => {
  test.each([
    [
      "client.cars.list({ sort: 'prise' })",
      ['"-price"', '"price"', '"created_at"', `Did you mean '"price"'`],
      450,
    ],
    ['client.cars.patch(7, { prise: 1 })', ["Did you mean to write 'price'?"], 450],
    ['client.cars.buy(7, { ofer: 1 })', ["Did you mean to write 'offer'?"], 200],
    ["client.cars.search('x')", ["Property 'search' does not exist"], 400],
  ])('in %s names what there is, and is no longer than a few lines', async (line, words, most) => {
    const message = (await editor.errors()).get(line) ?? ''
    for (const word of words) expect(message).toContain(word)
    expect(message.length).toBeLessThan(most)
  })

  test('is nowhere else', async () => {
    expect((await editor.errors()).size).toBe(4)
  })
})
