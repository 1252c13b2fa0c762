// The forms of a list's page, which are sent by GET: a browser sends every control, blank ones too.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { basic, defineApi, defineCollection, json, memoryStore, xml } from '../../src/index.ts'
import { formOf, linkOf, textOf } from './reading.ts'

const Car = z.object({
  name: z.string(),
  color: z.enum(['red', 'blue', 'green']),
  price: z.number().nullable(),
  sold_to: z.string().nullable().default(null),
})

async function lot() {
  const cars = defineCollection({
    name: 'cars',
    schema: Car,
    store: memoryStore(),
    id: 'integer',
    search: ['name'],
    actions: {
      quote: {
        on: 'collection',
        method: 'GET',
        input: z.object({ code: z.string().optional() }),
        run: ({ input }) => ({ code: input.code ?? 'none' }),
      },
    },
  })
  const api = defineApi({ collections: [cars], version: 1, pages: html, formats: [json, xml] })
  for (const [name, color, price] of [
    ['Clio', 'red', 9000],
    ['Zoé', 'blue', null],
    ['Twingo', 'green', 7000],
  ] as const)
    await api.collection(cars).create({ name, color, price })
  const visit = async (path: string, accept = 'text/html', method = 'GET') => {
    const url = new URL(path, 'http://cars.example')
    const answer = await api.fetch(
      new Request(url, { method, redirect: 'manual', headers: { accept } }),
    )
    const { status, headers } = answer
    return { status, headers, page: await answer.text() }
  }
  /** Where a page leads; `undefined` where it answers itself. */
  const moved = async (path: string, accept?: string, method?: string) => {
    const { status, headers } = await visit(path, accept, method)
    const location = headers.get('location')
    return status === 303 ? location?.replace('http://cars.example', '') : undefined
  }
  return { api, visit, moved }
}

describe('blank controls', () => {
  it.each([
    ['/v1/cars?color=&price[gte]=', '/v1/cars'],
    ['/v1/cars?color=&price[gte]=8000&limit=', '/v1/cars?price[gte]=8000'],
    ['/v1/cars?color', '/v1/cars'],
    ['/v1/cars.html?color=', '/v1/cars.html'],
    ['/v1/cars?name=Zo%C3%A9&color=&sort=', '/v1/cars?name=Zo%C3%A9'],
    ['/v1/cars/search?q=clio&color=', '/v1/cars/search?q=clio'],
    ['/v1/cars?unknown=', '/v1/cars'],
    ['/v1/cars?color=&price=x', '/v1/cars?price=x'],
  ])('%s leads to %s', async (path, to) => {
    const { moved } = await lot()
    expect(await moved(path)).toBe(to)
    expect(await moved(path, 'text/html', 'HEAD')).toBe(to)
    expect(await moved(to)).toBeUndefined()
  })

  it.each(['/v1/cars', '/v1/cars?color=red', '/v1/cars/count?color=', '/v1/cars/quote?code='])(
    '%s stays where it is',
    async path => {
      const { moved, visit } = await lot()
      expect(await moved(path)).toBeUndefined()
      expect((await visit(path)).status).toBe(200)
    },
  )

  it('are values in other formats', async () => {
    const { visit } = await lot()
    expect((await visit('/v1/cars?name=', 'application/json')).page).toBe('[]')
    expect((await visit('/v1/cars.json?name=')).page).toBe('[]')
    expect((await visit('/v1/cars?color=', 'application/json')).status).toBe(400)
    expect((await visit('/v1/cars.xml?price=')).status).toBe(400)
  })

  it('are left out where a client reads no status', async () => {
    const { visit } = await lot()
    const { status, page } = await visit('/v1/cars?name=&suppress_error_codes=true')
    expect([status, page.includes('Clio')]).toEqual([200, true])
  })
})

describe('an operator beside a value', () => {
  it.each([
    ['name[op]=like&name=li', 'name[like]=*li*', ['Clio']],
    ['name[op]=like&name=*o', 'name[like]=*o', ['Clio', 'Twingo']],
    ['name[op]=prefix&name=T', 'name[prefix]=T', ['Twingo']],
    ['name[op]=eq&name=Clio', 'name=Clio', ['Clio']],
    ['name[op]=ne&name=Clio', 'name[ne]=Clio', ['Zoé', 'Twingo']],
    ['name=Clio&name[op]=ne', 'name[ne]=Clio', ['Zoé', 'Twingo']],
    ['name[op]=&name=Clio', 'name=Clio', ['Clio']],
    ['color[op]=ne&color=red', 'color[ne]=red', ['Zoé', 'Twingo']],
    ['sold_to[op]=none&sold_to=ann', 'sold_to[exists]=false', ['Clio', 'Zoé', 'Twingo']],
    ['name[op]=like&name=&color[op]=ne&color=', '', ['Clio', 'Zoé', 'Twingo']],
    ['filter[name][op]=prefix&filter[name]=T', 'filter[name][prefix]=T', ['Twingo']],
    ['name[op]=like&name=%26%3D%3C', 'name[like]=*&=<*', []],
  ])('%s is %s', async (sent, query, names) => {
    const { moved, visit } = await lot()
    const to = (await moved(`/v1/cars?${sent}`)) ?? ''
    expect(new URLSearchParams(to.split('?')[1] ?? '').toString()).toBe(
      new URLSearchParams(query.replace('*&=<*', '*%26%3D<*')).toString(),
    )
    const { page } = await visit(to)
    expect(
      [...page.matchAll(/data-label="name"[^>]*>(?:<a[^>]*>)?([^<]*)/g)].map(([, name]) => name),
    ).toEqual(names)
  })

  it.each(['like=5', 'evil=5', '__proto__=5'])(
    '%s that no field has is a 400 of the list',
    async query => {
      const { moved, visit } = await lot()
      const [operator, value] = query.split('=')
      const to = await moved(`/v1/cars?price[op]=${operator}&price=${value}`)
      expect((await visit(to ?? '')).status).toBe(400)
    },
  )

  it('shows again what was sent, and sends it again untouched', async () => {
    const { moved, visit } = await lot()
    for (const query of [
      'name[like]=*li*',
      'name[like]=C*o',
      'name[prefix]=T',
      'name=Clio',
      'color[ne]=red',
      'sold_to[exists]=false',
      'price[gte]=1&price[lte]=8000&color=green&color[ne]=red&sort=-name&limit=5',
    ]) {
      const { action, pairs } = formOf((await visit(`/v1/cars?${query}`)).page, 'Filter Clear')
      const sent = new URLSearchParams(
        pairs.map(([name, value]): [string, string] => [name, value]),
      )
      const again = (await moved(`${action}?${sent}`)) ?? ''
      const sorted = (text: string) => [...new URLSearchParams(text)].map(String).toSorted()
      expect(sorted(again.split('?')[1] ?? '')).toEqual(sorted(query))
    }
  })

  it('offers what the field permits, in words', async () => {
    const { visit } = await lot()
    const { html: text } = formOf((await visit('/v1/cars')).page, 'Filter Clear')
    const offered = (name: string) =>
      textOf(
        new RegExp(`<select[^>]* name="${name}\\[op\\]"[^>]*>(.*?)</select>`).exec(text)?.[1] ?? '',
      )
    expect(offered('name')).toBe('contains contains, as written begins with is is not')
    expect(offered('color')).toBe('is is not')
    expect(offered('sold_to')).toBe('contains, as written begins with is is not is empty')
    expect(offered('price')).toBe('')
  })

  it.each([
    ['/v1/cars?name[op]=search&name=zoe&color=', '/v1/cars/search?q=zoe', ['Zoé']],
    [
      '/v1/cars?name[op]=search&name=O&color[op]=ne&color=blue',
      '/v1/cars/search?q=O&color%5Bne%5D=blue',
      ['Clio', 'Twingo'],
    ],
    ['/v1/cars/search?q=o&name[op]=search&name=ing', '/v1/cars/search?q=o+ing', ['Twingo']],
    ['/v1/cars.html?name[op]=search&name=clio', '/v1/cars/search.html?q=clio', ['Clio']],
    ['/v1/cars?name[op]=search&name=', '/v1/cars', ['Clio', 'Zoé', 'Twingo']],
    ['/v1/cars/search?q=o&name[op]=search&name=', '/v1/cars/search?q=o', ['Clio', 'Zoé', 'Twingo']],
  ])('%s is the search %s', async (sent, to, names) => {
    const { moved, visit } = await lot()
    expect(await moved(sent)).toBe(to)
    const { page } = await visit(to)
    expect(
      [...page.matchAll(/data-label="name"[^>]*>(?:<a[^>]*>)?([^<]*)/g)].map(([, name]) => name),
    ).toEqual(names)
  })

  it('offers the search of a field that is searched, and names the other ones', async () => {
    const notes = (search: 'public' | readonly string[]) => {
      const items = defineCollection({
        name: 'notes',
        schema: z.object({ title: z.string(), text: z.string(), author: z.string() }),
        store: memoryStore(),
        search: ['title', 'text'],
        access: { list: 'public', search },
      })
      const schemes = [basic({ verify: id => ({ id }) })]
      return defineApi({ collections: [items], pages: html, schemes })
    }
    const optionsOf = async (api: ReturnType<typeof notes>, name: string) => {
      const answer = await api.fetch(
        new Request('http://notes.example/notes', { headers: { accept: 'text/html' } }),
      )
      const select = new RegExp(`<select[^>]* name="${name}\\[op\\]"[^>]*>(.*?)</select>`)
      return textOf(select.exec(await answer.text())?.[1] ?? '')
    }
    const words = 'contains, as written begins with is is not'
    const open = notes('public')
    expect(await optionsOf(open, 'title')).toBe(`contains, here or in text ${words}`)
    expect(await optionsOf(open, 'text')).toBe(`contains, here or in title ${words}`)
    expect(await optionsOf(open, 'author')).toBe(words)
    const closed = notes(['staff'])
    expect(await optionsOf(closed, 'title')).toBe(words)
  })

  it('shows the issue of its value at the input', async () => {
    const { visit } = await lot()
    const { status, page } = await visit('/v1/cars?color[ne]=pink')
    expect(status).toBe(400)
    const { html: text } = formOf(page, 'Filter Clear')
    expect(text).toMatch(/<select id="filter-color" name="color" aria-invalid="true"/)
    expect(text).toMatch(/<option value="ne" selected>/)
  })
})

describe('the form for columns', () => {
  const headOf = (page: string) =>
    [...page.matchAll(/<th [^>]*>(.*?)<\/th>/g)].map(([, cell = '']) => textOf(cell))

  it('shows the chosen ones, and keeps all else of the query', async () => {
    const { visit, moved } = await lot()
    const { page } = await visit('/v1/cars?color[ne]=red&sort=-name')
    const { action, pairs } = formOf(page, 'Show All')
    expect(pairs.filter(([name]) => name === 'fields[]').map(([, value]) => value)).toEqual([
      'id',
      'name',
      'color',
      'price',
      'sold_to',
      'created_at',
      'updated_at',
    ])
    const chosen = pairs.filter(([, value]) => !/^(?:price|sold_to|.*_at)$/.test(value))
    const to = await moved(
      `${action}?${new URLSearchParams(chosen.map(([name, value]): [string, string] => [name, value]))}`,
    )
    expect(to).toMatch(/\?color%5Bne%5D=red&sort=-name&fields=id,name,color$/)
    const shown = await visit(to ?? '')
    expect(headOf(shown.page).toSorted()).toEqual(['color', 'id', 'name'])
    expect(textOf(shown.page)).toContain('Columns: 2 of 6')
    expect(linkOf(shown.page, 'All')).toBe('/v1/cars?color%5Bne%5D=red&sort=-name')
    // The filter form keeps them.
    expect(formOf(shown.page, 'Filter Clear').pairs).toContainEqual(['fields', 'id,name,color'])
  })

  it('marks the columns that the query names', async () => {
    const { visit } = await lot()
    const { pairs } = formOf((await visit('/v1/cars?fields=name')).page, 'Show All')
    expect(pairs).toEqual([
      ['fields[]', 'id'],
      ['fields[]', 'name'],
    ])
  })
})
