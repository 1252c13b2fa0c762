// Values as people read them: in a cell of a table, in a definition list.
import { isDateTime, parseInstant } from '../../base/dates.ts'
import { type Item, isObject, type Json, type Scalar } from '../../base/values.ts'
import type { Field, Fields } from '../../schema/fields.ts'
import { type Markup, markup, raw } from '../markup/markup.ts'
import type { PageView, ValueLink } from './page-view.ts'

type FindLink = PageView['findLink']

/** Stands for no value. */
export const NOTHING = raw('<span class="nothing">–</span>')

/** Prints an item or a document: properties as terms, with objects and lists within. */
export function printItem(item: Item, fields?: Fields, findLink?: FindLink): Markup {
  const entries = Object.entries(item)
  if (entries.length === 0) return NOTHING
  return markup`<dl>${entries.map(([name, value]) => {
    const field = fields?.get(name)
    return markup`<div><dt>${field?.title ?? name}</dt><dd>${printValue(value, field, name, findLink)}</dd></div>`
  })}</dl>`
}

/** Prints any value. `name` is that of the item's property; absent within an object or a list. */
export function printValue(value: Json, field?: Field, name?: string, findLink?: FindLink): Markup {
  const file = field && printFile(value, field, name)
  if (file) return file
  if (Array.isArray(value)) return printList(value, field?.element)
  if (isObject(value)) return printItem(value, field?.properties)
  return printScalar(value, field, name === undefined ? undefined : findLink?.(name, value))
}

function printList(values: readonly Json[], element: Field | undefined): Markup {
  if (values.length === 0) return NOTHING
  const elements = values.map(value => markup`<li>${printValue(value, element)}</li>`)
  return values.every(value => typeof value !== 'object')
    ? markup`<ul class="tags">${elements}</ul>`
    : markup`<ol>${elements}</ol>`
}

/** Prints a text, number, boolean or null, with a link to the item that it refers to. */
function printScalar(
  value: Scalar | null,
  field: Field | undefined,
  to: ValueLink | undefined,
): Markup {
  if (value === null || value === '') return NOTHING
  if (to)
    return markup`<a href="${to.href}" title="${String(value)}">${to.label ?? shortenId(value)}</a>`
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

/** Prints a link to a file or its picture: the value of a binary property is an address, or an object with `url`. */
function printFile(value: Json, { accept }: Field, name = 'file'): Markup | undefined {
  const address = isObject(value) ? value.url : value
  if (!accept || typeof address !== 'string') return undefined
  const isPicture = accept.length > 0 && accept.every(type => type.startsWith('image/'))
  const content = isPicture ? markup`<img src="${address}" alt="${name}" loading="lazy">` : name
  return markup`<a href="${address}">${content}</a>`
}
