// The entry point `rest-conventions/client/forms`: errors at the fields of forms, and what a form was filled from.
import type { ErrorEntry } from '../errors.ts'
import type { DefMerge } from '../model/types/collection-types.ts'
import { compare, merge } from './merge.ts'

/** The messages of an error response, for the fields of a form and for all of it. */
export interface FieldErrors {
  /** Those of no field of the form. */
  readonly form: readonly string[]
  /** By the name of the field: `model.name`, `parts[0].size`. */
  readonly fields: Readonly<Record<string, readonly string[]>>
}

/**
 * Sorts the messages of an error by the fields of a form. It knows errors of the client and of programs in process.
 * @param names what the form has, by the first part of each name: messages about others are of the form, with their name in
 * front. Default: the form has all.
 * @throws the error itself if it is no error response, such as a `ConnectionError`.
 * @example
 * import { fieldErrors } from 'rest-conventions/client/forms'
 * const error = { errors: [{ message: 'Price is too small', code: 400, field: 'price' }] }
 * const { form, fields } = fieldErrors(error) // [], { price: ['Price is too small'] }
 */
export function fieldErrors(error: unknown, names?: readonly string[]): FieldErrors {
  const { errors }: { readonly errors?: readonly ErrorEntry[] } = Object(error) // of an error response
  if (!Array.isArray(errors)) throw error
  const form: string[] = []
  const fields: Record<string, string[]> = {}
  for (const { field, message } of errors as readonly ErrorEntry[]) {
    const [head = ''] = field?.split('.') ?? []
    if (!field) form.push(message)
    else if (names && !names.includes(head)) form.push(`${field}: ${message}`)
    else {
      const name = field.replace(/\.(\d+)(?=\.|$)/g, '[$1]')
      fields[name] = [...(fields[name] ?? []), message]
    }
  }
  return { form, fields }
}

/** A form that edits an item. @typeParam T the item. */
export interface Edit<T> {
  /** The item that the form was filled from: a write to it is conditional on that version. */
  readonly item: T
  /** What the form begins with: a copy of the item, which may be changed. */
  readonly values: T
  /**
   * Finds what differs from the item, as a merge patch. A property that the values lack was not edited, and `undefined`
   * removes one.
   */
  changes<V extends object>(values: V): DefMerge<V>
}

/**
 * Keeps the item that a form is filled from. A query may have a newer one by the time of the save: a write on that version
 * would overwrite changes that nobody saw.
 * @param changes what the user has changed already: after a conflict, over the item as it is now.
 * @example
 * import { beginEdit } from 'rest-conventions/client/forms'
 * const edit = beginEdit({ color: 'red', price: 1 }) // in React: useState(() => beginEdit(car))
 * const changes = edit.changes({ ...edit.values, price: 2 }) // { price: 2 }
 * // await client.cars.patch(edit.item, changes)
 */
export function beginEdit<T extends object>(item: T, changes: object = {}): Edit<T> {
  return {
    item,
    values: merge(JSON.parse(JSON.stringify(item)), changes) as T, // a copy of it
    changes: values => compare(item, values) as never, // a patch of its properties
  }
}
