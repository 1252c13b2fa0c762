// What a page shows besides the representation: breadcrumbs, links and forms.

import type { Item, Json } from '../../base/values.ts'
import type { HeaderList } from '../../http/message.ts'
import type { Parameter } from '../../http/parameters.ts'
import type { Fields } from '../../schema/fields.ts'
import type { SortKey } from '../../store/selection.ts'

/** A name with an address. */
export interface PageLink {
  readonly name: string
  readonly href: string
  readonly description?: string | undefined
}

/** The address of the item that a value refers to, and its label where it is known. */
export interface ValueLink {
  readonly href: string
  readonly label: string | undefined
}

/** The items that a field may refer to, as a page offers them. */
export interface FieldChoices {
  /** The labels of the items by id, sorted by label. */
  readonly labels: ReadonlyMap<string, string>
  /** Whether there may be more items. */
  readonly more: boolean
  /** Whether these are the ones with the text that was sent in their label. */
  readonly found: boolean
  /** Whether the client may create one. */
  readonly creates: boolean
  /** The name of their collection, and the address of its list. */
  readonly name: string
  readonly href: string
}

/** An operation or action that the client may perform at the address, with its input fields. */
export interface FormAction {
  /** The name of the operation or action: `create`, `buy`. */
  readonly name: string
  /** What it does: `change` replaces or patches an item. */
  readonly kind: 'create' | 'change' | 'delete' | 'action'
  readonly method: string
  readonly href: string
  /** The writable fields; absent where it takes no input. */
  readonly fields?: Fields | undefined
  /** The choices of fields that refer to other items. */
  readonly choices?: ReadonlyMap<string, FieldChoices> | undefined
  readonly description?: string | undefined
  /** Whether it is of all items that match a filter. */
  readonly many?: boolean
  /** The idempotency key of a form that creates: who sends it twice creates once. */
  readonly key?: string | undefined
}

/** An item with its entity tag. */
export interface CurrentItem {
  readonly item: Item
  readonly tag: string
}

/** Everything that a page shows around a representation. All addresses of this api are paths. */
export interface PageView {
  /** The kind of resource at the address; `none` for an unknown path. */
  readonly kind: 'root' | 'collection' | 'search' | 'count' | 'item' | 'action' | 'blob' | 'none'
  /** The name of the resource: `cars`; of an item what links to it say, else `car 5`. */
  readonly title: string
  /** The description of the api or the collection. */
  readonly description: string | undefined
  readonly href: string
  /** The same with the origin. */
  readonly url: string
  /** The item as it is now, after a change that came too late, where the client may read it. */
  readonly current: CurrentItem | undefined
  /** Links from the root down to this page. */
  readonly breadcrumbs: readonly PageLink[]
  /** The requested operation or action. */
  readonly operation: string | undefined
  readonly parameters: readonly Parameter[]
  /** The order of the list where no parameter names another. */
  readonly sort: readonly SortKey[]
  /** The headers of the response: `Link`, `Content-Range`, `ETag`. */
  readonly headers: HeaderList
  readonly actions: readonly FormAction[]
  /** The collections of the root, the sub-collections of an item, the count of a list. */
  readonly related: readonly PageLink[]
  readonly versions: readonly PageLink[]
  /** The same resource in other formats; none of an error. */
  readonly formats: readonly PageLink[]
  /** Where people sign in. */
  readonly signIn: string | undefined
  /** The dotted paths of the fields that this client may search. */
  readonly searched: readonly string[]
  /** The address of the list's text search. */
  readonly search: string | undefined
  readonly itemName: string
  /** The fields of the list's items, or of the item. */
  readonly fields: Fields | undefined
  /** Whether it is a list that may be followed. */
  readonly isLive: boolean
  /** The name of the identity. */
  readonly id: string | undefined
  /** The dotted path of the field that labels an item. */
  readonly label: string | undefined
  /** The name of the creation date. */
  readonly createdAt: string | undefined
  /** The choices of fields that refer to other items. */
  readonly choices: ReadonlyMap<string, FieldChoices>
  /** Finds the item that a field's value refers to: the item itself on other pages than its own, or its parent. */
  readonly findLink: (field: string, value: Json) => ValueLink | undefined
  /** The values of the submitted form, unparsed. */
  readonly submitted: readonly (readonly [name: string, part: unknown])[] | undefined
}
