// Items with what they include. What a store keeps printed is joined, not printed again.

import { printJson } from '../base/exact-numbers.ts'
import type { Item } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { type PrintedStored, printItem } from '../store/printed.ts'

/** The names under which the items of one level include others. */
export class PartNames {
  readonly names: readonly string[]
  /** Each name as JSON writes it before its value, and its bytes. */
  readonly keys: readonly { readonly json: string; readonly bytes: number }[]

  constructor(names: readonly string[]) {
    this.names = names
    this.keys = names.map(name => {
      const json = `${JSON.stringify(name)}:`
      return { json, bytes: Buffer.byteLength(json) }
    })
  }
}

/** A text and its bytes; without a text the item is printed anew. */
interface Printed {
  readonly json: string | undefined
  readonly bytes: number
}

/** What an item includes under one name: `null` or one item to one, a list to many. */
export type IncludedPart = NestedItem | null | readonly NestedItem[]

/** Of items that include nothing: never changed. */
const NO_PARTS: IncludedPart[] = []

/** An item, and what it includes. */
export class NestedItem {
  readonly stored: PrintedStored
  /** As clients read it: the item of `stored` itself where nothing is selected or left out. */
  readonly item: Item
  readonly names: PartNames
  /** Tells its version from the same one with other properties. */
  readonly tag: string
  #parts = NO_PARTS
  #printed: Printed | undefined

  constructor(stored: PrintedStored, item: Item, names: PartNames, tag = '') {
    this.stored = stored
    this.item = item
    this.names = names
    this.tag = tag
  }

  /** In the order of the names. */
  get parts(): readonly IncludedPart[] {
    return this.#parts
  }

  /** Sets what it includes under the name at this place. */
  setPart(at: number, part: IncludedPart): void {
    if (this.#parts === NO_PARTS) this.#parts = this.names.names.map(() => null)
    this.#parts[at] = part
  }

  /** The item with its parts as properties. */
  get data(): Item {
    if (this.#parts.length === 0) return this.item
    const data: Item = { ...this.item }
    for (const [at, part] of this.#parts.entries())
      data[this.names.names[at] ?? ''] = isList(part)
        ? part.map(each => each.data)
        : (part?.data ?? null)
    return data
  }

  /** How many items it includes, at all levels. */
  get count(): number {
    let count = 0
    for (const part of this.#parts) {
      if (part === null) continue
      if (isList(part)) for (const each of part) count += 1 + each.count
      else count += 1 + part.count
    }
    return count
  }

  /** The bytes that what it includes adds to it as JSON. */
  get includedBytes(): number {
    return this.print().bytes - this.#printOwn().bytes
  }

  /** Prints it as JSON, once. */
  print(): Printed {
    if (this.#parts.length === 0) return this.#printOwn()
    this.#printed ??= this.#printParts()
    return this.#printed
  }

  #printOwn(): Printed {
    const { item, stored } = this
    return item === stored.item ? printItem(stored) : measure(item)
  }

  #printParts(): Printed {
    const { item, names } = this
    // What is included wins over a property that has come into the store by another way.
    if (names.names.some(name => Object.hasOwn(item, name))) return measure(this.data)
    const own = this.#printOwn()
    let json = (own.json ?? printJson(item)).slice(0, -1)
    let { bytes } = own
    let comma = json === '{' ? '' : ','
    for (let at = 0; at < this.#parts.length; at++) {
      const part = this.#parts[at] ?? null
      const key = names.keys[at]
      if (!key) continue
      const printed = isList(part) ? printNested(part) : (part?.print() ?? NULL)
      json += comma + key.json + (printed.json ?? printJson(part))
      bytes += comma.length + key.bytes + printed.bytes
      comma = ','
    }
    return { json: `${json}}`, bytes }
  }

  /** As `JSON.stringify` has it. */
  toJSON(): Item {
    return this.data
  }

  /** Adds the versions of what it includes, each in its place. */
  addVersions(versions: string[]): void {
    for (const part of this.#parts) {
      if (part === null) versions.push('')
      else if (isList(part)) {
        versions.push(String(part.length))
        for (const each of part) each.#addOwn(versions)
      } else part.#addOwn(versions)
    }
  }

  #addOwn(versions: string[]): void {
    versions.push(this.tag === '' ? this.stored.version : this.stored.version + this.tag)
    if (this.#parts.length > 0) this.addVersions(versions)
  }
}

const NULL: Printed = { json: 'null', bytes: 4 }

function measure(item: Item): Printed {
  const json = printJson(item)
  return { json, bytes: Buffer.byteLength(json) }
}

function isList(part: IncludedPart): part is readonly NestedItem[] {
  return Array.isArray(part)
}

/** Prints a list as JSON. */
export function printNested(items: readonly NestedItem[]): Printed & { readonly json: string } {
  let json = '['
  let bytes = 2
  for (const each of items) {
    const printed = each.print()
    const text = printed.json ?? printJson(each.item)
    json += bytes === 2 ? text : `,${text}`
    bytes += bytes === 2 ? printed.bytes : printed.bytes + 1
  }
  return { json: `${json}]`, bytes }
}

/** A list with what it includes, as a representation: most formats read its data. */
export class NestedList {
  readonly kind = 'list'
  readonly name: string
  readonly itemName: string
  readonly fields: Fields
  readonly nested: readonly NestedItem[]

  constructor(
    { name, itemName, fields }: Pick<NestedList, 'name' | 'itemName' | 'fields'>,
    nested: readonly NestedItem[],
  ) {
    this.name = name
    this.itemName = itemName
    this.fields = fields
    this.nested = nested
  }

  get data(): readonly Item[] {
    return this.nested.map(({ data }) => data)
  }
}

/** An item with what it includes, as a representation. */
export class NestedOne {
  readonly kind = 'item'
  readonly name: string
  readonly fields: Fields
  readonly nested: NestedItem

  constructor(name: string, fields: Fields, nested: NestedItem) {
    this.name = name
    this.fields = fields
    this.nested = nested
  }

  get data(): Item {
    return this.nested.data
  }
}
