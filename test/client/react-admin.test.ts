// docs/react-admin.md in Chromium: the forms of react-admin show why a write is refused, and save it once it is right;
// its lists page, sort, filter and follow references.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { simpleRest } from '../../src/dialects/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { CHROMIUM, FLAGS, isMissing } from '../html/chromium.ts'
import { blocksOf } from '../markdown.ts'
import { bundleApp, serveApp } from './bundled-app.ts'
import { serve } from './line.ts'

const FOLDER = join(import.meta.dirname, 'react-admin')
const missing = !existsSync(join(FOLDER, 'node_modules'))
if (missing)
  console.warn('Skipped: react-admin is not installed. Run npm ci --prefix test/client/react-admin')

/** An api with cars and their options, and one whose errors are by field. */
function buildApi(errors: 'list' | 'byField') {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      plate: z.string().min(3),
      color: z.enum(['red', 'blue', 'green']),
      model: z
        .object({ name: z.string().min(2) })
        .nullable()
        .default(null),
    }),
    store: memoryStore(),
    unique: ['plate'],
    id: 'integer',
  })
  const options = defineCollection({
    name: 'options',
    schema: z.object({ car_id: z.int(), name: z.string() }),
    store: memoryStore(),
    references: { car_id: 'cars' },
    id: 'integer',
  })
  return defineApi({ collections: [cars, options], dialects: [simpleRest({ errors })] })
}

const Cars = z.array(z.looseObject({ color: z.string() }))

/** Bundles the admin with the http clients of the documentation. */
async function bundleAdmin(): Promise<string> {
  const docs = await readFile(join(import.meta.dirname, '../../docs/react-admin.md'), 'utf8')
  const clients = blocksOf(docs).filter(({ text }) =>
    /fetchUtils\.fetchJson|export const nullModel/.test(text),
  )
  const source = clients.map(({ text }) => text.replace(/^import .*$/m, '')).join('\n')
  const module = `import { fetchUtils } from 'ra-core'\n${source}`
  return bundleApp(FOLDER, ['clients.jsx', module])
}

describe.skipIf(missing || isMissing)('react-admin', { timeout: 600_000 }, () => {
  let browser: Browser
  let ui: Awaited<ReturnType<typeof serve>>

  beforeAll(async () => {
    ui = await serveApp(await bundleAdmin())
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  })
  afterAll(async () => {
    await browser?.close()
    await ui?.close()
  })

  /** Opens the admin on an api of its own, with one car. */
  async function open(errors: 'list' | 'byField', client: string) {
    const api = buildApi(errors)
    const server = await serve(api.handler)
    const send = (path: string, method: string, body: object) =>
      fetch(server.url + path, {
        method,
        redirect: 'manual',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    await send('/cars', 'POST', { plate: 'AA-1', color: 'red' })
    const page = await browser.newPage()
    page.setDefaultTimeout(240_000)
    return {
      page,
      send,
      go: (path: string) =>
        page.goto(`${ui.url}/?api=${server.url}&client=${client}&at=${path}#/${path}`),
      fill: (name: string, text: string) => page.getByLabel(name).fill(text),
      press: (name: string) => page.getByRole('button', { name, exact: true }).click(),
      says: (id: string, text: string) => page.locator(`[id="${id}"]`, { hasText: text }).waitFor(),
      /** Waits until an input has been filled. */
      filled: (name: string, text: string) =>
        expect.poll(() => page.getByLabel(name).inputValue()).toBe(text),
      shown: () => page.locator('li').allInnerTexts(),
      list: async () => Cars.parse(await (await fetch(`${server.url}/cars?limit=50`)).json()),
      close: async () => {
        await page.close()
        await server.close()
        await api.close()
      },
    }
  }
  let admin: Awaited<ReturnType<typeof open>>

  describe.each([
    ['an api whose errors are by field', 'byField', ''],
    ['the httpClient of six lines', 'list', 'httpClient'],
  ] as const)('a create, by %s', (_, errors, client) => {
    beforeAll(async () => {
      admin = await open(errors, client)
      await admin.go('cars/create')
    })
    afterAll(() => admin.close())

    test('that is refused shows all messages at the fields', async () => {
      await admin.fill('plate', 'x')
      await admin.fill('color', 'pink')
      await admin.press('Save')
      await admin.says('plate-error', 'plate must have at least 3 characters')
      await admin.says('color-error', 'color must be one of red, blue, green')
    })

    test('without what is required says so at the field', async () => {
      await admin.fill('plate', 'AA-1')
      await admin.fill('color', '')
      await admin.press('Save')
      await admin.says('color-error', 'color')
    })

    test('of what exists says so at the field', async () => {
      await admin.fill('color', 'blue')
      await admin.press('Save')
      await admin.says('plate-error', 'Another item has the same plate')
    })

    test('that is corrected is saved', async () => {
      await admin.fill('plate', 'BB-2')
      await admin.press('Save')
      await admin.page.getByText('The list').waitFor()
      const made = { plate: 'BB-2', color: 'blue', model: null }
      expect(await admin.list()).toMatchObject([{ plate: 'AA-1' }, made])
    })
  })

  describe('an edit of an item that has changed', () => {
    beforeAll(async () => {
      admin = await open('byField', 'conditional')
      await admin.go('cars/1')
    })
    afterAll(() => admin.close())

    test('says so, and overwrites nothing', async () => {
      await admin.filled('plate', 'AA-1')
      await admin.send('/cars/1', 'PATCH', { color: 'blue' })
      await admin.fill('plate', 'CC-3')
      await admin.press('Save')
      await admin.says('notice', 'Read it again')
      expect(await admin.list()).toMatchObject([{ plate: 'AA-1', color: 'blue' }])
    })

    test('keeps what was typed', async () => {
      expect(await admin.page.getByLabel('plate').inputValue()).toBe('CC-3')
    })

    test('is saved by a second Save, which is a decision for the item as it is now', async () => {
      await admin.press('Save')
      await admin.page.getByText('The list').waitFor()
      expect(await admin.list()).toMatchObject([{ plate: 'CC-3', color: 'red' }])
    })
  })

  describe('a nested object that may be null', () => {
    beforeAll(async () => {
      admin = await open('byField', 'conditional')
      await admin.go('cars/1')
    })
    afterAll(() => admin.close())

    test('stays null if nobody fills it', async () => {
      await admin.filled('plate', 'AA-1')
      await admin.fill('color', 'blue')
      await admin.press('Save')
      await admin.page.getByText('The list').waitFor()
      expect(await admin.list()).toMatchObject([{ color: 'blue', model: null }])
    })

    test('has its errors at its fields', async () => {
      await admin.go('cars/1')
      await admin.filled('color', 'blue')
      await admin.fill('model.name', 'x')
      await admin.press('Save')
      await admin.says('model.name-error', 'model.name must have at least 2 characters')
    })

    test('is saved, and is null again once it is emptied', async () => {
      await admin.fill('model.name', 'Clio')
      await admin.press('Save')
      await admin.page.getByText('The list').waitFor()
      expect(await admin.list()).toMatchObject([{ model: { name: 'Clio' } }])
      await admin.go('cars/1?again')
      await admin.filled('model.name', 'Clio')
      await admin.fill('model.name', '')
      await admin.press('Save')
      await admin.page.getByText('The list').waitFor()
      expect(await admin.list()).toMatchObject([{ model: null }])
    })
  })

  describe('lists', () => {
    beforeAll(async () => {
      admin = await open('list', 'conditional')
      for (let at = 2; at <= 12; at++)
        await admin.send('/cars', 'POST', { plate: `AA-${at}`, color: at % 2 ? 'red' : 'blue' })
      for (const name of ['Radio', 'Roof'])
        await admin.send('/options', 'POST', { car_id: name === 'Roof' ? 2 : 1, name })
      await admin.go('cars')
    })
    afterAll(() => admin.close())

    const plates = (...all: readonly string[]) => expect.poll(admin.shown).toEqual([...all])

    test('show ten items and the total', async () => {
      await expect.poll(async () => (await admin.shown()).length).toBe(10)
      expect(await admin.page.innerText('#total')).toBe('12')
    })

    test.each([
      ['show the next page', 'next', ['AA-11 red', 'AA-12 blue']],
      ['show pages of another size', 'two', ['AA-1 red', 'AA-2 blue']],
      ['are sorted', 'plate', ['AA-9 red', 'AA-8 blue']],
      ['are filtered by a value', 'red', ['AA-9 red', 'AA-7 red']],
      ['are filtered by several values', 'both', ['AA-9 red', 'AA-8 blue']],
    ] as const)('%s', async (_, button, shown) => {
      await admin.press(button)
      await plates(...shown)
    })

    test('update several items', async () => {
      await admin.press('paint')
      const greens = async () =>
        (await admin.list()).filter(({ color }) => color === 'green').length
      await expect.poll(greens).toBe(2)
    })

    test('delete an item', async () => {
      await admin.press('delete')
      await expect.poll(async () => (await admin.list()).length).toBe(11)
    })

    test('show what items refer to', async () => {
      await admin.go('options')
      await plates('Radio AA-1', 'Roof AA-2')
    })

    test('read items by their ids', () => admin.says('many', 'AA-1,AA-2'))
    test('read the items of a parent', () => admin.says('own', 'Radio'))

    test('delete several items', async () => {
      await admin.press('delete both')
      await plates()
    })
  })
})
