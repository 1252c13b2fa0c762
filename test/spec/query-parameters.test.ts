// Specification, "Query parameters (collections)"; conventions, "Reading".
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, type Item, memoryStore } from '../../src/index.ts'
import { example, seed, steppingClock } from '../fixture.ts'
import { eachHandler, listen, sendRaw } from '../handlers.ts'

const COUNT = 40

/** Forty cars, created hours apart from 2024-03-01 on. */
async function forty() {
  const made = example({ clock: steppingClock('2024-03-01T00:00:00Z', 3_600_000) })
  return { ...made, items: await seed(made, COUNT) }
}

type Test = (item: Item, at: number, all: readonly Item[]) => boolean

const at = (item: Item | undefined, name: string): unknown => item?.[name]
const model = (item: Item) => item.model as { name: string; brand: string } | undefined
const price = (item: Item) => Number(item.price)
const text = (item: Item, name: string) => String(item[name])

/** Each row: what it shows, the query, and which of the forty it must give, said in plain JavaScript. */
const FILTERS: readonly (readonly [string, string, Test])[] = [
  ['<field_name>', 'color=red', item => item.color === 'red'],
  ['<field_name>, dotted path', 'model.name=Clio', item => model(item)?.name === 'Clio'],
  [
    'two filters hold together',
    'color=red&doors=5',
    item => item.color === 'red' && item.doors === 5,
  ],
  [
    'a field given twice means either',
    'color=red&color=blue',
    item => /red|blue/.test(text(item, 'color')),
  ],
  [
    'so do brackets, by which many clients say that it is a list',
    'color[]=red&color[]=blue&filter[doors][]=5',
    item => /red|blue/.test(text(item, 'color')) && item.doors === 5,
  ],
  ['a number by its value, not by its text', 'price=1.5e3', item => item.price === 1500],
  ['an integer', 'doors=3', item => item.doors === 3],
  ['a boolean', 'electric=true', item => item.electric === true],
  ['a boolean as forms send it', 'electric=0', item => item.electric === false],
  ['a date', 'registered_on=2024-01-15', item => item.registered_on === '2024-01-15'],
  ['a list holds the value', 'tags=sale', item => (item.tags as string[]).includes('sale')],
  ['no such value', 'immatriculation=nothing', () => false],
  ['an encoded text', 'model.name=Zo%C3%A9', item => model(item)?.name === 'Zoé'],
  ['[eq]', 'color[eq]=red', item => item.color === 'red'],
  ['[ne]', 'color[ne]=red', item => item.color !== 'red'],
  [
    '[ne] given twice means neither',
    'color[ne]=red&color[ne]=blue',
    item => !/red|blue/.test(text(item, 'color')),
  ],
  [
    '[ne] never matches what lacks the parent',
    'model.name[ne]=Clio',
    item => ![undefined, 'Clio'].includes(model(item)?.name),
  ],
  ['[gt]', 'price[gt]=1500', item => price(item) > 1500],
  ['[gte]', 'price[gte]=1500', item => price(item) >= 1500],
  ['[lt]', 'price[lt]=1500', item => price(item) < 1500],
  ['[lte]', 'price[lte]=1500', item => price(item) <= 1500],
  [
    '[gte] and [lt] together',
    'price[gte]=1250&price[lt]=2000',
    item => price(item) >= 1250 && price(item) < 2000,
  ],
  ['[gt] of a text', 'color[gt]=green', item => text(item, 'color') > 'green'],
  [
    '[gt] of a date',
    'registered_on[gt]=2024-05-15',
    item => text(item, 'registered_on') > '2024-05-15',
  ],
  [
    '[gt] of a date-time in another offset',
    'created_at[gt]=2024-03-01T12:00:00%2B02:00',
    item => Date.parse(text(item, 'created_at')) > Date.UTC(2024, 2, 1, 10),
  ],
  [
    'a + of an offset left unescaped',
    'created_at[gt]=2024-03-01T12:00:00+02:00',
    item => Date.parse(text(item, 'created_at')) > Date.UTC(2024, 2, 1, 10),
  ],
  ['[in]', 'color[in]=red,blue', item => /red|blue/.test(text(item, 'color'))],
  ['[in] of numbers', 'price[in]=1000,1250.0', item => [1000, 1250].includes(price(item))],
  [
    '[in] and a plain filter hold together',
    'color[in]=red,blue&color=red',
    item => item.color === 'red',
  ],
  ['[nin]', 'color[nin]=red,blue', item => !/red|blue/.test(text(item, 'color'))],
  [
    '[nin] of a list',
    'tags[nin]=sale,lot-1',
    item => !(item.tags as string[]).some(tag => tag === 'sale' || tag === 'lot-1'),
  ],
  [
    '[like]',
    'immatriculation[like]=AA-_1%25',
    item => /^AA-.1/.test(text(item, 'immatriculation')),
  ],
  [
    '[like] with *',
    'immatriculation[like]=*9-ZZ',
    item => /9-ZZ$/.test(text(item, 'immatriculation')),
  ],
  [
    '[prefix]',
    'immatriculation[prefix]=AA-01',
    item => text(item, 'immatriculation').startsWith('AA-01'),
  ],
  ['[prefix] takes % literally', 'immatriculation[prefix]=A%25', () => false],
  ['[exists]', 'model[exists]=true', item => model(item) !== undefined],
  ['[exists]=false', 'model[exists]=false', item => model(item) === undefined],
  ['[exists] below a parent that is absent', 'model.name[exists]=false', () => false],
  ['brackets escaped', 'price%5Bgte%5D=2000', item => price(item) >= 2000],
  ['filter[<field>]', 'filter[color]=red', item => item.color === 'red'],
  ['filter[<field>][<operator>]', 'filter[price][gte]=2000', item => price(item) >= 2000],
  ['filter[<dotted path>]', 'filter[model.name]=Clio', item => model(item)?.name === 'Clio'],
  ['a server-owned field', 'updated_at[exists]=true', () => true],
  ['empty pairs are passed over', '&&color=red&', item => item.color === 'red'],
  [
    // The cars are created at odd hours, one of them at 11.
    'since',
    'since=2024-03-01T11:00:00Z',
    item => text(item, 'created_at') >= '2024-03-01T11:00:00.000Z',
  ],
  ['since, a day', 'since=2024-03-02', item => text(item, 'created_at') >= '2024-03-02'],
  [
    'until',
    'until=2024-03-01T11:00:00Z',
    item => text(item, 'created_at') <= '2024-03-01T11:00:00.000Z',
  ],
  [
    'until, a day, includes all of it',
    'until=2024-03-01',
    item => text(item, 'created_at') < '2024-03-02',
  ],
  [
    'since and until',
    'since=2024-03-01T11:00:00Z&until=2024-03-02T11:00:00Z',
    item =>
      text(item, 'created_at') >= '2024-03-01T11:00:00.000Z' &&
      text(item, 'created_at') <= '2024-03-02T11:00:00.000Z',
  ],
  ['since after until: an empty page', 'since=2024-03-05&until=2024-03-01', () => false],
  [
    'since and a filter on the creation date hold together',
    'since=2024-03-01T10:00:00Z&created_at[gte]=2024-03-01T20:00:00Z',
    item => text(item, 'created_at') >= '2024-03-01T20:00:00.000Z',
  ],
]

describe('Query parameters: filters and bounds', () => {
  eachHandler(
    forty,
    (handler, made) => {
      it.each(FILTERS)('%s: %s', async (_row, query, holds) => {
        const expected = made().items.filter(holds)
        const list = await handler.request(`/cars?${query}&limit=100`)
        expect(list.json).toEqual(expected)
        expect(list.headers.get('x-result-count')).toBe(String(expected.length))
        const count = await handler.request(`/cars/count?${query}`)
        expect(count.json).toEqual({ count: expected.length })
      })

      it('the rows of the table differ from everything and show something', () => {
        const sizes = FILTERS.map(([, , holds]) => made().items.filter(holds).length)
        const empty = sizes.filter(size => size === 0).length
        const all = sizes.filter(size => size === COUNT).length
        expect({ empty, all }).toEqual({ empty: 4, all: 1 })
      })

      it('since_id: strictly after that item', async () => {
        const { items } = made()
        const { json } = await handler.request(`/cars?since_id=${at(items[9], 'id')}&limit=100`)
        expect(json).toEqual(items.slice(10))
      })

      it('max_id: up to and including that item', async () => {
        const { items } = made()
        const { json } = await handler.request(`/cars?max_id=${at(items[9], 'id')}`)
        expect(json).toEqual(items.slice(0, 10))
      })

      it('ids that are UUIDs are read in either case (RFC 9562 §4)', async () => {
        const { items } = made()
        const upper = String(items[9]?.id).toUpperCase()
        for (const [query, expected] of [
          [`since_id=${upper}`, items.slice(10)],
          [`max_id=${upper}`, items.slice(0, 10)],
          [`id=${upper}`, items.slice(9, 10)],
          [`id[in]=${upper}`, items.slice(9, 10)],
          [`id[lt]=${upper}`, items.slice(0, 9)],
          [`id[nin]=${upper}`, items.filter(item => item !== items[9])],
          [`id[prefix]=${upper}`, items.slice(9, 10)],
          [`id[like]=*${upper.slice(-30)}`, items.slice(9, 10)],
        ] as const) {
          expect((await handler.request(`/cars?${query}&limit=100`)).json).toEqual(expected)
        }
      })

      it('since_id and max_id together', async () => {
        const { items } = made()
        const [from, to] = [at(items[4], 'id'), at(items[9], 'id')]
        const { json } = await handler.request(`/cars?since_id=${from}&max_id=${to}`)
        expect(json).toEqual(items.slice(5, 10))
      })

      it('filters narrow a search and a count', async () => {
        const { items } = made()
        const expected = items.filter(item => model(item)?.name === 'Clio' && item.color === 'red')
        const { json } = await handler.request('/cars/search?q=clio&color=red&limit=100')
        expect(json).toEqual(expected)
        expect(expected.length).toBeGreaterThan(0)
        const counted = await handler.request('/cars/count?model.name=Clio&color=red')
        expect(counted.json).toEqual({ count: expected.length })
      })

      it('search: every word stands in one of the fields, in either case', async () => {
        const { items } = made()
        const expected = items.filter(
          item => model(item)?.name === 'Clio' && text(item, 'immatriculation').includes('-01'),
        )
        const { json } = await handler.request('/cars/search?q=+CLIO++aa-01')
        expect(json).toEqual(expected)
        expect(expected.length).toBeGreaterThan(0)
      })
    },
    { once: true },
  )

  eachHandler(forty, (handler, made) => {
    it('an id that no longer exists still works as a bound', async () => {
      const { items } = made()
      await handler.request(`/cars/${at(items[9], 'id')}`, { method: 'DELETE' })
      const since = await handler.request(`/cars?since_id=${at(items[9], 'id')}&limit=100`)
      expect(since.json).toEqual(items.slice(10))
      const max = await handler.request(`/cars?max_id=${at(items[9], 'id')}&limit=100`)
      expect(max.json).toEqual(items.slice(0, 9))
    })

    it('since_id and max_id of counted ids go by number', async () => {
      for (let year = 1990; year < 2002; year++)
        await handler.request('/models', { method: 'POST', json: { name: 'Clio', year } })
      const { json } = await handler.request('/models?since_id=8&max_id=11&fields=id')
      expect(json).toEqual([{ id: 9 }, { id: 10 }, { id: 11 }])
    })
  })
})

const FIELDS: readonly (readonly [string, string, (item: Item) => unknown])[] = [
  ['one', 'fields=color', ({ color }) => ({ color })],
  ['several, in the order of the item', 'fields=color,id', ({ id, color }) => ({ id, color })],
  [
    'a dotted path',
    'fields=id,model.name',
    ({ id, ...item }) => ({
      id,
      ...(model(item as Item) && { model: { name: model(item as Item)?.name } }),
    }),
  ],
  [
    'a parent wins over its parts',
    'fields=model.name,model',
    item => (model(item) ? { model: item.model } : {}),
  ],
  ['the same twice', 'fields=color,color', ({ color }) => ({ color })],
  ['escaped commas', 'fields=id%2Ccolor', ({ id, color }) => ({ id, color })],
  ['one by one', 'fields[]=color&fields[]=id', ({ id, color }) => ({ id, color })],
  ['by their places', 'fields[0]=color&fields[1]=id', ({ id, color }) => ({ id, color })],
  ['server-owned ones', 'fields=created_at', ({ created_at }) => ({ created_at })],
]

describe('Query parameters: fields', () => {
  eachHandler(
    forty,
    (handler, made) => {
      it.each(FIELDS)('fields, %s: %s', async (_row, query, shown) => {
        const { items } = made()
        const list = await handler.request(`/cars?${query}`)
        expect(JSON.stringify(list.json)).toBe(JSON.stringify(items.slice(0, 25).map(shown)))
        const item = items[6] ?? {}
        const one = await handler.request(`/cars/${at(item, 'id')}?${query}`)
        expect(JSON.stringify(one.json)).toBe(JSON.stringify(shown(item)))
      })

      it.each(['/cars', '/cars/<id>'])(
        'an unknown field is 400 with a suggestion: %s',
        async path => {
          const target = path.replace('<id>', String(at(made().items[0], 'id')))
          const { status, json } = await handler.request(`${target}?fields=id,colour,model.nam`)
          expect(status).toBe(400)
          expect(json).toEqual({
            errors: [
              {
                message: 'Unknown field "colour" in fields: did you mean color?',
                code: 400,
                field: 'fields',
                type: 'unknown_field',
              },
              {
                message: 'Unknown field "model.nam" in fields: did you mean model.name?',
                code: 400,
                field: 'fields',
                type: 'unknown_field',
              },
            ],
          })
        },
      )

      it.each(['fields=', 'fields=,'])('no field at all is 400: %s', async query => {
        expect((await handler.request(`/cars?${query}`)).status).toBe(400)
      })
    },
    { once: true },
  )
})

const by =
  (...keys: ((item: Item) => string | number)[]) =>
  (one: Item, other: Item) => {
    for (const key of keys) {
      const [a, b] = [key(one), key(other)]
      if (a !== b) return a < b ? -1 : 1
    }
    return 0
  }

const descending =
  (...keys: ((item: Item) => string | number)[]) =>
  (one: Item, other: Item) =>
    by(...keys)(other, one)

const ID = (item: Item) => text(item, 'id')

const SORTS: readonly (readonly [string, string, (one: Item, other: Item) => number])[] = [
  ['default: creation, oldest first', '', by(item => text(item, 'created_at'), ID)],
  ['ascending', 'sort=price', by(price, ID)],
  ['descending, the id too', 'sort=-price', descending(price, ID)],
  ['descending, the id ascending', 'sort=-price,id', by(item => -price(item), ID)],
  ['key by key', 'sort[0]=-price&sort[1]=id', by(item => -price(item), ID)],
  [
    'several',
    'sort=color,-price',
    (one, other) =>
      by(item => text(item, 'color'))(one, other) || descending(price, ID)(one, other),
  ],
  ['newest first', 'sort=-created_at', descending(item => text(item, 'created_at'), ID)],
  [
    'a dotted path; what lacks it comes first',
    'sort=model.name',
    by(item => model(item)?.name ?? '', ID),
  ],
  ['a boolean', 'sort=electric', by(item => Number(item.electric), ID)],
  ['by id, descending', 'sort=-id', descending(ID)],
  ['an empty one is the default', 'sort=', by(item => text(item, 'created_at'), ID)],
]

describe('Query parameters: sort', () => {
  eachHandler(
    forty,
    (handler, made) => {
      it.each(SORTS)('%s: %s', async (_row, query, compare) => {
        const { json } = await handler.request(`/cars?limit=100&${query}`)
        expect(json).toEqual([...made().items].sort(compare))
      })
    },
    { once: true },
  )
})

const reserved = z.object({
  limit: z.int(),
  offset: z.string(),
  sort: z.string().optional(),
  fields: z.string().optional(),
  q: z.string().optional(),
  _method: z.string().optional(),
})

describe('Query parameters: a field whose name is reserved', () => {
  const make = async () => {
    const boxes = defineCollection({ name: 'boxes', schema: reserved, store: memoryStore() })
    const api = defineApi({ collections: [boxes] })
    for (let limit = 1; limit < 9; limit++)
      await api
        .collection(boxes)
        .create({ limit, offset: limit < 5 ? 'a' : 'b', q: `${limit % 2}` })
    return api
  }
  eachHandler(
    make,
    handler => {
      it.each([
        ['filter[limit]=5', [5]],
        ['filter[limit][gte]=5&filter[offset]=b&limit=2', [5, 6]],
        ['filter[limit]=5&limit=1', [5]],
        ['filter[limit][in]=1,2', [1, 2]],
        ['filter[_method][exists]=true', []],
        ['q=1&limit=2', [1, 3]],
      ])('%s', async (query, expected) => {
        const { status, json } = await handler.request(`/boxes?${query}`)
        expect(status).toBe(200)
        expect((json as Item[]).map(({ limit }) => limit)).toEqual(expected)
      })
    },
    { once: true },
  )
})

/** What RFC 3986 §3.4 lets stand in a query as it is, but for `&`, `+` and `=`, and `=` in a value. */
const UNESCAPED = [
  ...":,/?@!$'()*;-._~=",
  '100%25',
  '[a]',
  '{a}',
  '|',
  '"',
  '\\,',
  'é',
  '😀',
  'a b',
]

describe('Query parameters: some characters are deliberately left unescaped', () => {
  eachHandler(
    () => example(),
    handler => {
      it.each(UNESCAPED)('%s', async character => {
        const immatriculation = decodeURIComponent(`x${character}y`)
        await handler.request('/cars', { method: 'POST', json: { immatriculation, color: 'red' } })
        await handler.request('/cars', {
          method: 'POST',
          json: { immatriculation: 'other', color: 'red' },
        })
        const { json } = await handler.request(
          `/cars?immatriculation=x${character}y&fields=immatriculation`,
        )
        expect(json).toEqual([{ immatriculation }])
      })

      it('[in] reads an escaped comma as part of a value', async () => {
        for (const immatriculation of ['a,b', 'a', 'b', 'c\\'])
          await handler.request('/cars', {
            method: 'POST',
            json: { immatriculation, color: 'red' },
          })
        const { json } = await handler.request(
          '/cars?immatriculation[in]=a\\,b,c\\\\&fields=immatriculation',
        )
        expect(json).toEqual([{ immatriculation: 'a,b' }, { immatriculation: 'c\\' }])
      })

      it.each([
        ['%', '100%', ['100%']],
        ['_', 'a_c', ['a_c']],
        ['*', 'a*c', ['a*c']],
      ])('%s in a plain value is itself', async (_character, value, expected) => {
        for (const immatriculation of ['100%', '1000', 'a_c', 'abc', 'a*c', 'abbc'])
          await handler.request('/cars', {
            method: 'POST',
            json: { immatriculation, color: 'red' },
          })
        const query = `immatriculation=${encodeURIComponent(value)}`
        const { json } = await handler.request(`/cars?${query}`)
        expect((json as Item[]).map(item => item.immatriculation)).toEqual(expected)
      })
    },
  )

  it('as bytes on the wire', async () => {
    const { api } = example()
    await api.collection('cars').create({ immatriculation: "a:,/?@!$'()*;b", color: 'red' })
    const { port, close } = await listen(api.handler)
    const target = "/cars?immatriculation=a:,/?@!$'()*;b&fields=color"
    const answer = await sendRaw(
      port,
      `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    await close()
    expect(answer).toMatchObject({ status: 200, json: [{ color: 'red' }] })
  })
})

it('a parameter in brackets is not suggested as itself', async () => {
  const { api } = example()
  const answer = await api.fetch(new Request('http://api.example/cars?limit[]=1'))
  expect(await answer.json()).toMatchObject({
    errors: [{ message: expect.stringMatching(/^Unknown field "limit"\. Use one of: id, /) }],
  })
})

const many = (count: number, one: (at: number) => string, joint: string) =>
  Array.from({ length: count }, (_, index) => one(index)).join(joint)

/** Each row: the query, and of each issue its field, its type and a part of its message. */
const MISTAKES: readonly (readonly [string, readonly (readonly [string, string, string])[]])[] = [
  ['colr=red', [['colr', 'unknown_field', 'did you mean color?']]],
  ['model.nme=Clio', [['model.nme', 'unknown_field', 'did you mean model.name?']]],
  ['zzzzzzzz=1', [['zzzzzzzz', 'unknown_field', 'Unknown query parameter "zzzzzzzz". Use a']]],
  ['limt=5', [['limt', 'unknown_field', 'Unknown query parameter "limt": did you mean limit?']]],
  [
    'page_size=2',
    [['page_size', 'unknown_field', '"page_size". Use limit and offset, or follow the Link']],
  ],
  ['model.name.first=x', [['model.name.first', 'unknown_field', 'Unknown query parameter']]],
  ['__proto__=1', [['__proto__', 'unknown_field', 'Unknown query parameter']]],
  ['constructor[gt]=1', [['constructor', 'unknown_field', 'Unknown query parameter']]],
  ['color[foo]=red', [['color[foo]', 'unknown_operator', 'Use one of: eq, ne, in']]],
  ['price[foo]=1', [['price[foo]', 'unknown_operator', 'gte, lt, lte, exists']]],
  ['color[]=purple', [['color', 'invalid_value', 'one of red, blue']]],
  ['color[toString]=red', [['color[toString]', 'unknown_operator', 'Unknown operator']]],
  ['color[gt][lt]=red', [['color[gt][lt]', 'unknown_field', 'Unknown field']]],
  ['price=cheap', [['price', 'invalid_value', 'price must be a number, not "cheap"']]],
  ['price=', [['price', 'invalid_value', 'a number, not ""']]],
  ['price=0x10', [['price', 'invalid_value', 'a number']]],
  ['price=1e400', [['price', 'invalid_value', 'a number']]],
  ['price=NaN', [['price', 'invalid_value', 'a number']]],
  ['doors=2.5', [['doors', 'invalid_value', 'a whole number']]],
  ['doors=9007199254740993', [['doors', 'inexact_number', 'does not round']]],
  ['electric=maybe', [['electric', 'invalid_value', 'true or false']]],
  ['color=purple', [['color', 'invalid_value', 'one of red, blue']]],
  ['color=red&color=purple', [['color', 'invalid_value', 'not "purple"']]],
  ['color[in]=red,purple', [['color[in]', 'invalid_value', 'not "purple"']]],
  ['registered_on=2024-02-30', [['registered_on', 'invalid_value', 'a date that exists, such as']]],
  ['created_at[gt]=yesterday', [['created_at[gt]', 'invalid_value', 'a date and time such as']]],
  ['created_at=2024-03-01T25:00:00Z', [['created_at', 'invalid_value', 'must be a date such as']]],
  ['model=Clio', [['model', 'not_filterable', 'Filter on one of its properties, or with']]],
  ['price[like]=1%25', [['price[like]', 'invalid_operator', '[like] is for strings']]],
  ['price[prefix]=1', [['price[prefix]', 'invalid_operator', '[prefix] is for strings']]],
  ['electric[gt]=true', [['electric[gt]', 'invalid_operator', 'values with an order']]],
  ['model[exists]=perhaps', [['model[exists]', 'invalid_value', 'true or false']]],
  ['price[gte]=1&price[gte]=2', [['price[gte]', 'repeated_parameter', 'sent 2 times']]],
  ['model[exists]=1&model[exists]=0', [['model[exists]', 'repeated_parameter', 'sent 2 times']]],
  ['limit=1&limit=2', [['limit', 'repeated_parameter', 'sent 2 times']]],
  ['offset=1&offset=1', [['offset', 'repeated_parameter', 'sent 2 times']]],
  ['fields=id&fields=color', [['fields', 'repeated_parameter', 'sent 2 times']]],
  ['sort=id&sort=color', [['sort', 'repeated_parameter', 'sent 2 times']]],
  ['since=2024-01-01&since=2024-01-02', [['since', 'repeated_parameter', 'sent 2 times']]],
  ['limit=-1', [['limit', 'invalid_number', 'a whole number from 0, not "-1"']]],
  ['limit=ten', [['limit', 'invalid_number', 'a whole number from 0']]],
  ['limit=', [['limit', 'invalid_number', 'a whole number from 0']]],
  ['limit=1e2', [['limit', 'invalid_number', 'a whole number from 0']]],
  ['offset=1.5', [['offset', 'invalid_number', 'a whole number from 0']]],
  [
    'since=soon',
    [['since', 'invalid_value', 'since must be a date such as 2026-01-31 or a date and']],
  ],
  ['until=2024-13-01', [['until', 'invalid_value', 'until must be a date such as']]],
  ['since_id=abc', [['since_id', 'invalid_value', 'since_id must be a UUID such as 0']]],
  ['max_id=', [['max_id', 'invalid_value', 'max_id must be a UUID']]],
  ['id[in]=abc', [['id[in]', 'invalid_value', 'must be a UUID such as 0190']]],
  ['sort=-colr', [['sort', 'unknown_field', 'did you mean color?']]],
  ['sort=model', [['sort', 'not_sortable', 'it has no order']]],
  ['sort=tags', [['sort', 'not_sortable', 'tags is a list']]],
  ['cursor=abc', [['cursor', 'invalid_cursor', 'take it from a Link header']]],
  [
    many(51, each => `filter[a${each}]=1`, '&'),
    [['', 'too_many_filters', 'at most 50 filters, not 51']],
  ],
  [
    `immatriculation[in]=${many(101, String, ',')}`,
    [['immatriculation[in]', 'too_many_values', '101 values; at most 100']],
  ],
  [
    many(101, each => `immatriculation=${each}`, '&'),
    [['immatriculation', 'too_many_values', '101 values; at most 100']],
  ],
  [
    `sort=${many(9, () => 'color', ',')}`,
    [['sort', 'too_many_sort_keys', 'sort has 9 keys; at most 8']],
  ],
  [
    `fields=${many(501, each => `a${each}`, ',')}`,
    [['fields', 'too_many_fields', 'fields names 501 fields; at most 500']],
  ],
  [
    'colr=red&price=cheap&color[foo]=1&limit=x&sort=prize&fields=idd&since=soon',
    [
      ['fields', 'unknown_field', '"idd" in fields: did you mean id?'],
      ['colr', 'unknown_field', 'did you mean color?'],
      ['price', 'invalid_value', 'a number'],
      ['color[foo]', 'unknown_operator', 'Unknown operator "foo"'],
      ['since', 'invalid_value', 'a date and time'],
      ['sort', 'unknown_field', '"prize" in sort: did you mean price?'],
      ['limit', 'invalid_number', 'a whole number'],
    ],
  ],
]

describe('Query parameters: issues are 400, all reported together', () => {
  eachHandler(
    () => example(),
    handler => {
      it.each(MISTAKES.map(([query, entries]) => [query.slice(0, 60), query, entries] as const))(
        '%s',
        async (_short, query, entries) => {
          const { status, json } = await handler.request(`/cars?${query}`)
          expect(status).toBe(400)
          expect(json).toEqual({
            errors: entries.map(([field, type, message]) => ({
              message: expect.stringContaining(message),
              code: 400,
              ...(field !== '' && { field }),
              type,
            })),
          })
        },
      )

      it.each([
        ['an escape that is none', 'color=%zz', 'invalid_query'],
        ['an escape that is no UTF-8', 'color=%ff', 'invalid_query'],
        ['the character U+0000', 'immatriculation=a%00b', 'invalid_query'],
        ['501 parameters', many(501, () => 'color=red', '&'), 'too_many_parameters'],
      ])('%s: 400', async (_row, query, type) => {
        const { status, json } = await handler.request(`/cars?${query}`)
        expect(status).toBe(400)
        expect(json).toMatchObject({ errors: [{ code: 400, type }] })
      })

      it('a list of any length up to the cap means the same', async () => {
        for (const count of [1, 2, 19, 20, 21, 99, 100]) {
          const repeated = many(count, each => `immatriculation=${each}`, '&')
          expect((await handler.request(`/cars?${repeated}`)).status).toBe(200)
        }
      })

      it('the message quotes a part of a long value', async () => {
        const { text: body } = await handler.request(`/cars?price=${'9x'.repeat(2000)}`)
        expect(body.length).toBeLessThan(400)
      })

      it('a parameter without a meaning for a single item is 400', async () => {
        const { json } = await handler.request('/accounts', {
          method: 'POST',
          json: { id: 'a', name: 'A' },
        })
        expect(json).toMatchObject({ id: 'a' })
        const { status, json: error } = await handler.request('/accounts/a?color=red')
        expect(status).toBe(400)
        expect(error).toMatchObject({ errors: [{ field: 'color', type: 'unknown_parameter' }] })
      })

      it.each(['limit=abc', 'limit=5', 'offset=0', 'sort=name', 'cursor=x', 'since=2024-01-01'])(
        'a parameter of lists is 400 for a single item: %s',
        async query => {
          await handler.request('/accounts', { method: 'POST', json: { id: 'l', name: 'L' } })
          const { status, json } = await handler.request(`/accounts/l?${query}&fields=id&_=1`)
          expect(status).toBe(400)
          const field = query.split('=')[0]
          expect(json).toMatchObject({ errors: [{ field, type: 'unknown_parameter' }] })
        },
      )
    },
    { once: true },
  )
})
