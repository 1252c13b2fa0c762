// Values as people read them: in a cell of a table, in a definition list.
import { isDateTime, parseInstant } from '../schema/dates.ts'
import type { Field, Fields } from '../schema/fields.ts'
import { type Item, isObject, type Json } from '../schema/values.ts'
import { type Markup, markup, raw } from './markup.ts'

/** Finds the address and the label of the item that a field's value refers to. */
export type Linker = (
  field: string,
  value: Json,
) => { readonly href: string; readonly label?: string | undefined } | undefined

/** For values that refer to nothing. */
export const NOWHERE: Linker = () => undefined

const NOTHING = raw('<span class="nothing">–</span>')

/** Prints an item or a document: properties as terms, with objects and lists within. */
export function printItem(item: Item, fields: Fields | undefined, link: Linker): Markup {
  const entries = Object.entries(item)
  if (entries.length === 0) return NOTHING
  return markup`<dl>${entries.map(([name, value]) => {
    const field = fields?.get(name)
    return markup`<div><dt>${name}</dt><dd>${printValue(value, field, name, link)}</dd></div>`
  })}</dl>`
}

/** Prints any value. `name` is that of the item's property; absent within an object or a list. */
export function printValue(
  value: Json,
  field: Field | undefined,
  name: string | undefined,
  link: Linker,
): Markup {
  const file = findFileAddress(value, field)
  if (file !== undefined) return printFile(file, field?.accept, name)
  if (Array.isArray(value)) return printList(value, field, link)
  if (isObject(value)) return printItem(value, field?.properties, NOWHERE)
  const to = name === undefined ? undefined : link(name, value)
  return printScalar(value, field, to?.href, to?.label)
}

function printList(values: readonly Json[], field: Field | undefined, link: Linker): Markup {
  if (values.length === 0) return NOTHING
  if (values.every(value => typeof value !== 'object')) {
    return markup`<ul class="tags">${values.map(value => markup`<li>${printScalar(value, field?.element)}</li>`)}</ul>`
  }
  return markup`<ol>${values.map(value => markup`<li>${printValue(value, field?.element, undefined, link)}</li>`)}</ol>`
}

/** Prints a text, number, boolean or null, linked to `href`. */
export function printScalar(
  value: Json | undefined,
  field?: Field | undefined,
  href?: string | undefined,
  label?: string | undefined,
): Markup {
  if (value === null || value === undefined || value === '') return NOTHING
  if (href !== undefined)
    return markup`<a href="${href}" title="${String(value)}">${label ?? shortenId(value)}</a>`
  if (typeof value === 'object') return markup`<code>${JSON.stringify(value)}</code>`
  if (typeof value === 'boolean') return markup`${value ? 'yes' : 'no'}`
  if (typeof value === 'number') return markup`<span class="number">${value}</span>`
  if (field?.kind === 'date-time' && isDateTime(value)) return printInstant(value)
  if (/^https?:\/\/[^/\s][^\s]*$/i.test(value)) {
    return markup`<a href="${value}" rel="noreferrer nofollow">${value}</a>`
  }
  return value.includes('\n') ? markup`<span class="text">${value}</span>` : markup`${value}`
}

/** Cuts a UUID to its end: UUIDv7 begin alike. */
function shortenId(value: Json): string {
  const text = String(value)
  return /^[0-9a-f-]{36}$/i.test(text) ? `…${text.slice(-8)}` : text
}

function printInstant(text: string): Markup {
  const iso = new Date(parseInstant(text)).toISOString()
  return markup`<time datetime="${text}" title="${text}">${iso.slice(0, 10)} ${iso.slice(11, 19).replace(/:00$/, '')}</time>`
}

/** Finds the address of a binary property: a text, or the `url` of an object. */
export function findFileAddress(value: Json, field: Field | undefined): string | undefined {
  if (!field?.accept) return undefined
  const address = isObject(value) ? value.url : value
  return typeof address === 'string' ? address : undefined
}

export function printFile(address: string, accept: readonly string[] = [], name = 'file'): Markup {
  const picture = accept.length > 0 && accept.every(type => type.startsWith('image/'))
  return picture
    ? markup`<a href="${address}"><img src="${address}" alt="${name}" loading="lazy"></a>`
    : markup`<a href="${address}">${name}</a>`
}
