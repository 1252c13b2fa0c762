// Error pages keep the submitted values, and no button on them does more than the request.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  type ApiOptions,
  basic,
  defineApi,
  form,
  HttpError,
  json,
  memoryStore,
  multipart,
} from '../../src/index.ts'
import { defineUntyped, type Untyped } from '../untyped.ts'
import { formOf, formsOf, linkOf, type ReadForm } from './reading.ts'

const Car = z.object({
  color: z.string(),
  doors: z.int().min(1).nullable(),
  model: z.object({ name: z.string() }).optional(),
})

type Lot = Pick<ApiOptions, 'limits' | 'rateLimit' | 'schemes' | 'signIn'> & {
  readonly cars?: Partial<Untyped>
}

/** A collection with one car, and a browser at it. */
async function lot(more: Lot = {}) {
  const { cars: options, ...policies } = more
  const cars = defineUntyped({
    name: 'cars',
    schema: Car,
    store: memoryStore(),
    id: 'integer',
    actions: {
      repaint: {
        on: 'item',
        input: z.object({ color: z.string().min(3) }),
        run: async ({ input, update }) => void (await update(input)),
      },
    },
    ...options,
  })
  const failures: unknown[] = []
  const api = defineApi({
    pages: html,
    formats: [json, form, multipart],
    onError: error => failures.push(error),
    ...policies,
    collections: [cars],
  })
  await api.collection(cars).create({ color: 'red', doors: 5, model: { name: 'Clio' } })
  const visit = async (path: string, init: RequestInit = {}) => {
    const headers = { accept: 'text/html', ...Object.fromEntries(new Headers(init.headers)) }
    const url = new URL(path, 'http://cars.example')
    const answer = await api.fetch(new Request(url, { redirect: 'manual', ...init, headers }))
    return { status: answer.status, page: await answer.text() }
  }
  const send = (path: string, pairs: ReadForm['pairs']) =>
    visit(path, {
      method: 'POST',
      body: new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])),
    })
  const submit = (page: string, button: string, values: Record<string, string> = {}) => {
    const { action, pairs } = formOf(page, button)
    return send(
      action,
      pairs.map(([name, value]) => [name, values[name] ?? value] as const),
    )
  }
  const read = () => api.collection(cars).read(1)
  return { visit, send, submit, read, api }
}

/** What the forms of a page would do to the item that is not what it holds. */
function changesOn(page: string): (string | undefined)[] {
  return formsOf(page).flatMap(({ pairs }) => {
    const method = new Map(pairs).get('_method')
    return method === undefined ? [] : [method]
  })
}

describe('an edit that fails before its body is read', () => {
  const none = { limits: { parameters: 3 } }
  it.each<[string, Lot, RequestInit, number]>([
    ['429', { rateLimit: { policies: [{ limit: 1, window: 60 }] } }, {}, 429],
    ['413', { limits: { body: 20 } }, {}, 413],
    ['a form that cannot be read', {}, { body: 'color=%ff&_method=PUT' }, 400],
    [
      'parts that cannot be read',
      {},
      { body: 'nothing', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
      400,
    ],
    ['a body that is no JSON', {}, { method: 'PUT', body: '{' }, 400],
    ['a patch that is no JSON', {}, { method: 'PATCH', body: '{' }, 400],
    ['an unknown method', none, { body: '_method=FOO' }, 400],
    ['an unknown method in the address', none, { body: 'color=pink' }, 400],
    ['a deletion by a program', {}, { method: 'DELETE', headers: { 'if-match': '"x"' } }, 412],
  ])('%s: no form on the page changes or deletes the item', async (name, options, init, status) => {
    const { visit, read } = await lot(options)
    const before = await read()
    await visit('/cars/1')
    const path = name.endsWith('address') ? '/cars/1?_method=FOO' : '/cars/1'
    const type =
      init.method === undefined ? 'application/x-www-form-urlencoded' : 'application/json'
    const refused = await visit(path, {
      method: 'POST',
      body: '_method=PUT&_if_match=%22x%22&color=pink&doors=3&model.name=',
      ...(init.method === 'DELETE' && { body: null }),
      ...init,
      headers: { 'content-type': type, ...init.headers },
    })
    expect(refused.status).toBe(status)
    expect(changesOn(refused.page)).toEqual([])
    expect(linkOf(refused.page, 'Back to car 1')).toBe('/cars/1')
    expect(await read()).toEqual(before)
  })

  it('the page of a forbidden item has no edit form', async () => {
    const { visit } = await lot({ cars: { operations: ['create', 'replace', 'delete', 'list'] } })
    const { status, page } = await visit('/cars/1')
    expect(status).toBe(405)
    expect(changesOn(page)).toEqual([])
  })

  it('the page of an action is its form', async () => {
    const { visit } = await lot()
    const { status, page } = await visit('/cars/1/repaint')
    expect(status).toBe(200)
    expect(formOf(page, 'repaint').action).toBe('/cars/1/repaint')
  })
})

describe('an incomplete edit form', () => {
  it.each<[string, [string, string][]]>([
    [
      'without all controls',
      [
        ['_method', 'PUT'],
        ['color', 'pink'],
        ['doors', 'x'],
      ],
    ],
    [
      'by PATCH',
      [
        ['_method', 'PATCH'],
        ['doors', 'x'],
        ['color', 'pink'],
      ],
    ],
    [
      'under an unknown method',
      [
        ['_method', 'FOO'],
        ['color', 'pink'],
        ['doors', '1'],
      ],
    ],
  ])('%s is not offered again: its blanks would erase values', async (_, pairs) => {
    const { send } = await lot()
    const { status, page } = await send('/cars/1', pairs)
    expect(status).toBe(400)
    expect(changesOn(page)).toEqual([])
  })

  it('cut at a limit is not offered again', async () => {
    const { visit } = await lot({ limits: { parts: 3 } })
    const body = new FormData()
    for (const [name, value] of [
      ['_method', 'PUT'],
      ['_if_match', '"x"'],
      ['color', 'pink'],
      ['doors', '3'],
    ] as const)
      body.set(name, value)
    const { status, page } = await visit('/cars/1', { method: 'POST', body })
    expect(status).toBe(413)
    expect(changesOn(page)).toEqual([])
  })
})

describe('a form that fails for another reason than its values', () => {
  const refusing = (error: unknown) => ({
    cars: {
      hooks: {
        before: ({ operation }: { operation: string }) => {
          if (operation === 'patch') throw error
        },
      },
    },
  })
  it.each<[string, unknown, number]>([
    ['403', new HttpError(403, 'Not on Sundays'), 403],
    ['500', new TypeError('broken'), 500],
    ['503', new HttpError(503, 'Too busy'), 503],
  ])('%s: the form is shown again as submitted', async (_, error, status) => {
    const { visit, submit, read } = await lot(refusing(error))
    const { page } = await visit('/cars/1')
    const refused = await submit(page, 'Save', { color: 'pink' })
    expect(refused.status).toBe(status)
    const sent = formOf(page, 'Save').pairs
    expect(formOf(refused.page, 'Save').pairs).toEqual(
      sent.map(([name, value]) => [name, name === 'color' ? 'pink' : value]),
    )
    expect(await read()).toMatchObject({ color: 'red' })
  })

  it('413 for too many keys: the form is shown again', async () => {
    const { visit, submit } = await lot({ limits: { parameters: 3 } })
    const { page } = await visit('/cars/1')
    const refused = await submit(page, 'Save', { color: 'pink' })
    expect(refused.status).toBe(413)
    expect(new Map(formOf(refused.page, 'Save').pairs).get('color')).toBe('pink')
  })

  it('404: there is no form', async () => {
    const { visit, submit, api } = await lot()
    const { page } = await visit('/cars/1')
    await api.collection('cars').delete(1)
    const refused = await submit(page, 'Save', { color: 'pink' })
    expect(refused.status).toBe(404)
    expect(formsOf(refused.page)).toEqual([])
  })
})

describe('the first control with an issue', () => {
  it.each<[string, [string, string][], string]>([
    [
      'in the order of the page, not of the issues',
      [
        ['doors', 'x'],
        ['color', 'red'],
        ['color', 'blue'],
      ],
      'color',
    ],
    ['of a later field', [['color', 'red']], 'doors'],
    [
      'within an object that is wrong as a whole',
      [
        ['color', 'red'],
        ['doors', '3'],
        ['model', 'Clio'],
      ],
      'model.name',
    ],
  ])('has the focus: %s', async (_, pairs, path) => {
    const { send } = await lot()
    const { status, page } = await send('/cars', pairs)
    expect(status).toBe(400)
    expect(page.match(/ autofocus/g)).toHaveLength(1)
    expect(page).toMatch(new RegExp(` name="${path}"[^>]* autofocus`))
  })
})

describe('a changed item', () => {
  const strict = { cars: { requirePrecondition: true } }

  it.each([
    ['where a precondition is required', strict],
    ['where none is', {}],
  ])('on a change after a 412 %s', async (_, options) => {
    const { visit, submit, read, api } = await lot(options)
    const { page } = await visit('/cars/1')
    await api.collection('cars').patch(1, { color: 'white' })
    const refused = await submit(page, 'Save', { color: 'black' })
    expect(refused.status).toBe(412)
    expect((await submit(refused.page, 'Save mine', { doors: '0' })).status).toBe(400)
    expect((await submit(refused.page, 'Save mine')).status).toBe(303)
    expect(await read()).toMatchObject({ color: 'black' })
  })

  it('can be overwritten after a 428', async () => {
    const { visit, send, submit, read } = await lot(strict)
    const { action, pairs } = formOf((await visit('/cars/1')).page, 'Save')
    const refused = await send(
      action,
      pairs.filter(([name]) => name !== '_if_match'),
    )
    expect(refused.status).toBe(428)
    expect((await submit(refused.page, 'Do it all the same', { color: 'pink' })).status).toBe(303)
    expect(await read()).toMatchObject({ color: 'pink' })
  })

  it('can be deleted and acted on anyway', async () => {
    const { visit, submit, api, read } = await lot(strict)
    const { page } = await visit('/cars/1')
    await api.collection('cars').patch(1, { doors: 3 })
    const painted = await submit(page, 'repaint', { color: 'pink' })
    expect(painted.status).toBe(412)
    expect((await submit(painted.page, 'repaint all the same')).status).toBe(303)
    expect(await read()).toMatchObject({ color: 'pink', doors: 3 })
    const removed = await submit(page, 'Delete red')
    expect(removed.status).toBe(412)
    expect((await submit(removed.page, 'Delete it all the same')).status).toBe(200)
  })
})

describe('breadcrumbs', () => {
  it('do not link to an action that only accepts POST', async () => {
    const { visit, submit } = await lot({
      cars: { actions: { wash: { on: 'item', run: () => ({ clean: true }) } } },
    })
    const { page } = await submit((await visit('/cars/1')).page, 'wash')
    expect(page).not.toContain('href="/cars/1/wash"')
    expect(page).toContain('<li><span aria-current="page">wash</span></li>')
    expect(linkOf(page, 'car 1')).toBe('/cars/1')
  })
})

describe('the page of a 401', () => {
  const schemes = [basic({ verify: id => ({ id, scopes: ['cars:read'] }) })]

  it('links to where people sign in', async () => {
    const { visit } = await lot({ schemes, signIn: '/login?from=cars' })
    const { status, page } = await visit('/cars/1')
    expect(status).toBe(401)
    expect(linkOf(page, 'Sign in')).toBe('/login?from=cars&next=%2Fcars%2F1')
    expect(
      (await visit('/cars/2', { headers: { authorization: `Basic ${btoa('ann:secret')}` } })).page,
    ).not.toContain('Sign in')
    expect((await (await lot({ schemes })).visit('/cars/1')).page).not.toContain('Sign in')
  })

  it.each(['javascript:alert(1)', '//evil.example', '/\\evil.example', 'login', '/a b'])(
    'never links to %j',
    signIn => expect(lot({ signIn })).rejects.toThrow('signIn must be a path such as /login'),
  )
})
