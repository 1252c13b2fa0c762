// Every kind of resource × writing method × format of the body, through both handlers: what is sent
// is returned, and what a format prints is accepted back.
import { describe, expect, test } from 'vitest'
import { eachHandler, type Init } from '../handlers.ts'
import {
  ask,
  carOf,
  check,
  FORMATS,
  make,
  NAMES,
  photo_data,
  png,
  READ_TYPES,
  READS,
} from './table-api.ts'

// --- What is sent --------------------------------------------------------------------------------

/** How values are written by hand in each format: the type, and the text. */
const WRITTEN: Readonly<Record<string, (value: Item) => Promise<Init>>> = {
  json: async json => ({ json }),
  xml: async value => ({
    headers: { 'content-type': 'application/xml', accept: 'application/json' },
    body: `<any>${elements(value)}</any>`,
  }),
  form: async value => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams(pairs(value, ''))),
  }),
  multipart: async value => {
    const form = new FormData()
    for (const [name, text] of pairs(value, '')) {
      const file = text === photo_data && new Blob([new Uint8Array(png)], { type: 'image/png' })
      if (file) form.append(name.replace(/[._]data$/, ''), file, 'a.png')
      else form.append(name, text)
    }
    const response = new Response(form)
    const type = response.headers.get('content-type') ?? ''
    return { headers: { 'content-type': type }, body: new Uint8Array(await response.arrayBuffer()) }
  },
}

interface Item {
  readonly [name: string]: string | number | boolean | Item
}

function elements(value: Item): string {
  const text = (scalar: unknown) => String(scalar).replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return Object.entries(value)
    .map(
      ([name, member]) =>
        `<${name}>${typeof member === 'object' ? elements(member) : text(member)}</${name}>`,
    )
    .join('')
}

function pairs(value: Item, above: string): [string, string][] {
  return Object.entries(value).flatMap(([name, member]): [string, string][] =>
    typeof member === 'object'
      ? pairs(member, `${above}${name}.`)
      : [[above + name, String(member)]],
  )
}

/** What is created where, and then changed; a number makes it unlike the others. */
const WRITES: readonly [what: string, path: string, value: (at: number) => Item, changes: Item][] =
  [
    ['cars', '/v1/cars', carOf, { color: 'blue', model: { brand: 'Renault' } }],
    ['a sub-collection', '/v1/cars/1/options', () => ({ name: 'Roof', price: 0.5 }), { price: 10 }],
    ['models', '/v2/models', at => ({ name: `M${at}`, brand: 'Dacia' }), { brand: 'Fiat' }],
    [
      'accounts',
      '/v1/accounts',
      at => ({ name: 'A', email: `a${at}@b.example`, newsletter: true }),
      { newsletter: false },
    ],
    ['photos, flat', '/v1/photos', () => ({ comment: '007', photo_data }), { comment: 'true' }],
    [
      'photos, objects',
      '/v2/photos',
      () => ({ comment: '', photo: { data: photo_data } }),
      { thumb: { data: photo_data } },
    ],
  ]

/** What an item must show of what was sent: files are shown by their address. */
function shownOf(value: Item): object {
  const entries = Object.entries(value).map(([name, member]) => {
    if (name === 'photo_data') return ['photo_url', expect.stringMatching(/^http/)]
    if (typeof member !== 'object') return [name, member]
    const { data, ...rest } = member
    return [
      name,
      expect.objectContaining(data ? { url: expect.stringMatching(/^http/) } : shownOf(rest)),
    ]
  })
  return Object.fromEntries(entries)
}

eachHandler(make, (handler, made) => {
  test.each(NAMES)('an action answers in %s', async name => {
    const answer = await ask(handler, 'Accept', name, '/v1/cars/1/buy', { method: 'POST' })
    // A browser is sent to the item, so that reloading does not send the form again.
    if (name === 'html') expect(answer.status).toBe(303)
    else {
      check(answer, 200, name, 'Accept')
      await FORMATS[name]?.read(answer.text, undefined, false)
    }
    expect((await handler.request('/v1/cars/1')).json).toMatchObject({ sold: true })
  })

  describe.each(WRITES)('%s', (_what, path, value, changes) => {
    test.each(Object.entries(WRITTEN))('POST, PUT and PATCH in %s', async (_name, written) => {
      const { next } = made()
      const values = value(next())
      const post = await handler.request(path, { method: 'POST', ...(await written(values)) })
      expect([post.status, post.json]).toEqual([201, expect.objectContaining(shownOf(values))])
      const item = (post.headers.get('location') ?? '').slice(handler.base.length)
      const replaced = value(next())
      const put = await handler.request(item, { method: 'PUT', ...(await written(replaced)) })
      expect([put.status, put.text]).toEqual([303, ''])
      const after = await handler.request(item)
      expect(after.json).toEqual(expect.objectContaining(shownOf(replaced)))
      const patch = await handler.request(item, { method: 'PATCH', ...(await written(changes)) })
      expect([patch.status, patch.text]).toEqual([303, ''])
      expect((await handler.request(item)).json).toMatchObject(shownOf(changes))
    })
  })

  const actions = Object.entries(WRITTEN)
  test.each(actions)('the input of an action in %s', async (_name, written) => {
    const sent = await written({ buyer: 'Ünal & Co' })
    const answer = await handler.request('/v1/cars/1/buy', { method: 'POST', ...sent })
    expect([answer.status, answer.json]).toMatchObject([200, { buyer: 'Ünal & Co', sold: true }])
  })

  const items = READS.filter(([, , , kind]) => kind === 'item')
  test.each(items)(
    'what XML and JSON gave of %s, PUT takes back unchanged',
    async (_what, path) => {
      const target = made().at(path)
      const before = (await handler.request(target)).json as object // an item is an object
      for (const name of ['xml', 'json']) {
        const { text: body } = await handler.request(`${target}.${name}`)
        // Without a type the extension tells it.
        for (const headers of [{ 'content-type': FORMATS[name]?.type ?? '' }, {}]) {
          const bytes = new Uint8Array(Buffer.from(body))
          const put = await handler.request(`${target}.${name}`, {
            method: 'PUT',
            headers,
            body: bytes,
          })
          expect([put.status, put.text]).toEqual([303, ''])
          expect((await handler.request(target)).json).toEqual({
            ...before,
            updated_at: expect.any(String),
          })
        }
      }
    },
  )

  test.each([
    ['html', 'POST', '/v1/cars'],
    ['csv', 'PUT', '/v1/cars/1'],
    ['ndjson', 'PUT', '/v1/cars/1'],
  ])('%s is not accepted as a body: 415', async (name, method, path) => {
    const headers = { 'content-type': FORMATS[name]?.type ?? '' }
    const answer = await handler.request(path, { method, headers, body: 'a' })
    expect(answer.status).toBe(415)
    for (const type of READ_TYPES) expect(answer.text).toContain(type)
  })
})
