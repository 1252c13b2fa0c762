// Every resource as a page: its content, and what no page may contain.
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html, type Pages } from '../../src/html/index.ts'
import { defineApi, defineCollection, form, json, memoryStore } from '../../src/index.ts'
import { htmlApi } from './fixture.ts'
import { attribute, formOf, formsOf, linkOf, type ReadForm, textOf } from './reading.ts'

const BROWSER =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>{{7*7}}`

let built: Awaited<ReturnType<typeof htmlApi>>
let id = ''

beforeAll(async () => {
  built = await htmlApi()
  const first = await built.api.collection(built.cars).list().first()
  id = String(first?.id)
})

async function ask(path: string, init: RequestInit = {}) {
  const headers = { accept: BROWSER, ...Object.fromEntries(new Headers(init.headers)) }
  const request = new Request(new URL(path, 'http://cars.example'), {
    redirect: 'manual',
    ...init,
    headers,
  })
  const response = await built.api.fetch(request)
  return { response, status: response.status, page: await response.text() }
}

function send(path: string, pairs: ReadForm['pairs']) {
  return ask(path, { method: 'POST', body: encode(pairs) })
}

function encode(pairs: ReadForm['pairs']): URLSearchParams {
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]))
}

function filled(pairs: ReadForm['pairs'], values: Record<string, string>): ReadForm['pairs'] {
  return pairs.map(([name, value]) => [name, values[name] ?? value])
}

/** Fills some controls of a form and sends it as a browser would. */
function submit(page: string, button: string, values: Record<string, string> = {}) {
  const { action, pairs } = formOf(page, button)
  return send(action, filled(pairs, values))
}

describe('negotiation of pages', () => {
  it.each([
    ['a browser', BROWSER, '/v1/cars', 'text/html; charset=utf-8'],
    ['curl', '*/*', '/v1/cars', 'application/json'],
    ['a client without Accept', undefined, '/v1/cars', 'application/json'],
    ['a client that accepts JSON', 'application/json', '/v1/cars', 'application/json'],
    ['the extension html', 'application/json', '/v1/cars.html', 'text/html; charset=utf-8'],
    ['the extension json', BROWSER, '/v1/cars.json', 'application/json'],
  ])('%s', async (_, accept, path, type) => {
    const request = new Request(`http://cars.example${path}`, accept ? { headers: { accept } } : {})
    const { headers } = await built.api.fetch(request)
    expect(headers.get('content-type')).toBe(type)
    expect(headers.has('content-security-policy')).toBe(type.startsWith('text/html'))
  })
})

const PAGES: readonly [name: string, path: () => string, status: number, title: string][] = [
  ['the root', () => '/', 200, 'API'],
  ['a version', () => '/v1/', 200, 'v1'],
  ['a list', () => '/v1/cars', 200, 'cars'],
  ['a filtered list', () => '/v1/cars?color=red&sort=-price&limit=3', 200, 'cars'],
  ['an empty list', () => '/v1/cars?color=red&color[ne]=red', 200, 'cars'],
  ['some fields', () => '/v1/cars?fields=color,model.name', 200, 'cars'],
  ['a search', () => '/v1/cars/search?q=clio', 200, 'search'],
  ['a count', () => '/v1/cars/count', 200, 'count'],
  ['an item', () => `/v1/cars/${id}`, 200, 'AA-000-ZZ'],
  ['some fields of an item', () => `/v1/cars/${id}?fields=color`, 200, 'car …'],
  ['a sub-collection', () => `/v1/cars/${id}/options`, 200, 'options'],
  ['an action that reads', () => '/v1/cars/cheapest', 200, 'cheapest'],
  ['an action by GET', () => `/v1/cars/${id}/buy`, 200, 'buy'],
  ['an action of an unknown item by GET', () => '/v1/cars/0/buy', 404, 'Not found'],
  ['a bad filter', () => '/v1/cars?price[gte]=much', 400, 'cars'],
  ['an unknown item', () => '/v1/cars/0', 404, 'Not found'],
  ['an unknown path', () => '/v2/nothing', 404, 'Not found'],
  ['an unknown parameter', () => `/v1/cars/${id}?colour=red`, 400, 'car …'],
]

describe.each(PAGES)('%s', (_, path, status, title) => {
  it('is a page', async () => {
    const { response, page, ...answer } = await ask(path())
    expect(answer.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page).toMatch(/^<!doctype html>\n<html lang="en"><head><meta charset="utf-8">/)
    expect(page).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">')
    expect(/<h1>([^<]*)<\/h1>/.exec(page)?.[1]).toContain(title)
    expect(textOf(/<title>(.*)<\/title>/.exec(page)?.[1] ?? '')).not.toBe('')
    checkPage(page)
  })

  it('has a policy that allows only its own style sheet', async () => {
    const { response, page } = await ask(path())
    const style = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(response.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('referrer-policy')).toBe('same-origin')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const head = await ask(path(), { method: 'HEAD' })
    for (const name of ['content-security-policy', 'x-frame-options', 'referrer-policy']) {
      expect([name, head.response.headers.get(name)]).toEqual([name, response.headers.get(name)])
    }
  })
})

const ELEMENTS =
  /^(?:a|b|body|button|code|dd|details|div|dl|dt|fieldset|footer|form|h[12]|head|header|html|img|input|label|legend|li|link|main|meta|nav|ol|option|p|pre|select|span|style|summary|table|tbody|td|textarea|th|thead|time|title|tr|ul)$/

/** What holds for every page: known elements, every control labelled, no id twice, addresses that stay with http. */
function checkPage(page: string) {
  const tags = [...page.matchAll(/<([a-z0-9]+)((?: [a-z-]+(?:="[^"<>]*")?)*)>/gi)]
  const text = page
    .replace('<!doctype html>', '')
    .replace(/(?<=<style>).*?(?=<\/style>)/s, '')
    .replace(/<\/?[a-z0-9]+(?: [a-z-]+(?:="[^"<>]*")?)*>/gi, '')
  expect(text).not.toMatch(/[<>"]/)
  const ids = tags.flatMap(([tag]) => attribute(tag, 'id') ?? [])
  expect(ids).toEqual([...new Set(ids)])
  for (const [tag, name = '', attributes = ''] of tags) {
    expect(name).toMatch(ELEMENTS)
    expect(attributes).not.toMatch(/ (?:on[a-z]+|style|srcdoc)="/)
    for (const address of ['href', 'src', 'action']) {
      const to = attribute(tag, address)
      if (to !== undefined) expect(to).toMatch(/^(?:https?:\/\/|\/(?!\/)|#|data:,$)/)
    }
    for (const reference of attribute(tag, 'aria-describedby')?.split(' ') ?? [])
      expect(ids).toContain(reference)
    if (/^(?:input|select|textarea)$/.test(name) && !/ type="(?:hidden|checkbox)"/.test(tag)) {
      const labelled =
        page.includes(`<label for="${attribute(tag, 'id')}"`) || attribute(tag, 'aria-label')
      expect(labelled, tag).toBeTruthy()
    }
  }
}

test('every value of an item, an address or a form is text', async () => {
  const { page } = await ask('/v1/cars')
  const { action, pairs } = formOf(page, 'Create')
  const values: Record<string, string> = {
    immatriculation: 'XX-000-XX',
    color: 'red',
    'model.name': HOSTILE,
    tags: HOSTILE,
    notes: HOSTILE,
    sold_to: 'javascript:alert(1)',
    extras: JSON.stringify({ [HOSTILE]: 1 }),
  }
  const made = await send(action, filled(pairs, values))
  expect(made.status).toBe(201)
  const href = new URL(made.response.headers.get('location') ?? '').pathname
  const refused = await send(
    action,
    pairs.map(([name, value]) => [name, value.startsWith('absent') ? value : HOSTILE] as const),
  )
  expect(refused.status).toBe(400)
  const encoded = encodeURIComponent(HOSTILE)
  const pages = [
    made.page,
    refused.page,
    (await ask(href)).page,
    (await ask('/v1/cars?sort=-created_at')).page,
    (await ask(`/v1/cars?${encoded}=1&color=${encoded}&sort=${encoded}`)).page,
    (await ask(`/v1/cars/${encoded}`)).page,
    (await ask(`/${encoded}`)).page,
    (await ask(`/v1/cars/search?q=${encoded}&notes=${encoded}&limit=1`)).page,
    (
      await send(`${href}/buy`, [
        ['account_id', HOSTILE],
        [HOSTILE, HOSTILE],
      ])
    ).page,
    (await send(href, [['_method', 'DELETE']])).page,
  ]
  for (const each of pages) {
    checkPage(each)
    expect(each).not.toContain('<script')
  }
  expect(pages[2]).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
})

describe('a list', () => {
  it('has a column for every field that fits into a cell', async () => {
    const { page } = await ask('/v1/cars')
    const head = [...page.matchAll(/<th [^>]*>(.*?)<\/th>/g)].map(([, cell = '']) => textOf(cell))
    expect(head).toEqual(
      'immatriculation id color model.name model.brand price doors electric registered_on inspected_at tags notes sold_to created_at updated_at'.split(
        ' ',
      ),
    )
    expect(page).toContain(`<a href="/v1/cars/${id}" title="${id}">…${id.slice(-8)}</a>`)
  })

  it('shows only the requested fields', async () => {
    const { page } = await ask('/v1/cars?fields=color,model')
    const head = [...page.matchAll(/<th [^>]*>(.*?)<\/th>/g)].map(([, cell = '']) => textOf(cell))
    expect(head).toEqual(['color', 'model.name', 'model.brand'])
  })

  it.each([
    ['/v1/cars?color=red', 'price', '/v1/cars?color=red&sort=price', undefined],
    ['/v1/cars?sort=price', 'price', '/v1/cars?sort=-price', 'ascending'],
    ['/v1/cars?sort=-price', 'price', '/v1/cars?sort=price', 'descending'],
    ['/v1/cars?offset=20&limit=5', 'color', '/v1/cars?limit=5&sort=color', undefined],
  ])('%s leads by %s to %s', async (path, column, next, sorted) => {
    const { page } = await ask(path)
    expect(linkOf(page, column)).toBe(next)
    const head = new RegExp(`<th [^>]*>(?=<a[^>]*>${column}<)`).exec(page)?.[0] ?? ''
    expect(attribute(head, 'aria-sort')).toBe(sorted)
  })

  it('links to the other pages of its Link header', async () => {
    const seen: string[] = []
    let path = '/v1/cars?limit=25&sort=immatriculation'
    for (let page = 0; page < 3; page++) {
      const { response, page: text } = await ask(path)
      seen.push(...[...text.matchAll(/>(AA-\d{3}-ZZ)</g)].map(([, plate = '']) => plate))
      const next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      if (next === undefined) break
      expect(linkOf(text, 'next')).toBe(next.replace('http://cars.example', ''))
      path = linkOf(text, 'next')
    }
    expect(seen).toHaveLength(60)
    expect(new Set(seen).size).toBe(60)
  })

  it('accepts the filter form as browsers send it, with blanks', async () => {
    const { page } = await ask('/v1/cars?sort=-price&doors[ne]=9')
    const { action, method, pairs } = formOf(page, 'Filter Clear')
    expect([method, action]).toEqual(['get', '/v1/cars'])
    const values: Record<string, string> = {
      color: 'red',
      'price[lte]': '12000',
      'model.name[op]': 'like',
      'model.name': 'l',
    }
    const moved = await ask(`${action}?${encode(filled(pairs, values))}`)
    expect(moved.status).toBe(303)
    const location = moved.response.headers.get('location') ?? ''
    expect(location).not.toMatch(/=(?:&|$)/)
    const found = await ask(location)
    expect(found.status).toBe(200)
    const plates = [...found.page.matchAll(/>(AA-\d{3}-ZZ)</g)].map(([, plate]) => plate)
    const same = await built.api
      .collection(built.cars)
      .list({
        color: 'red',
        price: { lte: 12000 },
        model: { name: { like: '*l*' } },
        sort: '-price',
      })
      .toArray()
    expect(plates.length).toBeGreaterThan(0)
    expect(plates).toEqual(same.map(({ immatriculation }) => immatriculation))
    expect(textOf(/<summary>(Filter.*?)<\/summary>/.exec(found.page)?.[1] ?? '')).toBe(
      'Filter: color = red, model.name[like] = *l*, price[lte] = 12000, doors[ne] = 9',
    )
    const kept = new Map(formOf(found.page, 'Filter Clear').pairs)
    expect(kept.get('color')).toBe('red')
    expect(kept.get('price[lte]')).toBe('12000')
    expect(kept.get('sort')).toBe('-price')
  })

  it('shows the issue of a filter at its control', async () => {
    const { status, page } = await ask(
      '/v1/cars?price[gte]=much&color=pink&tags=city&tgas=x&price[ne]=1',
    )
    expect(status).toBe(400)
    const { html: text } = formOf(page, 'Filter Clear')
    expect(text).toMatch(/value="much"[^>]* name="price\[gte\]"[^>]* aria-invalid="true"/)
    expect(text.match(/<[^>]* autofocus/g)).toEqual([
      expect.stringMatching(/^<select id="filter-color" name="color"/),
    ])
    expect(textOf(text)).toContain('price[gte] must be a number, not "much"')
    expect(textOf(text)).toContain('color must be one of')
    const kept = Object.fromEntries(formOf(page, 'Filter Clear').pairs)
    expect([kept.tags, kept['price[ne]'], kept.tgas]).toEqual(['city', '1', undefined])
  })
})

describe('an item', () => {
  it('stays the same when its form is submitted untouched', async () => {
    const items = await built.api.collection(built.cars).list({ limit: 30 }).toArray()
    for (const before of items) {
      const { page } = await ask(`/v1/cars/${before.id}`)
      const { status, response } = await submit(page, 'Save')
      expect(status).toBe(303)
      expect(response.headers.get('location')).toBe(`http://cars.example/v1/cars/${before.id}`)
      const after = await built.api.collection(built.cars).read(before.id)
      expect({ ...after, updated_at: before.updated_at }).toEqual(before)
    }
  })

  it('changes by its form: values, blanks, lists, JSON', async () => {
    const { page } = await ask(`/v1/cars/${id}`)
    const values = {
      color: 'green',
      price: '',
      'model.brand': '',
      'tags:lines': 'one\r\ntwo',
      'extras:json': '{"radio": 1.5}',
      'notes:text': 'a\r\nb',
      electric: 'true',
    }
    expect((await submit(page, 'Save', values)).status).toBe(303)
    expect(await built.api.collection('cars').read(id)).toMatchObject({
      color: 'green',
      price: null,
      model: { name: 'Clio' },
      tags: ['one', 'two'],
      extras: { radio: 1.5 },
      notes: 'a\nb',
      electric: true,
    })
  })

  it('shows the submitted values with the issue of each field', async () => {
    const { page } = await ask(`/v1/cars/${id}`)
    const sent = { immatriculation: 'nonsense', price: '-5', 'model.name': '', doors: '77' }
    const { status, page: refused } = await submit(page, 'Save', sent)
    expect(status).toBe(400)
    const again = formOf(refused, 'Save')
    expect(new Map(again.pairs)).toEqual(
      new Map([...formOf(page, 'Save').pairs, ...Object.entries(sent)]),
    )
    for (const [path, message] of [
      ['immatriculation', 'must look like AB-123-CD'],
      ['price', 'price must be at least 0'],
      ['doors', 'doors must be at most 9'],
    ]) {
      const issue = new RegExp(`<p class="issue" id="patch-${path}-issue"><span>([^<]*)`).exec(
        refused,
      )?.[1]
      expect(issue).toContain(message?.replace('<', '&lt;').replace('>', '&gt;'))
      expect(refused).toMatch(new RegExp(`<a href="#patch-${path}">`))
      expect(refused).toMatch(
        new RegExp(`id="patch-${path}" name="${path}"[^>]* aria-invalid="true"`),
      )
    }
    expect(
      (
        await submit(refused, 'Save', {
          immatriculation: 'BB-111-BB',
          price: '5',
          'model.name': 'Clio',
          doors: '3',
        })
      ).status,
    ).toBe(303)
  })

  it('is not overwritten after a concurrent change, unless the user insists', async () => {
    const { page } = await ask(`/v1/cars/${id}`)
    await built.api.collection('cars').patch(id, { color: 'white' })
    const { status, page: refused } = await submit(page, 'Save', { color: 'black' })
    expect(status).toBe(412)
    const current = linkOf(refused, 'Keep theirs')
    expect((await ask(current)).page).toContain('white')
    expect((await built.api.collection('cars').read(id)) as unknown).toMatchObject({
      color: 'white',
    })
    expect((await submit(refused, 'Save mine')).status).toBe(303)
    expect((await built.api.collection('cars').read(id)) as unknown).toMatchObject({
      color: 'black',
    })
  })

  it('has a button or a form for each action', async () => {
    const { page } = await ask(`/v1/cars/${id}`)
    expect((await submit(page, 'repaint')).response.headers.get('location')).toMatch(/\/v1\/cars\//)
    const now = (await ask(`/v1/cars/${id}`)).page
    const { status, page: refused } = await submit(now, 'buy', { account_id: 'x', paid: '12' })
    expect(status).toBe(400)
    expect(new Map(formOf(refused, 'buy').pairs).get('paid')).toBe('12')
    const bought = await submit(refused, 'buy', { account_id: 'martin' })
    expect(bought.status).toBe(303)
    expect(textOf((await ask(`/v1/cars/${id}`)).page)).toContain('sold_to martin')
    expect(
      (await submit((await ask(`/v1/cars/${id}`)).page, 'buy', { account_id: 'other' })).status,
    ).toBe(409)
  })

  it('is created below its parent without a field for it, and deleted', async () => {
    const { page } = await ask(`/v1/cars/${id}/options`)
    const { pairs } = formOf(page, 'Create')
    expect(pairs.map(([name]) => name)).not.toContain('car_id')
    const { status, page: made, response } = await submit(page, 'Create', { name: 'hook' })
    expect(status).toBe(201)
    expect(textOf(made)).toContain('Created:')
    const href = new URL(response.headers.get('location') ?? '').pathname
    expect(linkOf(made, formOf(made, 'Save').action === href ? 'options' : '')).toBe(
      `/v1/cars/${id}/options`,
    )
    const removed = await submit(made, 'Delete hook')
    expect(removed.status).toBe(200)
    expect(textOf(removed.page)).toContain('Deleted.')
    expect(linkOf(removed.page, 'options')).toBe(`/v1/cars/${id}/options`)
    expect((await ask(href)).status).toBe(404)
  })
})

test('forms satisfy requirePrecondition', async () => {
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
    requirePrecondition: true,
  })
  const { fetch } = defineApi({ collections: [notes], pages: html, formats: [json, form] })
  const visit = async (path: string, pairs?: ReadForm['pairs']) =>
    fetch(
      new Request(new URL(path, 'http://notes.example'), {
        headers: { accept: 'text/html' },
        ...(pairs && { method: 'POST', body: encode(pairs) }),
      }),
    )
  const made = await visit('/notes', [['text', 'one']])
  const page = await made.text()
  const { action, pairs } = formOf(page, 'Save')
  const bare = pairs.filter(([name]) => name !== '_if_match')
  expect((await visit(action, bare)).status).toBe(428)
  expect((await visit(action, pairs)).status).toBe(303)
  const remove = formsOf(await (await visit(action)).text()).at(-1)
  expect((await visit(remove?.action ?? '', remove?.pairs)).status).toBe(200)
})

test.each<[string, Pages['print']]>([
  ['at once', () => JSON.parse('broken')],
  ['later', () => Promise.reject(new Error('broken'))],
])('JSON prints the error when a page fails %s', async (_, print) => {
  const broken: Pages = { ...html, print }
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
  })
  const failures: unknown[] = []
  const { fetch } = defineApi({
    collections: [notes],
    pages: broken,
    formats: [json],
    onError: error => failures.push(error),
  })
  const response = await fetch(
    new Request('http://a.example/notes', { headers: { accept: 'text/html' } }),
  )
  expect(response.status).toBe(500)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toMatchObject({ errors: [{ code: 500 }] })
  expect(failures.length).toBeGreaterThan(0)
})

describe('the title of the window', () => {
  const titleOf = ({ page }: { page: string }) =>
    textOf(/<title>(.*)<\/title>/.exec(page)?.[1] ?? '')

  it.each([
    ['/v1/cars', 'cars · v1 · API'],
    ['/v1/cars/count', 'count · cars · v1 · API'],
    ['/v1/cars?price[gte]=much', '400 Bad Request · cars · v1 · API'],
    ['/v1/cars/0', '404 Not Found · car 0 · cars · v1 · API'],
    ['/v2/nothing', '404 Not Found · API'],
  ])('of %s says what and where: %s', async (path, title) => {
    expect(titleOf(await ask(path))).toBe(title)
  })

  it('of a failed form', async () => {
    const { page } = await ask('/v1/cars')
    const refused = await submit(page, 'Create', { immatriculation: 'nonsense' })
    expect(titleOf(refused)).toBe('400 Bad Request · cars · v1 · API')
  })
})

test('what items refer to has its label, however many there are, and what they include is shown', async () => {
  const parts = { id: 'integer', timestamps: false } as const
  const schema = z.object({ name: z.string(), open: z.boolean() })
  const teams = defineCollection({
    name: 'teams',
    ...parts,
    schema,
    store: memoryStore(),
    visible: () => ({ open: true }),
  })
  const people = defineCollection({
    name: 'people',
    ...parts,
    schema: z.object({ name: z.string(), team_id: z.int(), boss_id: z.int().optional() }),
    store: memoryStore(),
    parents: { team_id: 'teams' },
    references: { boss_id: 'people' },
  })
  const api = defineApi({ collections: { teams, people }, pages: html })
  for (let at = 1; at <= 120; at++)
    await api
      .asSystem()
      .collection(teams)
      .create({ name: `Team ${at}`, open: at !== 120 })
  const writer = api.asSystem().collection(people)
  await writer.create({ name: 'Ann', team_id: 119 })
  await writer.create({ name: 'Bob', team_id: 120, boss_id: 1 })
  const get = async (path: string) =>
    (await api.fetch(new Request(`http://x/${path}`, { headers: { accept: BROWSER } }))).text()
  const list = await get('people')
  expect(list).toContain('<a href="/teams/119" title="119">Team 119</a>')
  expect(list).toContain('<a href="/people/1" title="1">Ann</a>')
  // A team that nobody sees has no name.
  expect(list).toContain('<a href="/teams/120" title="120">120</a>')
  expect(await get('people/2')).toContain('<a href="/people/1" title="1">Ann</a>')
  const included = await get('teams?include=people&id=119')
  expect(included).toContain('<th scope="col">people</th>')
  expect(included).toContain('<details><summary>1</summary><ol><li><dl>')
  expect(await get('people?include=team')).toContain('<th scope="col">team.name</th>')
})
