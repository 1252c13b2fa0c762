// What random requests are made of: bodies in each format, and the values that they pick from.

/** A form's empty control of an optional field is meant to change: only required fields stay empty. */
export function controlsOf(values: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(values).filter(
    ([name, value]) => String(value ?? '') !== '' || REQUIRED.has(name),
  )
}

const REQUIRED = new Set(['car_id', 'color', 'line', 'name', 'plate', 'text', 'title'])

export function formOf(values: Readonly<Record<string, unknown>>, path = ''): string {
  return controlsOf(values)
    .map(([name, value]) => {
      const key = path === '' ? name : `${path}.${name}`
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
        return formOf(value as Record<string, unknown>, key) // an object that is no list: names and values
      }
      return `${key}=${encodeURIComponent(String(value ?? ''))}`
    })
    .join('&')
}

export function xmlOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(each => `<item>${xmlOf(each)}</item>`).join('')
  if (typeof value !== 'object' || value === null)
    return String(value ?? '').replaceAll('<', '&lt;')
  return Object.entries(value)
    .map(([name, each]) => `<${name}>${xmlOf(each)}</${name}>`)
    .join('')
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

export const ONLY_OPEN: ReadonlySet<string> = new Set(['photo', 'action', 'below', 'search'])

export const KINDS = words(`
  list list list list list list list list list list list list list list read read read read read read
  read read read read read read create create create create create create create create create create
  create create create create patch patch patch patch patch patch patch patch patch patch follow follow
  follow follow follow follow replace replace replace replace replace photo photo photo photo photo
  below below below below below count count search search delete action action action override
  override override options root method
`)

export const COLLECTIONS: Readonly<Record<string, readonly string[]>> = {
  open: ['cars', 'cars', 'cars', 'options', 'models', 'cars_models', 'notes', 'photos'],
  guarded: ['cars', 'cars', 'cars', 'options'],
  versioned: ['cars', 'cars', 'logs'],
}
export const MODELS = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'count', 'a.b', 'ü']
export const ORIGINS = ['https://app.test', 'https://evil.test', 'null', 'http://cars.test']
export const EXTENSIONS = [
  '.json',
  '.json',
  '.xml',
  '.xml',
  '.csv',
  '.ndjson',
  '.json',
  '.xml',
  '.html',
  '.nothing',
]
export const ACCEPTS = [
  '*/*',
  'application/json',
  'application/xml',
  'text/csv',
  'application/x-ndjson',
  'application/problem+json',
  'application/xml;q=0.5, application/json;q=0.9',
  'text/plain',
  'image/*',
  'application/vnd.cars+json',
  'broken',
  '',
]
export const FILTERS = words(`
  color=red color=blue&color=red color[]=green color[in]=red,blue color[nin]=red color[ne]=red
  color=pink price[gte]=10 price[lt]=50&price[gt]=3 price[gte]=x model.name=Clio
  model.name[prefix]=Cl model.year[exists]=true plate[like]=P%25 plate[prefix]=P1 sold=true
  sold=maybe built[exists]=false built=2024-02-29 tags=a car_id=3 car_id[in]=1,2,3 name=radio
  text=hello stars[gte]=3 level=warn line[like]=*a* filter[color]=red filter[limit]=1 nothing=1
  colour=red price[near]=3 extra.kind=van owner=ann id[in]=1,2,3 id=abc
`)
export const SORTS = [
  'id',
  '-id',
  'price',
  'color,-id',
  'price,color',
  '-plate,id',
  '-price,id',
  'nothing',
  '',
  'model.name',
  'tags',
  'color,color',
  '-created_at,id',
]
export const FIELDS = [
  'id',
  'id,color',
  'model.name',
  'color,model.name,price',
  'nothing',
  'id,colour',
  '',
  'model',
  'id,id',
  'car_id,name',
  'text',
  'extra.kind',
]
export const UNUSUAL = words(`
  since=2026-01-01 since=2026-01-01T00:00:00Z&until=2026-12-31 until=yesterday since_id=3 max_id=5
  since_id=abc cursor=nothing q=x = && a% %00=1 __proto__=1 range=[0,2] filter={"color":"red"}
  sort=["price","ASC"] _start=0&_end=2 _sort=price&_order=ASC limit=1&limit=2
`)
export const RANGES = [
  'cars=0-2',
  'cars=1-1',
  'cars=900-',
  'cars=2-1',
  'options=0-1',
  'notes=0-0',
  'bytes=0-1',
  'cars=-2',
  'broken',
]
export const TYPES = [
  'application/json',
  'application/xml',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=b',
  'broken',
  'application/json; charset=latin1',
  'application/merge-patch+json',
  'text/csv',
]
export const BROKEN = [
  '',
  '{',
  'null',
  '[]',
  '1',
  '"x"',
  '{"plate":"a","plate":"b"}',
  '{"__proto__":{"a":1}}',
  '[[[[[[[[[[1]]]]]]]]]]',
  '<car>',
  '<car><a></car>',
  '<!DOCTYPE car><car/>',
  'a=%zz',
  '--b\r\n',
  '--b--\r\n',
  '{"price":1e400}',
  '\u0000',
]
export const PATCH_OPERATIONS = [
  { op: 'replace', path: '/color', value: 'blue' },
  { op: 'replace', path: '/price', value: -5 },
  { op: 'test', path: '/color', value: 'red' },
  { op: 'add', path: '/tags', value: ['a'] },
  { op: 'add', path: '/tags/-', value: 'b' },
  { op: 'remove', path: '/tags' },
  { op: 'remove', path: '/extra' },
  { op: 'copy', from: '/model/name', path: '/plate' },
  { op: 'move', from: '/tags', path: '/nothing' },
  { op: 'replace', path: '/id', value: 7 },
  { op: 'add', path: '/nothing', value: 1 },
  { op: 'replace', path: '/text', value: 'patched' },
  { op: 'replace', path: '/stars', value: 4 },
  { op: 'jump', path: '/color' },
  { path: '/color' },
  { op: 'replace', path: 'color', value: 1 },
  { op: 'replace', path: '/name', value: 'patched' },
]
