// docs/react-admin.md in Chromium: the forms of react-admin show why a write is refused, and save it once it is right.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

/** An api with cars, and one whose errors are by field. */
const buildApi = (errors: 'list' | 'byField') =>
  defineApi({
    collections: [
      defineCollection({
        name: 'cars',
        schema: z.object({ plate: z.string().min(3), color: z.enum(['red', 'blue']) }),
        store: memoryStore(),
        unique: ['plate'],
        id: 'integer',
      }),
    ],
    dialects: [simpleRest({ errors })],
  })

/** Bundles the admin with the http clients of the documentation. */
async function bundleAdmin(): Promise<string> {
  const docs = await readFile(join(import.meta.dirname, '../../docs/react-admin.md'), 'utf8')
  const clients = blocksOf(docs).filter(({ text }) => text.includes('fetchUtils.fetchJson'))
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

  /** Opens the admin at a page, on an api of its own with one car. */
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
    const go = async (path: string) => {
      await page.goto(`${ui.url}/?api=${server.url}&client=${client}&at=${path}#/cars/${path}`)
      await page.getByLabel('plate').waitFor()
    }
    const close = async () => {
      await page.close()
      await server.close()
      await api.close()
    }
    return {
      page,
      go,
      send,
      close,
      list: () => fetch(`${server.url}/cars`).then(each => each.json()),
    }
  }

  const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click()
  const says = (page: Page, id: string, text: string) =>
    page.locator(`[id="${id}"]`, { hasText: text }).waitFor()

  it.each([
    ['an api whose errors are by field', 'byField', ''],
    ['the httpClient of six lines', 'list', 'httpClient'],
  ] as const)(
    '%s: a refused create shows the messages, is corrected and saved',
    async (_, errors, client) => {
      const { page, go, list, close } = await open(errors, client)
      await go('create')
      await page.getByLabel('plate').fill('x')
      await page.getByLabel('color').fill('pink')
      await save(page)
      await says(page, 'plate-error', 'plate must have at least 3 characters')
      await says(page, 'color-error', 'color must be one of red, blue')
      await page.getByLabel('plate').fill('AA-1')
      await page.getByLabel('color').fill('')
      await save(page)
      await says(page, 'color-error', 'color')
      await page.getByLabel('color').fill('blue')
      await save(page)
      await says(page, 'plate-error', 'Another item has the same plate')
      await page.getByLabel('plate').fill('BB-2')
      await save(page)
      await page.getByText('The list').waitFor()
      expect(await list()).toMatchObject([{ plate: 'AA-1' }, { plate: 'BB-2', color: 'blue' }])
      await close()
    },
  )

  it('an edit of an item that has changed says so, and overwrites nothing', async () => {
    const { page, go, send, list, close } = await open('byField', 'conditional')
    await go('1')
    await page.waitForFunction("document.querySelector('input').value === 'AA-1'")
    await send('/cars/1', 'PATCH', { color: 'blue' })
    await page.getByLabel('plate').fill('CC-3')
    await save(page)
    await says(page, 'notice', 'Read it again')
    expect(await list()).toMatchObject([{ plate: 'AA-1', color: 'blue' }])
    expect(await page.getByLabel('plate').inputValue()).toBe('CC-3')
    // The second Save is a decision: it is for the item as it is now.
    await save(page)
    await page.getByText('The list').waitFor()
    expect(await list()).toMatchObject([{ plate: 'CC-3', color: 'red' }])
    await close()
  })
})
