// Random requests, usual and unusual mixed: the same seed gives the same requests.
// `{uuid:3}` stands for the third UUID that a build made, `{link:next}` for a link of its last page and
// `{tag}` for the entity tag it gave for the path: both builds are asked for the same by their own words.
// Left out: kinds whose answer is meant to change (`_method=GET`, several byte ranges, HTML, `_`, empty
// controls of optional fields in forms, a descending sort whose ties another key must order).

import {
  ACCEPTS,
  BROKEN,
  COLLECTIONS,
  controlsOf,
  EXTENSIONS,
  FIELDS,
  FILTERS,
  formOf,
  KINDS,
  MODELS,
  ONLY_OPEN,
  ORIGINS,
  PATCH_OPERATIONS,
  RANGES,
  SORTS,
  TYPES,
  UNUSUAL,
  xmlOf,
} from './values.ts'

export interface Question {
  readonly api: string
  readonly handler: 'node' | 'fetch'
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Milliseconds that pass before it. */
  readonly pause: number
}

type Random = () => number

/** A small generator of numbers from 0 to 1 (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** @param filling whether it only creates, so that there are items. */
export function makeQuestion(random: Random, api: string, filling = false): Question {
  const pick = <T>(values: readonly T[]): T => {
    const value = values[Math.floor(random() * values.length)]
    if (value === undefined) throw new TypeError('Nothing to pick from')
    return value
  }
  const chance = (share: number) => random() < share
  const int = (below: number) => Math.floor(random() * below)
  const headers: Record<string, string> = {}
  const parameters: string[] = []
  let method = 'GET'
  let path = '/'
  let body: string | undefined

  let prefix = api === 'versioned' ? pick(chance(0.05) ? ['/v3', ''] : ['/v1', '/v2', '/v2']) : ''
  const collection = pick(COLLECTIONS[api] ?? ['cars'])
  if (collection === 'logs' && chance(0.95)) prefix = '/v2'
  const id = () => {
    if (chance(0.05))
      return pick([
        '0',
        '-1',
        'abc',
        '999999',
        '%20',
        '1.5',
        '%zz',
        '00000000-0000-7000-8000-000000000000',
      ])
    if (collection === 'notes') return `{uuid:${1 + int(24)}}`
    if (collection === 'models') return encodeURIComponent(pick(MODELS))
    return String(1 + int(24))
  }

  const drawn = filling ? 'create' : pick(KINDS)
  // Only one of the apis has them: for the others they are rare.
  const kind =
    api !== 'open' && ONLY_OPEN.has(drawn) && chance(0.9)
      ? pick(['list', 'read', 'create', 'patch'])
      : drawn
  switch (kind) {
    case 'list':
      path = `/${collection}`
      addQuery()
      break
    case 'count':
      path = `/${collection}/count`
      addQuery()
      break
    case 'search':
      path = `/${collection}/search`
      if (chance(0.9)) parameters.push(`q=${pick(['clio', 'red', 'AB', 'a%20b', '%C3%A9', ''])}`)
      addQuery()
      break
    case 'read':
      path = `/${collection}/${id()}`
      if (chance(0.3)) addFields()
      if (chance(0.05)) parameters.push(pick(['limit=3', 'nothing=1', 'sort=id']))
      break
    case 'follow':
      path = `{link:${pick(['next', 'next', 'next', 'previous', 'first', 'last'])}}`
      break
    case 'create':
      method = 'POST'
      path = `/${collection}`
      addBody(valuesFor(collection))
      break
    case 'replace':
      method = 'PUT'
      // A version's PUT is meant to keep what only another version declares.
      if (prefix === '/v1') prefix = '/v2'
      path = `/${collection}/${id()}`
      addBody(valuesFor(collection))
      break
    case 'patch':
      method = 'PATCH'
      path = `/${collection}/${id()}`
      addPatch()
      break
    case 'delete':
      method = 'DELETE'
      path = `/${collection}/${id()}`
      if (chance(0.1)) addQuery()
      break
    case 'action':
      if (chance(0.3)) {
        path = '/cars/cheapest'
        if (chance(0.6)) parameters.push(`color=${pick(['red', 'blue', 'pink'])}`)
        if (chance(0.1)) method = 'POST'
      } else {
        method = chance(0.9) ? 'POST' : pick(['GET', 'PUT'])
        path = `/cars/${1 + int(24)}/buy`
        addBody({ offer: pick([0, 1, 500, 'much']) })
      }
      break
    case 'below': {
      const below = pick(['options', 'models', 'cars_models', 'nothing'])
      path = `/cars/${1 + int(24)}/${below}`
      if (chance(0.3)) path += `/${1 + int(20)}`
      method = pick(['GET', 'GET', 'GET', 'POST', 'PATCH', 'DELETE'])
      if (method === 'GET') addQuery()
      if (method === 'POST' || method === 'PATCH') addBody(valuesFor(below))
      break
    }
    case 'photo':
      addPhoto()
      break
    case 'override':
      method = 'POST'
      path = `/${collection}/${id()}`
      addOverride()
      break
    case 'options':
      method = 'OPTIONS'
      path = pick(['/', `/${collection}`, `/${collection}/1`, '/cars/count', '/cars/1/buy', '*'])
      if (chance(0.5)) {
        headers.Origin = pick(ORIGINS)
        headers['Access-Control-Request-Method'] = pick(['GET', 'PUT', 'POST'])
      }
      break
    case 'root':
      path = pick([
        '/',
        '',
        '/health',
        '/nothing',
        '/cars/',
        '//cars',
        '/CARS',
        '/cars//1',
        '/cars/1/',
        '/.well-known/oauth-protected-resource',
      ])
      method = pick(['GET', 'GET', 'HEAD', 'POST', 'DELETE'])
      break
    case 'method':
      method = pick(['PUT', 'PATCH', 'DELETE', 'POST', 'TRACE', 'PROPFIND'])
      path = pick([`/${collection}`, `/${collection}/count`, `/${collection}/1`, '/'])
      break
  }

  if (chance(0.08) && method === 'GET') method = 'HEAD'
  if (chance(0.1) && path.startsWith('/')) path += pick(EXTENSIONS)
  if (chance(0.35)) headers.Accept = pick(ACCEPTS)
  if (chance(0.25)) addConditions()
  if (chance(0.1)) addPrefer()
  if (chance(0.08) && method !== 'GET' && method !== 'HEAD') {
    headers['Idempotency-Key'] = pick(['k1', 'k2', 'k3', '"k4"', 'x'.repeat(300), ''])
  }
  if (chance(kind === 'list' ? 0.2 : 0.04)) {
    headers.Range = chance(0.5) ? `${collection}=${pick(['0-2', '1-1', '3-90'])}` : pick(RANGES)
  }
  if (chance(0.04))
    parameters.push(
      pick(['suppress_error_codes', 'suppress_error_codes=true', 'suppress_error_codes=0']),
    )
  if (chance(0.02)) parameters.push(pick(['_method=DELETE', '_method=patch', '_method=TRACE']))
  if (chance(0.1)) headers.Origin = pick(ORIGINS)
  if (chance(0.03)) headers['Sec-Fetch-Site'] = pick(['cross-site', 'same-origin', 'none'])
  if (chance(0.02)) headers['X-Forwarded-For'] = pick(['1.2.3.4', 'x', '1.2.3.4, 5.6.7.8'])
  if (api === 'guarded' && chance(0.9)) addCredentials()

  const query = parameters.length > 0 ? `?${parameters.join('&')}` : ''
  return {
    api,
    handler: chance(0.5) ? 'node' : 'fetch',
    method,
    target: path.startsWith('{') || path === '*' ? path : `${prefix}${path}${query}`,
    headers,
    body: method === 'GET' || method === 'HEAD' ? undefined : body,
    pause: chance(0.01) ? 90_000 : int(700),
  }

  function addQuery(): void {
    while (chance(0.55)) {
      const roll = random()
      if (roll < 0.45) parameters.push(pick(FILTERS))
      else if (roll < 0.6) parameters.push(`sort=${pick(SORTS)}`)
      else if (roll < 0.75)
        parameters.push(`limit=${pick(['0', '1', '2', '3', '5', '10', '1000', '-1', 'x', ''])}`)
      else if (roll < 0.85) parameters.push(`offset=${pick(['0', '1', '3', '10', '1000', 'x'])}`)
      else if (roll < 0.92) addFields()
      else parameters.push(pick(UNUSUAL))
    }
  }

  function addFields(): void {
    parameters.push(`fields=${pick(FIELDS)}`)
  }

  /** As JSON most times, else as a form, XML, or something that is no body at all. */
  function addBody(values: Readonly<Record<string, unknown>>): void {
    const roll = random()
    if (roll < 0.7) {
      headers['Content-Type'] = pick([
        'application/json',
        'application/json',
        'application/json; charset=utf-8',
        'application/vnd.cars+json',
      ])
      body = JSON.stringify(values)
    } else if (roll < 0.8) {
      headers['Content-Type'] = 'application/x-www-form-urlencoded'
      body = formOf(values)
    } else if (roll < 0.86) {
      headers['Content-Type'] = 'application/xml'
      const name = collection.replace(/s$/, '')
      body = `<${name}>${xmlOf(values)}</${name}>`
    } else if (roll < 0.9) {
      headers['Content-Type'] = 'multipart/form-data; boundary=b'
      body = multipartOf(values)
    } else {
      headers['Content-Type'] = pick(TYPES)
      body = pick(BROKEN)
    }
    if (chance(0.02)) headers['Content-Encoding'] = pick(['gzip', 'identity'])
  }

  function addPatch(): void {
    if (chance(0.3)) {
      headers['Content-Type'] = 'application/json-patch+json'
      body = JSON.stringify(Array.from({ length: int(4) }, () => pick(PATCH_OPERATIONS)))
    } else {
      const all = Object.entries(valuesFor(collection))
      addBody(Object.fromEntries(all.filter(() => chance(0.4))))
      if (chance(0.3) && headers['Content-Type'] === 'application/json') {
        headers['Content-Type'] = 'application/merge-patch+json'
      }
    }
  }

  function addOverride(): void {
    const put = prefix === '/v1' ? 'PATCH' : 'PUT'
    const word = pick([put, 'PATCH', 'DELETE', 'delete', 'POST', 'TRACE', ''])
    const values = valuesFor(collection)
    const roll = random()
    if (roll < 0.35) {
      parameters.push(`_method=${word}`)
      addBody(values)
    } else if (roll < 0.6) {
      headers['X-HTTP-Method-Override'] = word
      addBody(values)
    } else {
      headers['Content-Type'] = 'application/x-www-form-urlencoded'
      body = `_method=${word}&${formOf(values)}`
      if (chance(0.2)) body += '&_if_match=%22nothing%22'
    }
  }

  function addPhoto(): void {
    const roll = random()
    const item = `/photos/${1 + int(12)}`
    if (roll < 0.35) {
      path = `${item}/photo`
      method = pick(['GET', 'GET', 'HEAD', 'DELETE', 'PUT'])
      if (chance(0.5))
        headers.Range = pick(['bytes=0-3', 'bytes=-2', 'bytes=3-', 'bytes=90-', 'bytes=x'])
    } else if (roll < 0.5) {
      path = `${item}`
      parameters.push(`fields=${pick(['photo_data', 'id,photo_data', 'photo_url', 'photo'])}`)
    } else {
      method = roll < 0.8 ? 'POST' : pick(['PUT', 'PATCH'])
      path = method === 'POST' ? '/photos' : item
      const title = pick(['a', 'b', ''])
      if (chance(0.5)) {
        headers['Content-Type'] = 'multipart/form-data; boundary=b'
        const type = pick(['text/plain', 'image/png', 'application/x-thing'])
        const content = pick(['hello', '\x89PNG\r\n\x1a\n----', '<script>', 'x'.repeat(2500)])
        body = `--b\r\nContent-Disposition: form-data; name="title"\r\n\r\n${title}\r\n--b\r\nContent-Disposition: form-data; name="photo"; filename="p"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n--b--\r\n`
      } else {
        headers['Content-Type'] = 'application/json'
        body = JSON.stringify(
          pick([
            { title, photo_data: 'aGVsbG8=' },
            { title, photo_data: 'not base64!' },
            { title, photo_url: 'http://evil.test/x' },
            { title, photo_data: 'aGVsbG8=', photo_url: 'http://evil.test/x' },
            { title },
            { title, photo: null },
          ]),
        )
      }
    }
  }

  function addConditions(): void {
    const tag = pick([
      '{tag}',
      '{tag}',
      '{tag}',
      '"nothing"',
      '*',
      'W/{tag}',
      '"a", {tag}',
      'broken',
      '',
    ])
    const name = pick([
      'If-Match',
      'If-Match',
      'If-None-Match',
      'If-None-Match',
      'If-Modified-Since',
      'If-Unmodified-Since',
      'If-Range',
    ])
    const isDate = name.endsWith('Since')
    headers[name] = isDate
      ? pick(['Mon, 01 Jan 2035 00:00:00 GMT', 'Mon, 01 Jan 2001 00:00:00 GMT', 'yesterday'])
      : tag
  }

  function addPrefer(): void {
    headers.Prefer = pick([
      'return=minimal',
      'return=representation',
      'count=none',
      'count=estimated',
      'count=exact',
      'return=minimal, count=none',
      'respond-async',
      'return=other',
      ';;',
    ])
  }

  function addCredentials(): void {
    const user = pick(['ann', 'ann', 'ben', 'root', 'eve'])
    const roll = random()
    if (roll < 0.5) headers['X-Api-Key'] = user
    else if (roll < 0.97) {
      const password = chance(0.97) ? 'secret' : 'wrong'
      headers.Authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
      headers['X-Forwarded-Proto'] = 'https'
    } else headers.Authorization = pick(['Basic', 'Basic !', 'Bearer x', 'Digest y'])
  }

  function valuesFor(name: string): Record<string, unknown> {
    const unusual = chance(0.12)
    const values: Record<string, unknown> = {}
    switch (name) {
      case 'options':
        values.car_id = 1 + int(24)
        values.name = pick(['radio', 'roof', ''])
        if (chance(0.4)) values.price = int(500)
        break
      case 'models':
        values.id = pick(MODELS)
        values.name = pick(['Clio', 'Golf'])
        values.since = pick(['2020-01-31', '2020-02-30', '1999-12-01'])
        break
      case 'cars_models':
        values.car_id = 1 + int(24)
        values.model_id = pick(MODELS)
        break
      case 'notes':
        values.text = pick(['hello', ' padded ', 'spam', 'é', ''])
        if (chance(0.5)) values.stars = int(7)
        if (chance(0.3)) values.more = { deep: [1, 'two', null] }
        break
      case 'logs':
        values.line = pick(['started', 'a,b;"c"', '=1+1'])
        values.level = pick(['info', 'warn', null])
        break
      default:
        values.plate = `P${int(400)}`
        values.color = chance(0.03) ? 'pink' : pick(['blue', 'green', 'red', 'red'])
        values.price = chance(0.03) ? -1 : pick([int(90), int(90), 12.5])
        if (chance(0.5))
          values.model = chance(0.05) ? {} : pick([{ name: 'Golf' }, { name: 'Clio', year: 2001 }])
        if (chance(0.3)) values.built = pick(['2024-02-29', '2023-02-29', null])
        if (chance(0.3)) values.tags = pick([[], ['a'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd', 'e']])
        if (chance(0.2))
          values.extra = pick([
            { kind: 'van', volume: 2 },
            { kind: 'bus', seats: 1.5 },
            { kind: 'x' },
            { kind: 'van', volume: 1, seats: 2 },
          ])
        if (chance(0.2)) values.sold = chance(0.5)
        if (api === 'guarded' && chance(0.8)) values.owner = pick(['ann', 'ben', 'root'])
        if (api === 'versioned' && chance(0.8))
          for (const key of ['model', 'built', 'tags', 'extra', 'sold']) delete values[key]
    }
    if (unusual) {
      const key = pick([...Object.keys(values), 'unknown', 'id', 'created_at', 'updated_at'])
      values[key] = pick([
        null,
        1,
        'text',
        true,
        [],
        {},
        { a: { b: 1 } },
        1e21,
        '2024-01-01',
        'x'.repeat(5000),
      ])
      if (chance(0.3)) delete values[key]
    }
    return values
  }

  function multipartOf(values: Readonly<Record<string, unknown>>): string {
    const parts = controlsOf(values).map(([name, value]) => {
      const type = typeof value === 'string' ? '' : '\r\nContent-Type: application/json'
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return `--b\r\nContent-Disposition: form-data; name="${name}"${type}\r\n\r\n${text}\r\n`
    })
    return `${parts.join('')}--b--\r\n`
  }
}
