// docs/refine.md in Chromium: its data provider with Refine's hooks lists, filters, creates, edits and deletes, and shows
// errors at the fields.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { CHROMIUM, FLAGS, isMissing } from '../html/chromium.ts'
import { blocksOf } from '../markdown.ts'
import { bundleApp, serveApp } from './bundled-app.ts'
import { serve } from './line.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(import.meta.dirname, 'refine')
const missing = !existsSync(join(FOLDER, 'node_modules'))
if (missing)
  console.warn('Skipped: Refine is not installed. Run npm ci --prefix test/client/refine')

/** Bundles the admin with the data provider of the documentation. */
async function bundleAdmin(): Promise<string> {
  const docs = await readFile(join(ROOT, 'docs/refine.md'), 'utf8')
  const provider = blocksOf(docs).find(({ text }) => text.includes('export function'))?.text ?? ''
  return bundleApp(FOLDER, ['provider.js', provider], {
    'rest-conventions/client/forms': join(ROOT, 'src/client/forms.ts'),
    'rest-conventions/client': join(ROOT, 'src/client/index.ts'),
  })
}

const makers = defineCollection({
  name: 'makers',
  id: 'integer',
  schema: z.object({ name: z.string() }),
  store: memoryStore(),
})
const cars = defineCollection({
  name: 'cars',
  id: 'integer',
  schema: z.object({
    plate: z.string().min(3, 'is too short'),
    color: z.enum(['red', 'blue', 'green']),
    model: z.object({ name: z.string().min(2, 'needs a name') }),
    maker_id: z.int().nullable().default(null),
    price: z.int().default(5),
  }),
  store: memoryStore(),
  unique: ['plate'],
  references: { maker_id: 'makers' },
})

describe.skipIf(missing || isMissing)('Refine', { timeout: 600_000 }, () => {
  const api = defineApi({ collections: { makers, cars } })
  const own = api.asSystem().collection(cars)
  let browser: Browser
  let ui: Awaited<ReturnType<typeof serve>>
  let server: Awaited<ReturnType<typeof serve>>
  let page: Page

  beforeAll(async () => {
    ui = await serveApp(await bundleAdmin())
    server = await serve(api.handler)
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    page = await browser.newPage()
    page.setDefaultTimeout(240_000)
    const [maker] = await api
      .asSystem()
      .collection(makers)
      .create([{ name: 'Renault' }, { name: 'Fiat' }])
    const COLORS = ['red', 'blue', 'green'] as const
    for (let at = 1; at <= 12; at++)
      await own.create({
        plate: `car-${`${at}`.padStart(2, '0')}`,
        color: COLORS[at % 3] ?? 'red',
        model: { name: 'Clio' },
        maker_id: at === 1 ? (maker?.id ?? null) : null,
        price: at,
      })
  })
  afterAll(async () => {
    await browser?.close()
    await ui?.close()
    await server?.close()
    await api.close()
  })

  const go = async (shown: object) => {
    await page.goto('about:blank')
    await page.goto(`${ui.url}/?api=${server.url}#${encodeURIComponent(JSON.stringify(shown))}`)
  }
  const plates = () => page.locator('li span').allInnerTexts()
  const numbers = (...all: number[]) => all.map(at => `car-${`${at}`.padStart(2, '0')}`)

  const filter = (operator: string, field: string, value?: unknown) => ({
    list: { pagination: { pageSize: 20 }, filters: [{ field, operator, value }] },
  })
  test.each<[name: string, shown: object, found: string[]]>([
    ['a page', { list: {} }, numbers(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)],
    ['the second page', { list: { pagination: { currentPage: 2 } } }, numbers(11, 12)],
    ['a smaller page', { list: { pagination: { currentPage: 3, pageSize: 2 } } }, numbers(5, 6)],
    [
      'the other order',
      { list: { pagination: { pageSize: 2 }, sorters: [{ field: 'price', order: 'desc' }] } },
      numbers(12, 11),
    ],
    [
      'two orders',
      {
        list: {
          pagination: { pageSize: 3 },
          sorters: [
            { field: 'color', order: 'asc' },
            { field: 'price', order: 'desc' },
          ],
        },
      },
      numbers(10, 7, 4),
    ],
    ['one color', filter('eq', 'color', 'red'), numbers(3, 6, 9, 12)],
    ['two colors', filter('nin', 'color', ['red', 'blue']), numbers(2, 5, 8, 11)],
    ['prices between', filter('between', 'price', [4, 5]), numbers(4, 5)],
    ['part of a plate', filter('containss', 'plate', '-1'), numbers(10, 11, 12)],
    [
      'the beginning of a plate',
      filter('startswiths', 'plate', 'car-0'),
      numbers(1, 2, 3, 4, 5, 6, 7, 8, 9),
    ],
    ['those with a maker', filter('nnull', 'maker_id'), numbers(1)],
    [
      'one or the other',
      {
        list: {
          filters: [
            {
              operator: 'or',
              value: [
                { field: 'price', operator: 'lt', value: 2 },
                { field: 'price', operator: 'gte', value: 12 },
              ],
            },
          ],
        },
      },
      numbers(1, 12),
    ],
    ['items by their ids', { many: [1, 2] }, ['Renault', 'Fiat']],
  ])('shows %s', async (_, shown, found) => {
    await go(shown)
    await page.locator('li').first().waitFor()
    expect(await plates()).toEqual(found)
    if ('list' in shown && !JSON.stringify(shown).includes('filters'))
      expect(await page.innerText('#total')).toBe('12')
  })

  test('shows related items of one request', async () => {
    await go({ list: { pagination: { pageSize: 1 }, meta: { include: ['maker'] } } })
    await page.getByText('Renault').waitFor()
  })

  test('a filter that is unknown is told', async () => {
    await go(filter('contains', 'plate', 'x'))
    await page.getByText('The filter contains is not supported').waitFor()
  })

  const save = (notice: RegExp | string) =>
    Promise.all([
      page.getByText(notice).first().waitFor(),
      page.getByRole('button', { name: 'Save' }).click(),
    ])
  const errorAt = (name: string) => page.locator(`[id="${name}-error"]`)

  test('a refused create shows errors at the fields, and is corrected and saved', async () => {
    await go({ form: { action: 'create' } })
    await page.fill('#plate', 'x')
    await page.fill('#color', 'pink')
    await page.fill('[id="model.name"]', 'y')
    await save('is too short')
    for (const name of ['plate', 'color', 'model.name'])
      await expect.poll(() => errorAt(name).innerText()).not.toBe('')
    await page.fill('#plate', 'car-01')
    await page.fill('#color', 'red')
    await page.fill('[id="model.name"]', 'Punto')
    await page.getByRole('button', { name: 'Save' }).click()
    // Another car has it.
    await expect.poll(() => errorAt('plate').innerText()).toContain('the same plate')
    await page.fill('#plate', 'new-01')
    await save('Saved')
    expect(await own.list({ plate: 'new-01' }).first()).toMatchObject({ model: { name: 'Punto' } })
  })

  test('an edit is filled, and saved', async () => {
    await go({ form: { action: 'edit', id: 2 } })
    await expect.poll(() => page.inputValue('#plate')).toBe('car-02')
    await page.fill('#color', 'blue')
    await save('Saved')
    expect(await own.read(2)).toMatchObject({ color: 'blue', plate: 'car-02' })
    await page.fill('#color', 'red')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(async () => (await own.read(2)).color).toBe('red')
  })

  test('an edit of what has changed says so and overwrites nothing; a second save does', async () => {
    await go({ form: { action: 'edit', id: 3 } })
    await expect.poll(() => page.inputValue('#plate')).toBe('car-03')
    await own.patch(3, { color: 'green' })
    await page.fill('#color', 'blue')
    await save(/changed|Read it again/)
    expect((await own.read(3)).color).toBe('green')
    expect(await page.inputValue('#color')).toBe('blue')
    await save('Saved')
    expect((await own.read(3)).color).toBe('blue')
  })

  test('a deletion takes the item out of the list', async () => {
    await go({ list: { pagination: { pageSize: 20 } } })
    await page.getByRole('button', { name: 'Delete car-04' }).click()
    await expect.poll(plates).not.toContain('car-04')
    expect(await own.list({ plate: 'car-04' }).first()).toBeUndefined()
  })

  test('an item that is gone is told', async () => {
    await go({ form: { action: 'edit', id: 5 } })
    await expect.poll(() => page.inputValue('#plate')).toBe('car-05')
    await own.delete(5)
    await page.fill('#color', 'blue')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => page.innerText('#notice')).not.toMatch(/^(Saved)?$/)
  })
})
