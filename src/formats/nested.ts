// Items with what they include. What a store keeps printed is joined, not printed again.

import type { Item } from '../base/values.ts'
import type { Fields } from '../schema/fields.ts'
import { type PrintedStored, printItem } from '../store/printed.ts'

/** The names under which the items of one level include others. */
export class PartNames {
  readonly names: readonly string[]
  /** Each name as JSON writes it before its value, and its bytes. */
  readonly keys: readonly { readonly text: string; readonly bytes: number }[]

  constructor(names: readonly string[]) {
    this.names = names
    this.keys = names.map(name => {
      const text = `${JSON.stringify(name)}:`
      return { text, bytes: Buffer.byteLength(text) }
    })
  }
}

interface Printed {
  readonly text: string
  readonly bytes: number
}

/** An item, and what it includes: `null` or one item to one, a list to many. */
export class NestedItem {
  readonly stored: PrintedStored
  /** As clients read it: the item of `stored` itself where nothing is selected or left out. */
  readonly item: Item
  readonly names: PartNames
  /** Tells its version from the same one with other properties. */
  readonly tag: string
  /** In the order of the names. */
  readonly parts: (NestedItem | null | readonly NestedItem[])[] = []
  #printed: Printed | undefined

  constructor(stored: PrintedStored, item: Item, names: PartNames, tag = '') {
    this.stored = stored
    this.item = item
    this.names = names
    this.tag = tag
  }

  /** The item with its parts as properties. */
  get data(): Item {
    const { item, names, parts } = this
    if (parts.length === 0) return item
    const data: Item = { ...item }
    for (const [at, part = null] of parts.entries()) {
      const name = names.names[at] ?? ''
      data[name] = isList(part) ? part.map(each => each.data) : (part?.data ?? null)
    }
    return data
  }

  /** How many items it includes, at all levels. */
  get count(): number {
    let count = 0
    for (const part of this.parts) {
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
    this.#printed ??= this.parts.length === 0 ? this.#printOwn() : this.#printParts()
    return this.#printed
  }

  #printOwn(): Printed {
    const { item, stored } = this
    if (item !== stored.item) return measure(JSON.stringify(item))
    const { json = JSON.stringify(item), bytes } = printItem(stored)
    return { text: json, bytes }
  }

  #printParts(): Printed {
    const { item, names, parts } = this
    // What is included wins over a property that has come into the store by another way.
    if (names.names.some(name => Object.hasOwn(item, name)))
      return measure(JSON.stringify(this.data))
    const own = this.#printOwn()
    let text = own.text.slice(0, -1)
    let { bytes } = own
    for (const [at, part = null] of parts.entries()) {
      const key = names.keys[at]
      if (!key) continue
      const printed = isList(part) ? printNested(part) : (part?.print() ?? NULL)
      const comma = at > 0 || text !== '{' ? ',' : ''
      text += comma + key.text + printed.text
      bytes += comma.length + key.bytes + printed.bytes
    }
    return { text: `${text}}`, bytes }
  }

  /** Adds the versions of what it includes, each in its place. */
  addVersions(versions: string[]): void {
    for (const part of this.parts) {
      if (part === null) versions.push('')
      else if (isList(part)) {
        versions.push(String(part.length))
        for (const each of part) each.#addOwn(versions)
      } else part.#addOwn(versions)
    }
  }

  #addOwn(versions: string[]): void {
    versions.push(this.stored.version + this.tag)
    this.addVersions(versions)
  }
}

const NULL: Printed = { text: 'null', bytes: 4 }

function measure(text: string): Printed {
  return { text, bytes: Buffer.byteLength(text) }
}

function isList(part: NestedItem['parts'][number]): part is readonly NestedItem[] {
  return Array.isArray(part)
}

/** Prints a list as JSON. */
export function printNested(items: readonly NestedItem[]): Printed {
  let text = '['
  let bytes = 2
  for (const each of items) {
    const printed = each.print()
    text += bytes === 2 ? printed.text : `,${printed.text}`
    bytes += bytes === 2 ? printed.bytes : printed.bytes + 1
  }
  return { text: `${text}]`, bytes }
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
