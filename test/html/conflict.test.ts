// The page of a change that came too late: mine beside theirs, and nothing that its reader may not see.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  basic,
  blob,
  defineApi,
  form,
  HttpError,
  json,
  memoryBlobs,
  memoryStore,
  multipart,
} from '../../src/index.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'
import { formOf, formsOf, linkOf, type ReadForm, textOf } from './reading.ts'

const Car = z.object({
  color: z.enum(['red', 'blue', 'green']),
  doors: z.int().nullable(),
  electric: z.boolean().optional(),
  model: z.object({ name: z.string(), year: z.int() }).optional(),
  tags: z.array(z.string()).default([]),
  notes: z.string().optional(),
  maker_id: z.int().optional(),
  memo: z.string().optional(),
  pin: z.string().optional(),
  photo: blob().nullable().optional(),
})

const BEFORE = { color: 'red', doors: 5, electric: true, notes: 'Two owners.', maker_id: 1 }

/** What anybody may do. */
const PUBLIC = {
  ...({ list: 'public', read: 'public', patch: 'public' } as const),
  ...({ delete: 'public', repaint: 'public' } as const),
}

/** A car, and a browser of `user` at it; without a user of nobody. */
async function lot(options: Partial<Untyped> = {}, user?: string) {
  const makers = defineUntyped({
    name: 'makers',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    id: 'integer',
    access: { list: 'public', read: 'public' },
  })
  const cars = defineUntyped({
    name: 'cars',
    schema: Car,
    store: memoryStore(),
    blobs: memoryBlobs(),
    id: 'integer',
    parents: { maker_id: 'makers' },
    fields: { memo: { read: ['staff'], write: ['staff'] }, pin: 'writeOnly' },
    access: PUBLIC,
    actions: {
      repaint: {
        on: 'item',
        input: z.object({ color: z.enum(['red', 'blue', 'green']) }),
        run: async ({ input, update }) => void (await update(input)),
      },
    },
    ...options,
  })
  const api = defineApi({
    pages: html,
    formats: [json, form, multipart],
    schemes: [basic({ verify: id => ({ id, scopes: id === 'boss' ? ['staff'] : ['clerk'] }) })],
    collections: [makers, cars],
  })
  for (const name of ['Renault', 'Peugeot']) await api.collection('makers').create({ name })
  const own = api.collection(cars)
  await own.create({ ...BEFORE, memo: 'memo-1', pin: 'pin-1' })
  const headers = {
    accept: 'text/html',
    ...(user && { authorization: `Basic ${btoa(`${user}:x`)}` }),
  }
  const visit = async (path: string, init: RequestInit = {}) => {
    const url = new URL(path, 'https://cars.example')
    const answer = await api.fetch(new Request(url, { redirect: 'manual', ...init, headers }))
    return { status: answer.status, page: await answer.text() }
  }
  const submit = (page: string, button: string, values: Record<string, string> = {}) => {
    const { action, pairs, enctype } = formOf(page, button)
    const body = enctype === undefined ? new URLSearchParams() : new FormData()
    for (const [name, value] of pairs) body.append(name, values[name] ?? value)
    return visit(action, { method: 'POST', body })
  }
  /** The page of a change by the browser after one of somebody else. */
  const conflict = async (mine: Record<string, string>, theirs: object) => {
    const { page } = await visit('/cars/1')
    await own.patch(1, theirs)
    const late = await submit(page, 'Save', mine)
    expect(late.status).toBe(412)
    return late.page
  }
  return { visit, submit, conflict, own, api }
}

/** What somebody else makes of a car. */
const THEIRS = {
  ...{ doors: 3, electric: null, notes: 'one\ntwo', maker_id: 2, tags: ['fast'] },
  model: { name: 'Clio', year: 2020 },
}

/** The rows of the comparison: a field, mine, theirs. */
function comparedOn(page: string): string[][] {
  const table = /<table class="compared">.*?<tbody>(.*?)<\/tbody>/s.exec(page)?.[1] ?? ''
  return [...table.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell)),
  )
}

const tagOf = ({ pairs }: ReadForm) => new Map(pairs).get('_if_match')

describe('the page of a change that came too late', () => {
  it('says so in plain words, with mine beside theirs where they differ', async () => {
    const { conflict } = await lot()
    const mine = { color: 'blue', doors: '4', electric: '', maker_id: '' }
    const page = await conflict(mine, { doors: 3, electric: false, maker_id: 2, memo: 'm' })
    const text = textOf(page)
    expect(text).toContain('The car was not changed Somebody else has changed it meanwhile')
    expect(text).not.toMatch(/If-Match|ETag|Precondition Failed/)
    expect(comparedOn(page)).toEqual([
      ['color', 'blue', 'red'],
      ['doors', '4', '3'],
      ['electric', '–', 'no'],
      ['maker_id', '–', 'Peugeot'],
    ])
    expect(text).not.toContain('Somebody else has changed doors')
    expect(text).toContain('5 other fields are the same')
    expect(linkOf(page, 'Keep theirs')).toBe('/cars/1')
  })

  it('compares texts of several lines, lists, objects and what is blank', async () => {
    const { conflict } = await lot()
    const page = await conflict(
      { ...{ 'tags:lines': 'city\r\nfast', doors: '' }, 'model.name': '<i>' },
      { tags: ['city', 'fast'], model: { name: '<b>Clio</b>', year: 2020 } },
    )
    expect(comparedOn(page)).toEqual([
      ['doors', '–', '5'],
      ['model.name', '<i>', '<b>Clio</b>'],
    ])
    expect(textOf(page)).toContain('Somebody else has changed model.year.')
  })

  it('sends mine on top of theirs, for the version that it showed', async () => {
    const { conflict, submit, own } = await lot()
    const page = await conflict({ color: 'blue' }, { doors: 3 })
    expect(new Map(formOf(page, 'Save mine').pairs).get('color')).toBe('blue')
    expect(await own.read(1)).toMatchObject({ color: 'red', doors: 3 })
    await own.patch(1, { color: 'green' })
    const again = await submit(page, 'Save mine')
    expect(again.status).toBe(412)
    expect(comparedOn(again.page)).toEqual([['color', 'blue', 'green']])
    expect(tagOf(formOf(again.page, 'Save mine'))).not.toBe(tagOf(formOf(page, 'Save mine')))
    expect((await submit(again.page, 'Save mine', { doors: '4' })).status).toBe(303)
    expect(await own.read(1)).toMatchObject({ color: 'blue', doors: 4, notes: 'Two owners.' })
  })

  const BY_PUT: Partial<Untyped> = {
    operations: ['list', 'read', 'patch', 'replace'],
    access: { ...PUBLIC, patch: ['staff'], replace: 'public' },
  }
  it.each<[string, Partial<Untyped>]>([
    ['PATCH', {}],
    ['PUT', BY_PUT],
  ])('writes back no field that nobody has touched, by %s', async (_, options) => {
    const { conflict, submit, own } = await lot(options)
    const page = await conflict({ color: 'blue' }, THEIRS)
    expect(comparedOn(page)).toEqual([['color', 'blue', 'red']])
    expect(textOf(page)).toContain(
      'Somebody else has changed doors, electric, model.name, model.year, tags, notes, maker_id.',
    )
    // Refused in between, and late once more.
    const refused = await submit(page, 'Save mine', { doors: 'many' })
    expect(refused.status).toBe(400)
    await own.patch(1, { doors: 2, tags: ['slow'] })
    const again = await submit(refused.page, 'Save', { doors: '3' })
    expect([again.status, comparedOn(again.page)]).toEqual([412, [['color', 'blue', 'red']]])
    expect((await submit(again.page, 'Save mine')).status).toBe(303)
    const { electric: _electric, ...next } = { ...THEIRS, color: 'blue', doors: 2, tags: ['slow'] }
    expect(await own.read(1)).toMatchObject(next)
    expect(await own.read(1)).not.toHaveProperty('electric')
  })

  it('takes all of a form for changed that does not say what it was filled with', async () => {
    const { visit, own } = await lot()
    const { page } = await visit('/cars/1')
    const pairs = formOf(page, 'Save').pairs.filter(([name]) => name !== '_filled')
    await own.patch(1, { doors: 3 })
    const body = new FormData()
    for (const [name, value] of pairs) body.append(name, value)
    const late = await visit('/cars/1', { method: 'POST', body })
    expect(comparedOn(late.page)).toEqual([['doors', '5', '3']])
  })

  it.each([
    ['nobody', undefined, []],
    ['a clerk', 'ann', []],
    ['the boss', 'boss', [['memo', 'memo-3', 'memo-2']]],
  ])('shows %s what they may see, and no write-only property', async (_, user, rows) => {
    const { conflict } = await lot({}, user)
    const page = await conflict({ pin: 'pin-3', memo: 'memo-3' }, { memo: 'memo-2', pin: 'pin-2' })
    expect(comparedOn(page)).toEqual(rows)
    expect(page.includes('memo-2')).toBe(user === 'boss')
    expect(page).not.toMatch(/pin-\d/)
  })

  it.each<[string, Partial<Untyped>]>([
    ['has no operation read', { operations: ['list', 'patch', 'delete'] }],
    ['may not be read', { access: { ...PUBLIC, read: ['staff'] } }],
    [
      'is refused by a hook of read',
      {
        hooks: {
          before: ({ operation }: { operation: string }) => {
            if (operation === 'read') throw new HttpError(403, 'Not on Sundays')
          },
        },
      },
    ],
  ])('shows nothing of an item that %s', async (_, options) => {
    const { visit, submit, own } = await lot(options)
    await own.patch(1, { doors: 4 })
    const late = await visit('/cars/1', {
      method: 'POST',
      body: new URLSearchParams({
        ...{ _method: 'PATCH', _if_match: '"old"', color: 'blue', doors: '2', electric: '' },
        ...{
          'model.name': '',
          'model.year': '',
          'tags:lines': '',
          notes: '',
          maker_id: '1',
          pin: '',
        },
      }),
    })
    expect(late.status).toBe(412)
    expect(late.page).toContain('Somebody else has changed it meanwhile')
    expect(comparedOn(late.page)).toEqual([])
    expect(late.page).not.toContain('Two owners.')
    expect(tagOf(formOf(late.page, 'Do it all the same'))).toBe('*')
    expect((await submit(late.page, 'Do it all the same')).status).toBeLessThan(304)
    expect(await own.list().first()).toMatchObject({ color: 'blue', doors: 2 })
  })

  it('of an item that the row policy hides by now is a 404', async () => {
    const { visit, submit, api } = await lot({ visible: () => ({ color: 'red' }) })
    const { page } = await visit('/cars/1')
    await api.asSystem().collection('cars').patch(1, { color: 'green', notes: 'secret' })
    const late = await submit(page, 'Save', { doors: '2' })
    expect([late.status, late.page.includes('secret'), formsOf(late.page)]).toEqual([
      404,
      false,
      [],
    ])
  })

  it('of a deletion or an action shows the item as it is now', async () => {
    const { visit, submit, own } = await lot()
    const { page } = await visit('/cars/1')
    await own.patch(1, { notes: 'just washed' })
    const painted = await submit(page, 'repaint', { color: 'green' })
    const removed = await submit(page, 'Delete car 1')
    for (const late of [painted, removed]) {
      expect(late.status).toBe(412)
      expect(textOf(late.page)).toMatch(/As it is now.*just washed/)
      expect(linkOf(late.page, 'Leave it as it is')).toBe('/cars/1')
    }
    expect((await submit(painted.page, 'repaint all the same')).status).toBe(303)
    expect(await own.read(1)).toMatchObject({ color: 'green', notes: 'just washed' })
    // Painted by now: what was shown is not what would be deleted.
    expect((await submit(removed.page, 'Delete it all the same')).status).toBe(412)
  })

  it('is that of a program where no form was sent', async () => {
    const { api } = await lot()
    const request = new Request('https://cars.example/cars/1', {
      method: 'PATCH',
      headers: { accept: 'text/html', 'content-type': 'application/json', 'if-match': '"old"' },
      body: '{"doors":2}',
    })
    const answer = await api.fetch(request)
    const page = await answer.text()
    expect([answer.status, comparedOn(page), formsOf(page)]).toEqual([412, [], []])
    expect(page).toContain('412 Precondition Failed')
  })
})

test('a required text that was empty already may stay so after an error', async () => {
  const schema = Car.extend({ notes: z.string() })
  const { visit, submit, conflict, own } = await lot({ schema })
  await own.patch(1, { notes: '' })
  const isRequired = (page: string) => /<input[^>]* name="notes"[^>]* required/.test(page)

  expect(isRequired((await visit('/cars/1')).page)).toBe(false)
  const late = await conflict({ doors: '3' }, { color: 'blue' })
  expect(isRequired(late)).toBe(false)
  const refused = await submit(late, 'Save mine', { doors: 'many' })
  expect([refused.status, isRequired(refused.page)]).toEqual([400, false])
  expect((await submit(late, 'Save mine')).status).toBe(303)
  expect(await own.read(1)).toMatchObject({ doors: 3, notes: '' })
})
