// The errors that the api answers with: the table of their types, HttpError, and the error body.
import { STATUS_CODES } from 'node:http'

/**
 * Every `type` of an error, by status: what happened, and what to do. `docs/errors.md` is made of it.
 * Types are stable: programs compare them.
 */
export const ERROR_TYPES = {
  400: {
    conflicting_keys: 'A property has two values, or is a value and an object. Send one of them.',
    conflicting_methods: 'The request names two methods. Send `_method` or the header, not both.',
    conflicting_parameters: 'Two parameters exclude each other. Send one of them.',
    conflicting_parent: 'The body names another parent than the path. Leave the property out.',
    custom: 'A rule of the schema is broken. `message` says which.',
    filter_required: 'A change of many items needs a filter. Send one in the query.',
    foreign_address: 'A file is given by a foreign address. Upload it, or send it as Base64.',
    header_too_long: 'A header is too long. Shorten it.',
    immutable_field: 'The property cannot be changed. Leave it out, or send its current value.',
    incomplete_body: 'The connection ended before the body did. Send the request again.',
    inexact_number:
      'JavaScript would round a whole number beyond 2^53. Send a string, or a number of fewer digits.',
    inline_too_large: 'The contents in `fields` are too large. Download them one by one.',
    invalid_base64: 'The content of a file is not Base64. Encode it as RFC 4648 says.',
    invalid_batch: 'The batch cannot be done. `message` says what would be right.',
    invalid_csv: 'The body is no CSV. `message` says where it breaks.',
    invalid_cursor: 'The cursor is damaged, or of another sort. Start again with the first page.',
    invalid_element: 'An element of a list is invalid. `message` says why.',
    invalid_encoding: 'The body is not valid UTF-8. Encode it as UTF-8.',
    invalid_fields: '`fields` names no field. Name at least one.',
    invalid_format: 'A text has the wrong form, such as a date or an e-mail address. Correct it.',
    invalid_header: 'A header cannot be read. `message` shows its syntax.',
    invalid_host: 'The `Host` header is missing or malformed. Send the host of the URL.',
    invalid_id: 'An item cannot have this id. Choose another.',
    invalid_include: '`include` asks for what it cannot have. `message` says what would be right.',
    invalid_json: 'The body is not JSON. `message` says where it breaks.',
    invalid_key: 'The name of a property is invalid. `message` says why.',
    invalid_method: '`_method` is not allowed here. Use a method that `message` lists.',
    invalid_multipart: 'The multipart body is malformed. Use a library that builds it.',
    invalid_number: 'A parameter must be a whole number. Correct it.',
    invalid_operator: 'The filter operator does not fit the type of the field. Use another.',
    invalid_part: 'A part of the multipart body is invalid. `message` says why.',
    invalid_patch: 'The body is not a JSON Patch. See RFC 6902.',
    invalid_path: 'The path cannot be decoded. Encode each segment as UTF-8 with percent signs.',
    invalid_query: 'The query cannot be decoded. Write a percent sign as `%25`.',
    invalid_type: 'A value has the wrong type. `message` says which is right.',
    invalid_union: 'A value fits none of the allowed alternatives. Correct it.',
    invalid_value: 'A value is not allowed. `message` says which are.',
    invalid_xml: 'The body is not valid XML. `message` says where it breaks.',
    malformed_request: 'The request is not well-formed HTTP. Use an HTTP library.',
    max_affected_required:
      'A deletion by filter needs `Prefer: max-affected`. Send the most that may go.',
    missing_body: 'The request needs a body. Send one.',
    no_dry_run: 'The write cannot be tried by `Prefer: tx=rollback`. `message` says why.',
    no_files: 'The body has a file where none is expected. Leave it out.',
    not_a_number: 'A sum needs a number, `min` and `max` a number or a date. Use another field.',
    not_filterable: 'Lists cannot be filtered by this field. Use another.',
    not_multiple_of: 'A number is not a multiple of its step. Correct it.',
    not_sortable: 'Lists cannot be sorted by this field. Use another.',
    not_supported: 'This cannot be done of these items. `message` says what.',
    pattern_too_long: 'A search word or pattern is too long. Shorten it.',
    read_only_field: 'The server sets the property. Leave it out, or send its current value.',
    refused_by_database: 'A rule of the database refuses the write. Do not send it again.',
    repeated_key: 'A form or an XML text names a property more than once. Send it once.',
    repeated_parameter: 'A parameter is given more than once. Send it once.',
    required: 'A required property is missing. Send it.',
    too_big: 'A number is too large, a text too long, or a list too long. Correct it.',
    too_deep: 'The body is nested too deeply. Flatten it.',
    too_long: 'A text is longer than the database can store. Shorten it.',
    too_many_affected: 'More items match than may be changed at once. Narrow the filter.',
    too_many_fields: '`fields` names too many fields. Name fewer, or leave it out.',
    too_many_filters: 'The list has too many filters. Send fewer.',
    too_many_groups:
      'A count has too many groups, or `by` too many fields. Use filters, or fewer fields.',
    too_many_included: 'What is to be included is too much. List it by itself, page by page.',
    too_many_live: 'The list is too long to be followed. Narrow it by filters.',
    too_many_parameters: 'The query has too many parameters. Send fewer.',
    too_many_sort_keys: '`sort` names too many fields. Name fewer.',
    too_many_values: 'A filter, or a count with sums, has too many values. Send several requests.',
    too_many_words: 'The search has too many words. Send fewer.',
    too_much_text: 'The texts are too long for the search. Shorten it, or use other filters.',
    too_small: 'A number is too small, a text too short, or a list too short. Correct it.',
    unaccepted_type: 'The property does not take this type of file. `message` lists its types.',
    unexpected_file: 'The property does not take files. Send a value, or use another property.',
    unexpected_input: 'The action takes no input. Send no body and no parameters.',
    unique_set_required:
      'A PUT of a list names its item by a unique set. `message` lists the sets.',
    unknown_attribute: 'An XML attribute is unknown. Leave it out.',
    unknown_field: 'There is no such field. `message` suggests the nearest name.',
    unknown_group: 'Items are not counted by this field. `message` lists those that are possible.',
    unknown_include: 'There is nothing of this name to include. `message` lists what there is.',
    unknown_operator: 'There is no such filter operator. `message` lists them.',
    unknown_parameter: 'The parameter has no meaning here. Leave it out.',
    unknown_reference: 'The item that a property refers to does not exist. Create it first.',
    unreadable_value:
      'The stored value cannot be read, and null does not replace it. Send a value, or leave the property out.',
    unstorable: 'The database cannot store a value. `message` says why.',
    unsupported_coding: 'The transfer coding is not supported. Use `chunked` or `Content-Length`.',
    unsupported_range: 'A PUT replaces the whole item. Send a PATCH for a part.',
  },
  401: {
    invalid_credentials: 'User or password is wrong. Log in again.',
    invalid_token: 'The access token is wrong or has expired. Get a new one.',
    unauthenticated: 'The request needs credentials. `WWW-Authenticate` says of which kind.',
  },
  403: {
    cross_origin:
      'A page of another origin tried to write. Allow its origin in `cors.origins`; for an action that sets cookies with `credentials: true`.',
    forbidden_row: 'The item would be one that you may not see. Change its owner or parent.',
    insecure_transport: 'The password was sent without TLS. Use https, and change the password.',
    insufficient_scope: 'The principal lacks a scope. Ask for a token with it.',
    not_owner: 'The item belongs to somebody else. Only its owner may change it.',
    refused_by_database: 'A policy of the database does not allow the write. Do not send it again.',
  },
  404: {
    no_such_path: 'There is nothing at this path. The root lists what there is.',
    not_found: 'The item does not exist. It may have been deleted.',
  },
  405: {
    method_not_allowed: 'The resource does not have this method. `Allow` lists those it has.',
  },
  406: { not_acceptable: 'No accepted media type is available. `message` lists those that are.' },
  408: {
    body_too_slow: 'The body arrived too slowly. Send the request again.',
    request_too_slow: 'The head of the request arrived too slowly. Send the request again.',
  },
  409: {
    cascade_too_large: 'Too many items would be deleted with this one. Delete some of them first.',
    changed_meanwhile: 'The item changed while the action ran. Read it again, then decide.',
    conflict: 'The change contradicts other data. `message` says how.',
    idempotency_key: 'The first request with this key is still running. Send it again later.',
    in_trash: 'The item, or one that it refers to, is in the trash. Restore that first.',
    inexact_stored:
      'The property holds a whole number beyond 2^53, which the write would round. Leave it as it is.',
    kept_by_database: 'A trigger or a policy of the database kept it out. Do not send it again.',
    not_unique: 'Another item has the same value. Choose another value.',
    patch_conflict: 'The JSON Patch does not fit the item. Read the item again.',
    referenced: 'Other items refer to this one. Delete or change those first.',
    refused_by_database:
      'A rule of the database excludes it beside another item. Choose other values.',
  },
  412: {
    changed_meanwhile: 'The item changed while the action ran. Read it again, then decide.',
    precondition_failed: 'The item is not in the required state. Read it again, then decide.',
  },
  413: {
    affected_too_large: 'The items that match are too large together. Narrow the filter.',
    batch_too_large: 'The answers of the batch are too large together. Send fewer steps.',
    body_too_large: 'The body is too large. Send less.',
    chunk_extensions_too_large: 'The chunk extensions are too large. Leave them out.',
    item_too_large: 'The item would become too large. Store less in it.',
    too_many_elements: 'The XML body has too many elements. Send less.',
    too_many_items: 'The array has too many items. Send several.',
    too_many_keys: 'The form has too many keys. Send fewer.',
    too_many_members: 'The body has too many properties and elements. Send fewer.',
    too_many_operations: 'The JSON Patch is too large. Send several.',
    too_many_parts: 'The multipart body has too many parts. Send fewer.',
    upload_too_large: 'A file is too large. Send a smaller one.',
  },
  414: { target_too_long: 'The URL is too long. Shorten it.' },
  415: {
    unsupported_charset: 'The charset is not UTF-8. Encode the body as UTF-8.',
    unsupported_coding: 'The body is compressed. Send it uncompressed.',
    unsupported_media_type: 'The body has a type that is not read here. `message` lists the types.',
  },
  416: { range_not_satisfiable: 'The range starts behind the end. `Content-Range` has the total.' },
  417: {
    expectation_failed: 'Only the expectation `100-continue` is supported. Leave others out.',
  },
  422: { idempotency_key: 'The key was used for another request. Use a new one.' },
  428: { precondition_required: 'Changes need `If-Match`. Send the `ETag` that you read.' },
  429: { too_many_requests: 'The rate limit is exceeded. Wait for `Retry-After` seconds.' },
  431: {
    headers_too_large: 'The header fields are too large. Send less.',
    too_many_headers: 'The request has too many header fields. Send fewer.',
  },
  500: { internal: 'Something failed on the server. Its log has the details under the given id.' },
  503: {
    contended: 'Too many clients change this item at once. Send the request again.',
    disk_full: 'A disk of the server is full. Send the request again later.',
    not_ready: 'This server is starting, or about to end. Send requests to another one.',
    overloaded: 'The server is busy. Send the request again after `Retry-After` seconds.',
    read_only: 'The database takes only reads. Send the request again after `Retry-After` seconds.',
    unavailable: 'A store or another service cannot be reached. Send the request again later.',
    work_too_slow: 'The work took too long. Send the request again later.',
  },
} as const

type TypesByStatus = typeof ERROR_TYPES

/** The types of errors that the api itself answers with. */
export type ErrorType = {
  [Status in keyof TypesByStatus]: keyof TypesByStatus[Status]
}[keyof TypesByStatus]

/** A type of an error: one of ours, which editors complete, or a text of a program. */
export type AnyErrorType = ErrorType | (string & {})

/** One issue. `code` is an HTTP status code; `message` says what was wrong, where, and what would be right. */
export interface ErrorEntry {
  message: string
  code: number
  /** The dotted path of the property, or the name of the parameter or header at fault. */
  field?: string
  /** A stable name of the kind of issue, such as `unknown_field`: for programs, never translated. */
  type?: AnyErrorType
  /** The number of the step of a batch that has failed, from 0. */
  step?: number
}

/** An issue as a program reports it; the status comes from the {@link HttpError}. */
export type AnyIssue = Omit<ErrorEntry, 'code'>

/** An issue of ours: its type is one of the table. */
export interface Issue extends AnyIssue {
  type?: ErrorType
}

interface HttpErrorOptions {
  headers?: readonly string[]
  cause?: unknown
}

/**
 * An error response: a status, one or more issues, and the headers that belong to it (`Allow`,
 * `Retry-After` …). Throw it from a hook or an action to answer with it. Programs know it as
 * `HttpError`; their issues may have types of their own.
 */
export class AnyHttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly errors: readonly ErrorEntry[]
  /** Names and values, alternating. */
  readonly headers: readonly string[]

  /**
   * @param status 400 to 599.
   * @param issues a message, or a list of issues; an empty list takes the phrase of the status.
   * @throws TypeError for another status, and for headers that HTTP cannot carry.
   */
  constructor(
    status: number,
    issues: string | readonly AnyIssue[] = [],
    { headers = [], cause }: HttpErrorOptions = {},
  ) {
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new TypeError(`The status of an HttpError must be from 400 to 599, not ${status}`)
    }
    if (!isHeaderList(headers)) {
      throw new TypeError(
        `The headers of an HttpError must be names and values in turn, not ${JSON.stringify(headers)}`,
      )
    }
    const list = typeof issues === 'string' ? [{ message: issues }] : issues
    const entries = list.length > 0 ? list : [{ message: STATUS_CODES[status] ?? 'Error' }]
    super([...new Set(entries.map(entry => entry.message))].join('; '), { cause })
    this.status = status
    this.errors = entries.map(({ message, field, type, step }) => ({
      message,
      code: status,
      ...(field === undefined ? {} : { field }),
      ...(type === undefined ? {} : { type }),
      ...(step === undefined ? {} : { step }),
    }))
    this.headers = headers
  }
}

/** `AnyHttpError` for our own code: its constructor takes only the types of {@link ERROR_TYPES}. */
export type HttpError = AnyHttpError
export const HttpError: new (
  status: number,
  issues?: string | readonly Issue[],
  options?: HttpErrorOptions,
) => AnyHttpError = AnyHttpError

/** Whether a text can be the name of a header (RFC 9110 §5.1). */
export function isFieldName(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(text)
}

/** Whether a text can be the value of a header (RFC 9110 §5.5). */
export function isFieldValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}

function isHeaderList(headers: readonly unknown[]): boolean {
  return (
    headers.length % 2 === 0 &&
    headers.every(
      (text, at) =>
        typeof text === 'string' && (at % 2 === 0 ? isFieldName(text) : isFieldValue(text)),
    )
  )
}

/** Builds the error body of the specification: `{ errors: [{ message, code, … }] }`. */
export function errorBody(error: HttpError): { errors: readonly ErrorEntry[] } {
  return { errors: error.errors }
}

/** Builds RFC 9457 problem details (`application/problem+json`), with the same entries. */
export function problemBody(error: HttpError): Record<string, unknown> {
  const title = STATUS_CODES[error.status] ?? 'Error'
  return { title, status: error.status, detail: error.message, errors: error.errors }
}

/**
 * Turns anything else that was thrown into a 500. The client reads only `reference`, under which the
 * log of the server has the cause.
 */
export function internalError(thrown: unknown, reference: string): HttpError {
  const message = `Something failed on the server. Its log has the details under ${reference}.`
  return new HttpError(500, [{ message, type: 'internal' }], { cause: thrown })
}

/** The error for a body that ended early: its connection ended, or its framing is wrong. */
export function incompleteBody(cause: unknown): HttpError {
  const message = 'The body ended before it was complete'
  return new HttpError(400, [{ message, type: 'incomplete_body' }], { cause })
}

/** Returns what was thrown if it is an HttpError, and throws it again otherwise. */
export function toHttpError(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown
  throw thrown
}

/** How many issues one response reports. */
export const MAX_ISSUES = 100

/** Throws the issues as one error, if there are any; of very many only the first. */
export function throwIfAny(issues: readonly Issue[], status = 400): void {
  if (issues.length > 0) throw new HttpError(status, issues.slice(0, MAX_ISSUES))
}

/** Quotes a text for a message; of a long one only the beginning. */
export function quote(text: string, max = 64): string {
  return JSON.stringify(text.length > max ? `${text.slice(0, max)}…` : text)
}

/** Prints `; did you mean "color"?`, or nothing where no name is near. */
export function suggestion(name: string, names: Iterable<string>): string {
  const near = nearest(name, names)
  return near === undefined ? '' : `; did you mean "${near}"?`
}

/** Prints `. Use one of: id, color`, with the first 30 names, or nothing for none. */
export function listNames(names: readonly string[]): string {
  const more = names.length > 30 ? ' …' : ''
  return names.length > 0 ? `. Use one of: ${names.slice(0, 30).join(', ')}${more}` : ''
}

/** The name that was probably meant, or `undefined` where none is near. One that begins alike is nearer than any other. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  if (name.length > 64) return undefined
  let best: string | undefined
  let nearest = Math.max(1, Math.floor(name.length / 3)) + 1
  const wanted = name.toLowerCase()
  for (const candidate of names) {
    const other = candidate.toLowerCase()
    const difference = Math.abs(other.length - wanted.length)
    const alike = beginAlike(wanted, other)
    // No distance is below the difference.
    if (!alike && difference >= nearest) continue
    const steps = alike ? difference / 100 : distance(wanted, other)
    if (steps < nearest) [best, nearest] = [candidate, steps]
  }
  return best
}

/** Whether one name is the beginning of the other, and long enough to tell it. */
function beginAlike(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  // `model` is not what `model.nme` means.
  return short.length > 2 && long.startsWith(short) && !long.includes('.', short.length)
}

/** Counts the edits from one name to another; two letters that changed places are one (Damerau, Levenshtein). */
function distance(from: string, to: string): number {
  const get = (row: readonly number[], at: number) => row[at] ?? Number.POSITIVE_INFINITY
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1]
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      next[j] = Math.min(
        get(row, j) + 1,
        get(next, j - 1) + 1,
        get(row, j - 1) + (isSame ? 0 : 1),
        isSwapped ? get(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = row
    row = next
  }
  return get(row, to.length)
}
