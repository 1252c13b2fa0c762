// Requests at random to the shop: `{made:cars:3}` is the id of the last car but two that was created, `{link:next}` a link of its last page, and
// `{tag}` the entity tag that it gave for the path.
import type { randomFrom } from '../../bench/compare/requests.ts'
import { COLORS, WHO } from './shop.ts'

export interface Question {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

type Random = ReturnType<typeof randomFrom>
type Values = Readonly<Record<string, unknown>>

const MAKERS = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'é', 'a.b']
const words = (text: string) => text.trim().split(/\s+/)
const FILTERS: Readonly<Record<string, readonly string[]>> = {
  cars: words(`
    color=red color[in]=red,blue color[ne]=red color[nin]=red,green price[gte]=10 price[lt]=50 price=12.5 price[exists]=true
    sold=true doors[gt]=2 seen[gt]=2024-03-01T00:00:00Z tags=a spec.name=Clio spec.year[exists]=false plate[like]=*1*
    plate[prefix]=P1 plate[gt]=P2 owner=ann note=n1 maker_id=m1 maker.name=Ford maker.name[like]=*o* parts.n[gt]=3
    since_id=3 max_id=9 id[in]=1,2,5
  `),
  parts: words(
    'car.color=red name=radio name[ne]=radio n[lte]=4 n[gt]=5 car_id[in]=1,2,3 car.sold=false',
  ),
  makers: words(
    'name=Ford name[like]=*i* over_id[exists]=true id[in]=m1,m2 over.name=Ford id[gt]=m2 cars.color=red',
  ),
  audit: words('what[prefix]=create what[like]=*P1*'),
}
const ANY_FILTER = words(
  'sold=maybe id=abc colour=red price[near]=1 since=2020-01-01 until=2020-01-01 =x a=b=c',
)
const TREES: readonly unknown[] = [
  { or: [{ color: 'red' }, { price: { gt: 50 } }] },
  { not: { color: ['red', 'blue'] } },
  { and: [{ sold: false }, { or: [{ doors: 2 }, { tags: 'a' }] }] },
  { or: [] },
  { color: { in: [] } },
  { plate: 1e21 },
  { or: { color: 'red' } },
]
const SORTS: Readonly<Record<string, readonly string[]>> = {
  cars: words(
    'id -id price -price,id color,-price plate -plate sold,-doors,id spec.name seen,-id maker.name',
  ),
  parts: words('name -n,id n,name car.plate'),
  makers: words('id -id name -name,id over_id'),
  audit: words('what -what'),
}
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  cars: words('id id,color spec.name color,price note plate,tags'),
  parts: words('id name,n car_id'),
  makers: words('id,name name'),
  audit: words('what'),
}
const INCLUDES: Readonly<Record<string, readonly string[]>> = {
  cars: words('maker parts parts,maker'),
  parts: words('car car.maker'),
  makers: words('over'),
  audit: words('nothing'),
}
const GROUPS = words('color color,sold price seen:year seen:month spec.name sold,spec.name plate')
const SEEN = ['2024-03-01T00:00:00+01:00', '2024-02-29T23:00:00.5Z', '2025-01-01', 'never']
const PATCHES = [
  { op: 'replace', path: '/color', value: 'blue' },
  { op: 'replace', path: '/doors', value: 9 },
  { op: 'test', path: '/color', value: 'red' },
  { op: 'add', path: '/tags', value: ['a'] },
  { op: 'add', path: '/tags/-', value: 'b' },
  { op: 'remove', path: '/tags' },
  { op: 'remove', path: '/spec' },
  { op: 'add', path: '/spec/year', value: 2001 },
  { op: 'copy', from: '/color', path: '/note' },
  { op: 'replace', path: '/note', value: 'n2' },
  { op: 'replace', path: '/id', value: 7 },
  { op: 'replace', path: '/name', value: 'patched' },
  { op: 'jump', path: '/color' },
]
const BROKEN = words(
  `{ null 1 "x" [1] [{}] {"plate":"a","plate":"b"} {"price":1e400} {"price":9007199254740993} <car> a=%zz`,
)

/** @param filling whether it only creates, so that there are items. */
export function makeShopQuestion(random: Random, filling: boolean): Question {
  return new Maker(random).make(filling)
}

class Maker {
  readonly #random: Random
  readonly #headers: Record<string, string> = {}
  readonly #parameters: string[] = []
  #collection = 'cars'
  #isOld = false
  #body: string | undefined
  constructor(random: Random) {
    this.#random = random
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)] as T // there is one
  }

  /** Of what fits the collection; now and then of what fits another one. */
  #pickOf(values: Readonly<Record<string, readonly string[]>>): string {
    const name = this.#chance(0.04) ? this.#pick(Object.keys(values)) : this.#collection
    return this.#pick(values[name] ?? [])
  }

  make(filling: boolean): Question {
    const version = this.#chance(0.2) ? '/v1' : '/v2'
    this.#isOld = version === '/v1'
    this.#collection = this.#pick(
      version === '/v1'
        ? ['cars', 'cars', 'makers']
        : ['cars', 'cars', 'cars', 'parts', 'makers', 'audit'],
    )
    const [method, path] = filling ? this.#create() : this.#draw()
    if (this.#chance(0.85)) this.#headers.Authorization = `Who ${this.#pick(WHO)}`
    if (this.#chance(0.12)) this.#addConditions()
    if (method !== 'GET' && !filling) this.#addWriteHeaders()
    if (this.#chance(0.15)) {
      this.#headers.Accept = this.#pick(
        words('application/xml text/csv application/x-ndjson text/plain */*'),
      )
    }
    const query = this.#parameters.length > 0 ? `?${this.#parameters.join('&')}` : ''
    const target = path.startsWith('{') ? path : `${version}${path}${query}`
    return {
      method,
      target,
      headers: this.#headers,
      body: method === 'GET' ? undefined : this.#body,
    }
  }

  #draw(): readonly [method: string, path: string] {
    const list = `/${this.#collection}`
    // Of the audit nothing but lists and counts is served.
    switch (this.#below(this.#collection === 'audit' && this.#chance(0.8) ? 4 : 22)) {
      case 0:
      case 1:
      case 2:
        this.#addQuery()
        return ['GET', list]
      case 3:
        return ['GET', `{link:${this.#pick(['next', 'next', 'previous', 'first', 'last'])}}`]
      case 4:
        if (this.#chance(0.8)) this.#collection = 'cars'
        this.#addFilters()
        if (this.#chance(0.8)) this.#parameters.push(`by=${this.#pick(GROUPS)}`)
        if (this.#chance(0.3))
          this.#parameters.push(
            this.#pick(['sum=price', 'avg=doors,price', 'min=seen', 'max=plate']),
          )
        if (this.#chance(0.3))
          this.#parameters.push(`sort=${this.#pick(['-count', 'color', '-sum.price'])}`)
        return ['GET', `${list}/count`]
      case 5:
        this.#parameters.push(`q=${this.#pick(['red', 'p1', 'RADIO', 'fo'])}`)
        this.#addQuery()
        return ['GET', `${list}/search`]
      case 6:
      case 7:
        if (this.#chance(0.3)) this.#parameters.push(`fields=${this.#pickOf(FIELDS)}`)
        if (this.#chance(0.3)) this.#parameters.push(`include=${this.#pickOf(INCLUDES)}`)
        return ['GET', `${list}/${this.#id()}`]
      case 8:
      case 9:
      case 10:
        return this.#create()
      case 11:
      case 12:
        return this.#createMany()
      case 13:
        this.#addBody(this.#values())
        return ['PUT', `${list}/${this.#id()}`]
      case 14:
      case 15:
        this.#addPatch()
        return ['PATCH', `${list}/${this.#id()}`]
      case 16:
        return ['DELETE', `${list}/${this.#id()}`]
      case 17:
        return this.#byFilter()
      case 18:
        return this.#batch()
      case 19:
        this.#body = JSON.stringify({ offer: this.#pick([0, 1, 500, 'much']) })
        this.#headers['Content-Type'] = 'application/json'
        return ['POST', `/cars/${this.#id('cars')}/buy`]
      case 20:
        return this.#query()
      default: {
        const path = `/cars/${this.#id('cars')}/parts`
        if (this.#chance(0.6)) return ['GET', path]
        this.#addBody(this.#values('parts'))
        return ['POST', path]
      }
    }
  }

  #id(collection = this.#collection): string {
    if (this.#chance(0.05)) return this.#pick(['0', '-1', 'abc', '999999', '%zz', '1.5'])
    if (collection === 'makers') return encodeURIComponent(this.#pick(MAKERS))
    return `{made:${collection}:${1 + this.#below(12)}}`
  }

  #addFilters(): void {
    while (this.#chance(0.4)) {
      this.#parameters.push(this.#chance(0.04) ? this.#pick(ANY_FILTER) : this.#pickOf(FILTERS))
    }
    if (this.#chance(0.15)) {
      this.#parameters.push(`where=${encodeURIComponent(JSON.stringify(this.#pick(TREES)))}`)
    }
  }

  #addQuery(): void {
    this.#addFilters()
    if (this.#chance(0.4)) this.#parameters.push(`sort=${this.#pickOf(SORTS)}`)
    if (this.#chance(0.4))
      this.#parameters.push(`limit=${this.#pick(['1', '2', '3', '5', '0', 'x'])}`)
    if (this.#chance(0.15)) this.#parameters.push(`offset=${this.#pick(['1', '3', '100', '-1'])}`)
    if (this.#chance(0.2)) this.#parameters.push(`fields=${this.#pickOf(FIELDS)}`)
    if (this.#chance(0.25)) this.#parameters.push(`include=${this.#pickOf(INCLUDES)}`)
    if (this.#chance(0.1))
      this.#headers.Range = `${this.#collection}=${this.#pick(['0-2', '1-1', '3-90', '900-'])}`
  }

  #query(): readonly [method: string, path: string] {
    this.#headers['Content-Type'] = 'application/json'
    const query = {
      ...(this.#chance(0.5) && { color: this.#pick(COLORS) }),
      ...(this.#chance(0.5) && { where: this.#pick(TREES) }),
      ...(this.#chance(0.5) && { sort: this.#pickOf(SORTS) }),
      ...(this.#chance(0.5) && { limit: 1 + this.#below(5) }),
      ...(this.#chance(0.1) && { nothing: 1 }),
    }
    this.#body = JSON.stringify(query)
    return ['QUERY', `/${this.#collection}`]
  }

  #create(): readonly [method: string, path: string] {
    this.#addBody(this.#values())
    return ['POST', `/${this.#collection}`]
  }

  #createMany(): readonly [method: string, path: string] {
    const items = Array.from({ length: this.#below(4) }, () => this.#values())
    const type = this.#pick([
      'application/json',
      'application/json',
      'text/csv',
      'application/x-ndjson',
    ])
    this.#headers['Content-Type'] = type
    if (type === 'application/json') this.#body = JSON.stringify(items)
    else if (type === 'text/csv') this.#body = csvOf(items)
    else this.#body = items.map(item => JSON.stringify(item)).join('\n')
    return ['POST', `/${this.#collection}`]
  }

  #addPatch(): void {
    const roll = this.#random()
    if (roll < 0.4) {
      this.#headers['Content-Type'] = 'application/json-patch+json'
      this.#body = JSON.stringify(Array.from({ length: this.#below(4) }, () => this.#pick(PATCHES)))
      return
    }
    const all = Object.entries(this.#values())
    const some = Object.fromEntries(all.filter(() => this.#chance(0.4)))
    const cleared = this.#chance(0.2)
      ? { [this.#pick(['tags', 'spec', 'maker_id', 'color'])]: null }
      : {}
    this.#addBody({ ...some, ...cleared })
    if (this.#headers['Content-Type'] === 'application/json' && roll < 0.8) {
      this.#headers['Content-Type'] = 'application/merge-patch+json'
    }
  }

  #byFilter(): readonly [method: string, path: string] {
    this.#addFilters()
    this.#headers.Prefer = `max-affected=${this.#below(9)}`
    if (this.#chance(0.6)) {
      this.#headers['Content-Type'] = 'application/merge-patch+json'
      this.#body = JSON.stringify(
        this.#pick<Values>([
          { price: this.#below(90) },
          { color: 'red' },
          { color: 'pink' },
          { name: 'all' },
          { plate: 'P1' },
        ]),
      )
      return ['PATCH', `/${this.#collection}`]
    }
    return ['DELETE', `/${this.#collection}`]
  }

  #batch(): readonly [method: string, path: string] {
    const steps = Array.from({ length: 1 + this.#below(4) }, (_, at) => {
      const name = this.#pick(['cars', 'cars', 'parts', 'makers'])
      const item = `/${name}/${this.#id(name)}`
      return this.#pick<Values>([
        { method: 'POST', path: `/${name}`, body: this.#values(name), as: `s${at}` },
        { method: 'POST', path: '/parts', body: { car_id: '{s0}', name: 'radio' } },
        { method: 'PATCH', path: item, body: { color: this.#pick(COLORS) } },
        { method: 'PUT', path: item, body: this.#values(name) },
        { method: 'DELETE', path: item },
        { method: 'GET', path: item },
        { method: 'POST', path: `/${name}`, body: [this.#values(name), this.#values(name)] },
      ])
    })
    this.#headers['Content-Type'] = 'application/json'
    this.#body = JSON.stringify(steps)
    return ['POST', '/batch']
  }

  #addWriteHeaders(): void {
    if (this.#chance(0.1))
      this.#headers['Idempotency-Key'] = this.#pick(['"k1"', '"k2"', '"k3"', '"k4"', 'k5'])
    const { Prefer: given } = this.#headers
    const wanted = this.#pick([
      'tx=rollback',
      'return=minimal',
      'return=representation',
      'tx=rollback, return=minimal',
    ])
    if (this.#chance(0.25))
      this.#headers.Prefer = given === undefined ? wanted : `${given}, ${wanted}`
  }

  #addConditions(): void {
    const name = this.#pick([
      'If-Match',
      'If-Match',
      'If-None-Match',
      'If-None-Match',
      'If-Unmodified-Since',
    ])
    this.#headers[name] =
      name === 'If-Unmodified-Since'
        ? this.#pick(['Mon, 01 Jan 2001 00:00:00 GMT', 'yesterday'])
        : this.#pick(['{tag}', '{tag}', '{tag}', '"nothing"', '*', 'broken'])
  }

  #addBody(values: Values): void {
    const roll = this.#random()
    const [type, body] =
      roll < 0.75
        ? ['application/json', JSON.stringify(values)]
        : roll < 0.83
          ? [
              'application/xml',
              `<${this.#collection.slice(0, -1)}>${xmlOf(values)}</${this.#collection.slice(0, -1)}>`,
            ]
          : roll < 0.9
            ? ['application/x-www-form-urlencoded', formOf(values)]
            : [
                this.#pick(['application/json', 'application/xml', 'text/csv', 'text/plain']),
                this.#pick(BROKEN),
              ]
    this.#headers['Content-Type'] = type
    this.#body = body
  }

  #values(name = this.#collection): Values {
    const some = <T>(share: number, key: string, value: T) =>
      this.#chance(share) && { [key]: value }
    if (name === 'parts') {
      return {
        car_id: this.#chance(0.9) ? this.#id('cars') : 1 + this.#below(40),
        name: this.#pick(['radio', 'roof', '']),
        ...some(0.6, 'n', this.#below(8)),
      }
    }
    if (name === 'makers') {
      return {
        id: this.#pick(MAKERS),
        name: this.#pick(['Ford', 'Fiat', 'Ó']),
        ...some(0.3, 'over_id', this.#pick(MAKERS)),
      }
    }
    if (name === 'audit') return { what: 'mine' }
    const old = {
      plate: `P${this.#below(900)}`,
      color: this.#chance(0.03) ? 'pink' : this.#pick(COLORS),
      ...some(0.5, 'owner', this.#pick(['ann', 'ben', 'root'])),
      ...some(0.3, 'maker_id', this.#pick([null, ...MAKERS])),
    }
    // The first version has no more.
    if (this.#isOld && this.#chance(0.9)) return old
    return {
      ...old,
      ...some(0.6, 'price', this.#pick([null, 0, -3, 12.5, 10.25, this.#below(90)])),
      ...some(0.4, 'doors', this.#below(7)),
      ...some(0.2, 'sold', this.#chance(0.5)),
      ...some(0.3, 'seen', this.#pick(SEEN)),
      ...some(0.3, 'tags', this.#pick([[], ['a'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd']])),
      ...some(
        0.3,
        'spec',
        this.#pick([{ name: 'Clio' }, { name: 'Golf', year: 2001 }, {}, { name: 'Golf', more: 1 }]),
      ),
      ...some(0.2, 'note', this.#pick(['n1', 'n2', 'x'.repeat(30)])),
      ...some(
        0.04,
        this.#pick(['unknown', 'id', 'created_at']),
        this.#pick([null, 1, 'x', [], {}]),
      ),
    }
  }
}

function csvOf(items: readonly Values[]): string {
  const names = [...new Set(items.flatMap(item => Object.keys(item)))].filter(
    name => !/^(?:tags|spec)$/.test(name),
  )
  const lines = items.map(item => names.map(name => String(item[name] ?? '')).join(','))
  return [names.join(','), ...lines].join('\r\n')
}

function formOf(values: Values): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        `${name}=${encodeURIComponent(typeof value === 'object' ? '' : String(value))}`,
    )
    .join('&')
}

function xmlOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(each => `<item>${xmlOf(each)}</item>`).join('')
  if (typeof value !== 'object' || value === null)
    return String(value ?? '').replaceAll('<', '&lt;')
  return Object.entries(value)
    .map(([name, each]) => `<${name}>${xmlOf(each)}</${name}>`)
    .join('')
}
