// The body of a request after its format has parsed it.
import type { Json } from '../../base/values.ts'
import type { Issue } from '../../errors.ts'

/** The body of a request, decoded. */
export interface DecodedBody {
  readonly value: Json
  /** Its media type without parameters; absent if the client did not send one. */
  readonly type: string | undefined
  /** The issues that were found before the schema checked the value: see {@link ReadContext.issues}. */
  readonly issues?: readonly Issue[]
  /** Whether it was a form. */
  readonly form?: boolean | undefined
  /** The line of each item in a list of an export format. Properties that the server sets are ignored there. */
  readonly lines?: readonly number[] | undefined
}
