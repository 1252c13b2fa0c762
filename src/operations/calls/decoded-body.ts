// What a client has sent, once its format has read it.
import type { Json } from '../../base/values.ts'
import type { Issue } from '../../errors.ts'

/** The body of a request, decoded. */
export interface DecodedBody {
  readonly value: Json
  /** Its media type without parameters; absent where the client did not name one. */
  readonly type: string | undefined
  /** The issues that were found before the schema checked the value: see {@link ReadContext.issues}. */
  readonly issues?: readonly Issue[]
  /** Whether it was a form. */
  readonly form?: boolean | undefined
  /** The line of each item, of a list in a format for exports: what the server sets is ignored in it. */
  readonly lines?: readonly number[] | undefined
}
