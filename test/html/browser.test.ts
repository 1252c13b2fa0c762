// Pages in Chromium: everything that can be done, by mouse and keyboard, with scripts and without.
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  type Scheme,
} from '../../src/index.ts'
import { CHROMIUM, FLAGS, isMissing } from './chromium.ts'
import { LOW_CONTRASTS, UNFOLD } from './contrast.ts'
import { htmlApi, serve } from './fixture.ts'
import { picture } from './picture.ts'

/** Runs in a page: the name of the focused control and its outline, which is empty without one. */
const FOCUSED = `(() => {
  const { activeElement: control, body } = document
  if (control === body) return ['', '']
  return [control.innerText || control.placeholder || '', getComputedStyle(control).outlineStyle]
})()`

describe.skipIf(isMissing)('in Chromium', { timeout: 600_000 }, () => {
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>
  let built: Awaited<ReturnType<typeof htmlApi>>

  beforeAll(async () => {
    built = await htmlApi()
    server = await serve(built.api)
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  })

  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  /** A page at a path; what the browser complains of, but for answers that are errors, is collected. */
  async function visit(path: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(240_000)
    const complaints: string[] = []
    page.on('console', message => {
      if (!/the server responded with a status of 4\d\d/.test(message.text()))
        complaints.push(message.text())
    })
    page.on('pageerror', error => complaints.push(String(error)))
    page.on('requestfailed', request => complaints.push(`${request.url()} failed`))
    await page.goto(server.url + path)
    return { page, complaints, close: () => context.close() }
  }

  /** Does what leads to another page, and waits for that page. */
  const follow = (page: Page, act: () => Promise<void>) =>
    Promise.all([page.waitForEvent('load'), act()])
  const plates = (page: Page) => page.locator('td[data-label=immatriculation]').allInnerTexts()
  const open = (page: Page, summary: string) =>
    page.locator('summary', { hasText: summary }).click()

  it('browses, filters, sorts, pages, creates, fails, edits, buys and deletes without scripts', async () => {
    const { page, complaints, close } = await visit('/', { javaScriptEnabled: false })
    await follow(page, () => page.getByRole('link', { name: /^cars/ }).click())
    expect(await page.title()).toBe('cars · v1 · API')
    expect(await plates(page)).toHaveLength(10)

    await open(page, 'Filter')
    await page.locator('.filters').getByLabel('color', { exact: true }).selectOption('red')
    await page.getByLabel('price to').fill('14000')
    await follow(page, () => page.getByRole('button', { name: 'Filter' }).click())
    const summary = page.locator('summary', { hasText: 'Filter' })
    expect(await summary.innerText()).toBe('Filter: color = red, price[lte] = 14000')
    expect(new Set(await page.locator('td[data-label=color]').allInnerTexts())).toEqual(
      new Set(['red']),
    )
    const numbers = async () =>
      (await page.locator('td[data-label=price]').allInnerTexts()).map(Number)
    await follow(page, () => page.getByRole('link', { name: 'price', exact: true }).click())
    expect(await numbers()).toEqual((await numbers()).toSorted((one, other) => one - other))
    await follow(page, () =>
      page.getByRole('columnheader', { name: 'price' }).getByRole('link').click(),
    )
    expect(await numbers()).toEqual((await numbers()).toSorted((one, other) => other - one))
    await summary.click()
    await follow(page, () => page.getByRole('link', { name: 'Clear' }).click())
    expect(await summary.innerText()).toBe('Filter')

    const first = await plates(page)
    await follow(page, () => page.getByRole('link', { name: 'next' }).click())
    expect(await page.locator('.pages p').innerText()).toMatch(/^11–20 of \d+$/)
    const second = await plates(page)
    expect(second.filter(plate => first.includes(plate))).toEqual([])
    await follow(page, () => page.getByRole('link', { name: 'previous' }).click())
    expect(await plates(page)).toEqual(first)
    await follow(page, () => page.getByRole('link', { name: 'last' }).click())
    await page.getByRole('searchbox').fill('aa-007')
    await follow(page, () => page.keyboard.press('Enter'))
    expect(await plates(page)).toEqual(['AA-007-ZZ'])

    await follow(page, () => page.getByRole('link', { name: 'cars' }).click())
    await open(page, 'New car')
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Create' }) })
    await form.getByLabel('immatriculation').fill('wrong <b>')
    await form.getByLabel('color').selectOption('blue')
    await form.getByLabel('name').fill('Zoé & "Co"')
    await form.getByLabel('price').fill('-1')
    await form.getByLabel('tags').fill('family\ncity')
    await form.getByLabel('registered_on').fill('2026-01-31')
    await follow(page, () => form.getByRole('button', { name: 'Create' }).click())

    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(
      'The car was not created',
    )
    const plate = page.getByLabel('immatriculation')
    expect(await plate.inputValue()).toBe('wrong <b>')
    expect(await plate.getAttribute('aria-invalid')).toBe('true')
    const described = await plate.getAttribute('aria-describedby')
    expect(await page.locator(`[id="${described}"]`).innerText()).toContain(
      'must look like AB-123-CD',
    )
    expect(await page.getByLabel('price').getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByLabel('name').inputValue()).toBe('Zoé & "Co"')
    expect(await page.getByLabel('tags').inputValue()).toBe('family\ncity')
    // The first issue has the focus: to write is to mend it.
    await page.keyboard.press('Control+A')
    await page.keyboard.type('BR-001-OW')
    await page.getByLabel('price').fill('8500.5')
    await follow(page, () => page.getByRole('button', { name: 'Create' }).click())
    expect(await page.getByRole('status').innerText()).toContain('Created')

    await follow(page, () => page.getByRole('status').getByRole('link').click())
    const value = (name: string) => page.locator(`dt:text-is("${name}") + dd`).first()
    expect(await value('price').innerText()).toBe('8500.5')
    expect(await value('tags').getByRole('listitem').allInnerTexts()).toEqual(['family', 'city'])
    expect(await value('doors').innerText()).toBe('5')
    await open(page, 'Edit car')
    await page.getByLabel('color').selectOption('green')
    await page.getByLabel('extras').fill('{"radio": 120}')
    await follow(page, () => page.getByRole('button', { name: 'Save' }).click())
    expect(await value('color').innerText()).toBe('green')
    expect(await value('radio').innerText()).toBe('120')
    expect(new URL(page.url()).pathname).toMatch(/^\/v1\/cars\/[0-9a-f-]{36}$/)

    await open(page, 'buy')
    await page.getByLabel('account_id').fill('x')
    await follow(page, () => page.getByRole('button', { name: 'buy' }).click())
    expect(await page.getByRole('alert').innerText()).toContain('400 Bad Request')
    await page.getByLabel('account_id').fill('martin')
    await follow(page, () => page.getByRole('button', { name: 'buy' }).click())
    expect(await value('sold_to').innerText()).toBe('martin')

    await follow(page, () =>
      page
        .getByRole('navigation', { name: 'Breadcrumb' })
        .getByRole('link', { name: 'BR-001-OW' })
        .click(),
    )
    await open(page, 'Delete car')
    await follow(page, () => page.getByRole('button', { name: 'Delete BR-001-OW' }).click())
    expect(await page.getByRole('status').innerText()).toContain('Deleted')
    await follow(page, () => page.getByRole('status').getByRole('link', { name: 'cars' }).click())
    await page.getByRole('searchbox').fill('BR-001-OW')
    await follow(page, () => page.keyboard.press('Enter'))
    expect(await plates(page)).toEqual([])
    expect(complaints).toEqual([])
    await close()
  })

  it('uploads a picture, shows it, keeps it and replaces it', async () => {
    const { page, complaints, close } = await visit('/v1/photos', { javaScriptEnabled: false })
    const upload = (name: string, mimeType: string, buffer: Buffer) =>
      page.locator('input[type=file][name=photo]').setInputFiles({ name, mimeType, buffer })
    await open(page, 'New photo')
    await page.locator('form[method=post] [name=comment]').fill('in the yard')
    await upload('no.png', 'image/png', Buffer.from('no picture at all'))
    await follow(page, () => page.getByRole('button', { name: 'Create' }).click())
    expect(await page.locator('#create-photo-issue').innerText()).toContain('photo must be image/*')
    expect(await page.locator('form[method=post] [name=comment]').inputValue()).toBe('in the yard')
    await upload('car.png', 'image/png', picture(8, 6, [200, 30, 30]))
    await follow(page, () => page.getByRole('button', { name: 'Create' }).click())
    expect(await page.getByRole('status').innerText()).toContain('Created')
    await follow(page, () => page.getByRole('status').getByRole('link').click())
    expect(await sizeOf(page)).toEqual([8, 6])

    await open(page, 'Edit photo')
    await page.locator('form[method=post] [name=comment]').fill('in the garage')
    await follow(page, () => page.getByRole('button', { name: 'Save' }).click())
    expect(await page.locator('dd').nth(1).innerText()).toBe('in the garage')
    expect(await sizeOf(page)).toEqual([8, 6])

    await open(page, 'Edit photo')
    await upload('other.png', 'image/png', picture(5, 9, [20, 90, 200]))
    await follow(page, () => page.getByRole('button', { name: 'Save' }).click())
    expect(await sizeOf(page)).toEqual([5, 9])
    await follow(page, () =>
      page
        .getByRole('navigation', { name: 'Breadcrumb' })
        .getByRole('link', { name: 'photos' })
        .click(),
    )
    expect(await page.locator('td img').count()).toBe(1)
    expect(complaints).toEqual([])
    await close()
  })

  /** The natural size of the picture on the page, once the browser has it. */
  async function sizeOf(page: Page): Promise<unknown> {
    await page.waitForFunction("document.querySelector('dd img')?.naturalWidth > 0")
    return page.evaluate(
      "[document.querySelector('dd img').naturalWidth, document.querySelector('dd img').naturalHeight]",
    )
  }

  it('can be used by keyboard alone', async () => {
    const { page, close } = await visit('/v1/cars')
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').innerText()).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(new URL(page.url()).hash).toBe('#main')
    const seen = new Set<string>()
    for (let step = 0; step < 60; step++) {
      await page.keyboard.press('Tab')
      const [name, outline] = await page.evaluate<[string, string]>(FOCUSED)
      if (outline === '') break
      seen.add(name)
      expect(outline).not.toBe('none')
    }
    for (const name of ['Search', 'Filter', 'price', 'next', 'New car', 'cheapest', 'JSON'])
      expect(seen).toContain(name)
    await close()
  })

  const WIDE = [
    '/v1/cars?color=red&price[gte]=much',
    `/v1/cars?sort=${'unbreakable'.repeat(9)}&${'x'.repeat(90)}=1`,
    `/v1/options?limit=${'9'.repeat(80)}x`,
  ]
  it.each([
    ['light', [1100, 320], ['/v1/cars?color=red&sort=price', '/v1/cars?color=pink']],
    ['dark', [390], ['/', '/v1/cars', '/v1/cars?color=pink&sort=price', '/v1/photos', ...WIDE]],
  ] as const)(
    '%s: fits into %j pixels, everything unfolded, with enough contrast',
    async (colorScheme, widths, paths) => {
      const { page, close } = await visit('/', { colorScheme })
      for (const path of paths) {
        await page.goto(server.url + path)
        await page.evaluate(UNFOLD)
        expect(await page.evaluate(LOW_CONTRASTS), path).toEqual([])
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 })
          expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(width)
        }
      }
      await close()
    },
  )

  it('keeps the values of a new item when the user goes back', async () => {
    const { page, close } = await visit('/v1/cars')
    await open(page, 'New car')
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Create' }) })
    await form.getByLabel('immatriculation').fill('wrong')
    await form.getByLabel('color').selectOption('blue')
    await form.getByLabel('notes').fill('long')
    await follow(page, () => form.getByRole('button', { name: 'Create' }).click())
    await page.goBack()
    expect(await page.locator('#create-immatriculation').inputValue()).toBe('wrong')
    expect(await page.locator('#create-color').inputValue()).toBe('blue')
    expect(await page.locator('#create-notes').inputValue()).toBe('long')
    await close()
  })

  it('creates once by a double click, and by reloading the page that says so', async () => {
    const { page, close } = await visit('/v1/options')
    const count = () => built.api.collection(built.options).count()
    const before = await count()
    await open(page, 'New option')
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Create' }) })
    await form.getByLabel('name').fill('hook')
    await form.getByLabel('car_id').selectOption({ index: 1 })
    const created = page.getByRole('status').getByText('Created')
    await form.getByRole('button', { name: 'Create' }).dblclick()
    await created.waitFor()
    expect(await count()).toBe(before + 1)
    await page.reload()
    await created.waitFor()
    expect(await count()).toBe(before + 1)
    await close()
  })

  it('fills an edit form with the present values after the user goes back', async () => {
    const { id } = await built.api
      .collection('cars')
      .create({ immatriculation: 'BK-001-CK', color: 'red', price: 1 })
    const { page, close } = await visit(`/v1/cars/${id}`)
    await open(page, 'Edit car')
    await page.getByLabel('price').fill('2')
    await page.goto(`${server.url}/v1/`)
    await built.api.collection('cars').patch(id, { color: 'blue', price: 3 })
    // The browser has the new page of the item: going back shows that one.
    const other = await page.context().newPage()
    await other.goto(`${server.url}/v1/cars/${id}`)
    await page.goBack()
    expect(await page.locator('dd', { hasText: 'blue' }).count()).toBe(1)
    await open(page, 'Edit car')
    const held = [page.getByLabel('color'), page.getByLabel('price')]
    expect(await Promise.all(held.map(each => each.inputValue()))).toEqual(['blue', '3'])
    await built.api.collection('cars').delete(id)
    await close()
  })

  it('shows a live list as it is, while the tab is seen', async () => {
    const cars = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ color: z.string(), price: z.number().default(1) }),
      store: memoryStore(),
      operations: ['list', 'read', 'create', 'patch', 'patchMany'],
      defaultLimit: 3,
      sort: '-price',
      live: true,
    })
    const options = defineCollection({
      name: 'options',
      schema: z.object({}),
      store: memoryStore(),
    })
    const api = defineApi({ collections: { cars, options }, pages: html })
    const resource = api.asSystem().collection(cars)
    for (const price of [5, 4, 3]) await resource.create({ color: 'red', price })
    const live = await serve(api)
    const { page, complaints, close } = await visit('/v1')
    await page.goto(`${live.url}/cars?color=red`)
    const prices = async () =>
      (await page.locator('td[data-label=price]').allInnerTexts()).map(Number)
    const isList = (expected: readonly number[]) => expect.poll(prices).toEqual(expected)
    await isList([5, 4, 3])
    await page.locator('[type=checkbox][value="2"]').check()
    await resource.create({ color: 'red', price: 9 })
    await isList([9, 5, 4])
    await expect.poll(() => page.locator('.pages p').innerText()).toBe('1–3 of 4')
    expect(await page.locator('[type=checkbox][value="2"]').isChecked()).toBe(true)
    await resource.patch(1, { color: 'blue' })
    await isList([9, 4, 3])
    await resource.create({ color: 'blue', price: 99 })
    // What is hidden follows nothing, and is the list again when it is seen.
    const setHidden = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await setHidden(true)
    await resource.patch(2, { price: 7 })
    await setHidden(false)
    await isList([9, 7, 3])
    expect(complaints.filter(each => !each.includes('/cars?color=red&fields=id'))).toEqual([])
    await page.goto(`${live.url}/options`)
    expect(await page.locator('script').count()).toBe(0)
    const policyOf = async (path: string, method: string) =>
      (await fetch(live.url + path, { method, headers: { Accept: 'text/html' } })).headers.get(
        'content-security-policy',
      )
    expect(await policyOf('/options', 'GET')).not.toMatch(/script|connect/)
    expect(await policyOf('/cars/1', 'GET')).not.toMatch(/script|connect/)
    const own = /; script-src 'sha256-[^' ]+'; connect-src 'self'$/
    expect(await policyOf('/cars', 'GET')).toMatch(own)
    expect(await policyOf('/cars', 'HEAD')).toMatch(own)
    await close()
    await live.close()
  })

  it('forgets a live list whose right is lost, and no list of a session that ended', async () => {
    const cars = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ color: z.string(), price: z.number().default(1) }),
      store: memoryStore(),
      operations: ['list', 'patch', 'patchMany'],
      access: { default: ['cars'] },
      visible: () => ({ color: { in: shown } }),
      live: true,
    })
    let shown = ['red', 'blue']
    let rights: 'all' | 'ended' | 'none' = 'all'
    const cookie: Scheme = {
      name: 'Session',
      headers: ['Cookie'],
      challenge: () => 'Session',
      async authenticate() {
        if (rights === 'ended') throw new HttpError(401, 'This session has ended')
        return { id: 'ann', scopes: rights === 'all' ? ['cars'] : [] }
      },
    }
    const api = defineApi({ collections: { cars }, schemes: [cookie], pages: html })
    const resource = api.asSystem().collection(cars)
    await resource.create([
      { color: 'red', price: 98071 },
      { color: 'blue', price: 98072 },
    ])
    const live = await serve(api)
    const { page, close } = await visit('/v1')
    await page.goto(`${live.url}/cars?price[gte]=70`)
    const text = () => page.evaluate('document.documentElement.textContent')
    const setHidden = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`,
      )
    /** Changes the rights while the page follows nothing, and has it ask again. */
    const change = async (changed: () => void) => {
      await setHidden(true)
      changed()
      const asked = page.waitForResponse(response => !response.url().includes('fields='))
      await setHidden(false)
      await (await asked).finished()
    }
    await open(page, 'Change these 2 cars')
    await page.locator('#patchMany-color-color').fill('green')
    // Of one item he may see nothing more, neither in the forms nor as HTTP.
    await change(() => {
      shown = ['red']
    })
    await expect.poll(text).not.toContain('98072')
    expect(await page.getByText('Change this car').isVisible()).toBe(true)
    expect(await page.locator('#patchMany-color-color').inputValue()).toBe('green')
    await change(() => {
      rights = 'ended'
    })
    expect(await text()).toContain('98071')
    await change(() => {
      rights = 'all'
    })
    await resource.create({ color: 'red', price: 98073 })
    await expect.poll(text).toContain('98073')
    await change(() => {
      rights = 'none'
    })
    await expect.poll(text).not.toContain('9807')
    expect(await page.locator('h2').innerText()).toBe('403 Forbidden')
    await close()
    await live.close()
  })

  it('follows a live list again after a refusal that is none of rights', async () => {
    const cars = defineCollection({
      name: 'cars',
      id: 'integer',
      schema: z.object({ price: z.number() }),
      store: memoryStore(),
      live: true,
    })
    const api = defineApi({ collections: { cars }, limits: { maxLive: 1 }, pages: html })
    const resource = api.asSystem().collection(cars)
    await resource.create([{ price: 1 }, { price: 2 }])
    const live = await serve(api)
    const { page, close } = await visit('/v1')
    await page.clock.install()
    const refused = page.waitForResponse(response => response.url().includes('fields='))
    await page.goto(`${live.url}/cars`)
    expect((await refused).status()).toBe(400)
    await resource.delete(1)
    const prices = () => page.locator('td[data-label=price]').allInnerTexts()
    const isList = (expected: readonly string[]) =>
      expect
        .poll(async () => {
          await page.clock.runFor(5000)
          return prices()
        })
        .toEqual(expected)
    await isList(['2'])
    await resource.patch(2, { price: 5 })
    await isList(['5'])
    await close()
    await live.close()
  })

  it('runs no script from a value', async () => {
    const hostile = `"><script>document.title='owned'</script><img src=x onerror="document.title='owned'">`
    const made = await built.api.collection(built.cars).create({
      immatriculation: 'XS-666-SX',
      color: 'red',
      price: 1,
      notes: hostile,
      model: { name: hostile },
    })
    const { page, complaints, close } = await visit(`/v1/cars/${made.id}`)
    for (const path of [
      '',
      '/v1/cars?sort=-created_at',
      `/v1/cars?color=${encodeURIComponent(hostile)}`,
    ]) {
      if (path) await page.goto(server.url + path)
      expect(await page.title()).not.toBe('owned')
      expect(await page.locator('script, img').count()).toBe(0)
    }
    expect(complaints).toEqual([])
    await close()
    await built.api.collection(built.cars).delete(made.id)
  })
})
