// What axe says of each kind of page, in Chromium at the width of a phone: nothing.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { CHROMIUM, FLAGS, isMissing } from './chromium.ts'
import { UNFOLD } from './contrast.ts'
import { serve } from './fixture.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const VIOLATIONS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html.slice(0, 200))))`

const makeApi = () => {
  const owners = defineCollection({
    name: 'owners',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    id: 'integer',
    operations: ['list', 'read', 'create'],
  })
  const visits = defineCollection({
    name: 'visits',
    schema: z.object({
      plate: z.string().regex(/^[A-Z]{2}$/, 'must look like AB'),
      at: z.iso.datetime({ offset: true }).meta({ title: 'Time' }),
      day: z.iso.date().optional(),
      owner_id: z.int().optional(),
      kind: z.enum(['check', 'repair']).default('check'),
      paid: z.boolean().default(false),
      address: z.object({ city: z.string() }).optional(),
      tags: z.array(z.string()).default([]),
    }),
    store: memoryStore(),
    id: 'integer',
    operations: ['list', 'count', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
    references: { owner_id: 'owners' },
    search: ['plate'],
    actions: { close: { on: 'item', input: z.object({ at: z.iso.datetime() }), run: () => {} } },
  })
  return defineApi({ collections: { owners, visits }, pages: html })
}

const AT = '2026-01-31T12:00:00.123+01:00'

test.skipIf(isMissing)('axe finds nothing', { timeout: 600_000 }, async () => {
  const api = makeApi()
  await api.collection('owners').create({ name: 'Ann' })
  await api.collection('visits').create({ plate: 'AB', at: AT, owner_id: 1 })
  const server = await serve(api)
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  const page = await browser.newPage({
    bypassCSP: true,
    colorScheme: 'dark',
    viewport: { width: 390, height: 800 },
  })
  page.setDefaultTimeout(120_000)
  const found: Record<string, unknown> = {}
  const check = async (name: string) => {
    await page.evaluate(UNFOLD)
    await page.evaluate(AXE)
    found[name] = await page.evaluate(VIOLATIONS)
  }
  const visit = (path: string) => page.goto(server.url + path)
  const press = (name: string) =>
    Promise.all([
      page.waitForEvent('load'),
      page.getByRole('button', { name, exact: true }).first().click(),
    ])

  await visit('/visits?at[gte]=2026-01-31&sort=at')
  // One kind of control for a date and time: what is shown is what was asked for and is stored, to the last digit.
  expect(await page.getByLabel('Time from').inputValue()).toBe('2026-01-31')
  await check('list')
  const create = page.locator('form', { has: page.getByRole('button', { name: 'Create' }) })
  await create.getByLabel('plate').fill('wrong')
  await create.getByLabel('Time').fill('yesterday')
  await press('Create')
  expect(await page.locator('.notice li').allInnerTexts()).toEqual([
    'at must be a date and time such as 2026-01-31T12:00:00Z, not "yesterday"',
    'plate: must look like AB',
  ])
  await check('refused')

  await visit('/visits/1')
  await page.locator('summary', { hasText: 'Edit' }).click()
  const edit = page.locator('form', { has: page.getByRole('button', { name: 'Save' }) })
  expect(await edit.getByLabel('Time').inputValue()).toBe(AT)
  await edit.getByLabel('plate').fill('CD')
  await api.collection('visits').patch(1, { plate: 'EF' }, { unconditional: true })
  await press('Save')
  await check('conflict')
  await press('Save mine')
  expect(await api.collection('visits').read(1)).toMatchObject({ plate: 'CD', at: AT })
  await check('item')

  for (const path of ['/', '/visits/none', '/docs', '/docs?collection=owners']) {
    await visit(path)
    await check(path)
  }
  await press('GET')
  await check('tried')
  await browser.close()
  await server.close()
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map(name => [name, []])))
})
