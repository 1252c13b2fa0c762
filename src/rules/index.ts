// The entry point `rest-conventions/rules`: every rule of HTTP as a pure function of plain values.

export { equalsInConstantTime } from '../auth/basic.ts'
export { printChallenge } from '../auth/credentials.ts'
export type { ChallengeParameters } from '../auth/scheme.ts'
export { type Path, picker } from '../base/paths.ts'
export { errorBody, problemBody } from '../errors.ts'
export { jsonPatch, mergePatch } from '../formats/patch.ts'
export { readBytes } from '../formats/read-body.ts'
export { type ByteRange, parseByteRange, printByteContentRange } from '../http/byte-range.ts'
export {
  cutTagsToVersions,
  type EntityTag,
  type EntityTags,
  evaluate,
  itemTag,
  type Preconditions,
  parseEntityTags,
  parseVersionTag,
  printEntityTag,
  printEntityTags,
  rangeHolds,
  readPreconditions,
  type Validators,
  type Verdict,
} from '../http/conditional.ts'
export {
  type ContentRange,
  parseContentRange,
  parseRange,
  printContentRange,
  printRange,
  type Range,
} from '../http/content-range.ts'
export { parseHttpDate, printHttpDate } from '../http/date.ts'
export { buildLimits, type LimitOptions, type Limits } from '../http/limits.ts'
export { type Link, parseLink, printLink } from '../http/link.ts'
export { effectiveMethod, suppressedStatus } from '../http/method-override.ts'
export { type Parameter, parseParameters, printParameters } from '../http/parameters.ts'
export { type Preferences, parsePrefer, printPreferences } from '../http/prefer.ts'
export {
  chooseFormat,
  chooseReader,
  type MediaType,
  type Negotiated,
  parseMediaType,
} from '../negotiate.ts'
export { type Cursor, parseCursor, printCursor } from '../pagination/cursor.ts'
export {
  type Found,
  type PageOptions,
  pageHeaders,
  readWindow,
  type Window,
  type WindowOptions,
} from '../pagination.ts'
export { type ParsedQuery, type QueryOptions, readQuery } from '../query.ts'
export type { Field, Fields } from '../schema/fields.ts'
export { buildValidator, type Validator } from '../schema/validate.ts'
export { fieldsOf } from '../schema/zod-fields.ts'
export type { Filter, Operator } from '../store/filter.ts'
export {
  comparer,
  keyComparer,
  matcher,
  type Search,
  type Selection,
  type SortKey,
  sortKeyOf,
} from '../store/selection.ts'
export { parseSort, printSort } from '../store/sort.ts'
export { findPage } from './find-page.ts'
export { printBody, type ReadBodyOptions, readBody, readHeaders } from './messages.ts'
