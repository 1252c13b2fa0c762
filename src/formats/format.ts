// The contract of a format: one media type with its relatives, written, read, or both.

import type { Awaitable, Item, Json } from '../base/values.ts'
import type { ErrorEntry, Issue } from '../errors.ts'
import type { Limits } from '../http/limits.ts'
import type { HeaderList, LiveBody, ResponseBody } from '../http/message.ts'
import type { Fields } from '../schema/fields.ts'
import type { Stored } from '../store/store.ts'
import type { NestedItem } from './nested.ts'

/** What is sent as it comes. No format prints it. */
export interface LiveRepresentation {
  readonly kind: 'live'
  readonly body: LiveBody
}

/** The content of a response before a format prints it. */
export type Representation =
  | {
      readonly kind: 'item'
      /** The name of one item: `car`. */
      readonly name: string
      readonly fields: Fields
      readonly data: Item
      /** The stored item that `data` is, where nothing was selected or added: its text is printed once. */
      readonly stored?: Stored | undefined
      /** The item with what it includes, where it includes something: the texts are joined. */
      readonly nested?: NestedItem | undefined
    }
  | {
      readonly kind: 'list'
      /** The name of the list, `cars`, and of one item, `car`. */
      readonly name: string
      readonly itemName: string
      readonly fields: Fields
      readonly data: readonly Item[]
      readonly stored?: readonly Stored[] | undefined
      /** The items with what they include, where they include something: their texts are joined. */
      readonly nested?: readonly NestedItem[] | undefined
    }
  | {
      /** A whole list in batches, for formats that stream. */
      readonly kind: 'stream'
      readonly name: string
      readonly itemName: string
      readonly fields: Fields
      readonly data: AsyncIterable<readonly Item[]>
    }
  | {
      /** Named JSON: the root, a count, a description, the result of an action. */
      readonly kind: 'document'
      readonly name: string
      readonly fields?: Fields
      readonly data: Json
      /** The data as JSON, where it is printed already. */
      readonly text?: string | undefined
      /** Whether a page shows the form of an action in its place. */
      readonly isForm?: boolean
    }
  | {
      /** The content of a binary property, or a part of it. No format prints it. */
      readonly kind: 'bytes'
      readonly type: string
      readonly size: number
      /** Absent in the response to a HEAD. */
      readonly data?: AsyncIterable<Uint8Array>
    }
  | {
      readonly kind: 'errors'
      readonly status: number
      readonly errors: readonly ErrorEntry[]
      /** The first error's message, where clients of a dialect look for it beside `errors`. */
      readonly message?: string | undefined
      /** The errors as JSON, where a dialect prints them otherwise. */
      readonly printed?: Item | undefined
    }

/** What a format gets to read a body. */
export interface ReadContext {
  /** The fields of the collection or the action; without them values have the format's own types. */
  readonly fields: Fields | undefined
  readonly limits: Limits
  /** The parameters of the `Content-Type`: `boundary`, `charset`. */
  readonly parameters: ReadonlyMap<string, string>
  /** The `Content-Length`, if the client sent one. */
  readonly length: number | undefined
  readonly signal: AbortSignal
  /** The method of the request. In a form for PATCH an empty control removes its property. */
  readonly method?: string
  /**
   * Stores the content of a file part for the property at a dotted path and returns its value. Absent
   * where the target accepts no files.
   * @throws HttpError for a property that is not a file, and for a file over its limit.
   */
  readonly upload?: (field: string, file: Upload) => Promise<Json>
  /**
   * Collects the issues of single values, so that they are reported together with the schema's; such
   * a value is returned as its text. Without it they are thrown.
   */
  readonly issues?: Issue[]
  /** Collects the line of each item of a list that {@link Format.readItems} reads. */
  readonly lines?: number[]
  /** Gets the pairs of a form before they are checked, so that a page can show them again. */
  readonly submitted?: (pairs: readonly (readonly [name: string, part: unknown])[]) => void
}

/** A file of a multipart body. The client chose its name and type: they are no path, and not trusted. */
export interface Upload {
  readonly name: string | undefined
  /** Its media type without parameters, in lower case. */
  readonly type?: string | undefined
  readonly content: AsyncIterable<Uint8Array>
}

/** A media type with its relatives, written, read, or both. */
export interface Format {
  /** A short name: `json`. Part of every `ETag` of this format. */
  readonly name: string
  /** The extensions that ask for it in a URL, without the dot. */
  readonly extensions: readonly string[]
  /** Its media types; responses have the first. */
  readonly types: readonly string[]
  /** Whether lists are printed whole, as a stream, without pages. */
  readonly streams?: boolean
  /** Whether an item is a row of a table: then a list of related items cannot be included. */
  readonly tabular?: boolean
  /** Whether its bodies are forms, which may contain `_method`. */
  readonly form?: boolean
  /** Whether a body in this format is answered in it, where `Accept` is absent or `*\/*`. Default false. */
  readonly answersInKind?: boolean
  /** Whether the pages of the api print it, in place of `write`: the format of `defineApi({ pages })`. */
  readonly page?: true
  /** Header fields of every response in this format. */
  readonly headers?: HeaderList
  /**
   * Prints a representation; absent for a format that only reads. A stream of bytes takes a third of the memory of
   * a stream of texts while a client does not read it.
   * @param type one of `types`, or `application/problem+json`.
   */
  write?(representation: Representation, type: string): ResponseBody
  /** Prints stored items as they are, with the length in bytes; absent where nothing is kept beside an item. */
  printStored?(stored: Stored | readonly Stored[]): {
    readonly body: string | Uint8Array[]
    readonly length: number
  }
  /** Prints items with what they include, as `printStored` does. */
  printNested?(nested: NestedItem | readonly NestedItem[]): {
    readonly body: string
    readonly length: number
  }
  /**
   * Reads a body to a JSON value; absent for a format that only writes.
   * @throws HttpError 400 for a malformed body, 413 for more than the limits allow.
   */
  read?(body: AsyncIterable<Uint8Array>, context: ReadContext): Awaitable<Json>
  /**
   * Reads a body to a list of items, which are created together; absent for a format whose lists are not read. It
   * adds the line of each to `context.lines`.
   * @throws HttpError as `read` does.
   */
  readItems?(body: AsyncIterable<Uint8Array>, context: ReadContext): Awaitable<Json[]>
  /** Converts a value that a host server has parsed; without it the value must be JSON. */
  receive?(parsed: unknown, context: ReadContext): Json
}

/** Whether a format prints responses. */
export function isWriter({ write, page }: Format): boolean {
  return write !== undefined || page === true
}

/** A format that reads. */
export type Reader = Format & Required<Pick<Format, 'read'>>
