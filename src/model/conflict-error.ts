// A write that lost its condition: the item was changed or deleted since it was read.
import { AnyHttpError } from '../errors.ts'

/** The two sides of a lost condition. */
export interface Conflict {
  /** What was to be written: the item, the changes, or the input of an action; `undefined` for a deletion. */
  readonly mine: unknown
  /** The item as it is now; `undefined` where it is gone or hidden from the principal. */
  readonly theirs: unknown
}

/**
 * Thrown where the item of a conditional write has another version by now. Nothing was written. The status
 * is 409; 412 where a client sent the condition.
 */
export class ConflictError extends AnyHttpError implements Conflict {
  readonly mine: unknown
  readonly theirs: unknown

  constructor(itemName: string, { mine, theirs }: Conflict, status: 409 | 412 = 409) {
    const message = `The ${itemName} has changed since you read it. Read it again and repeat your change.`
    super(status, [{ message, type: 'changed_meanwhile' }])
    this.mine = mine
    this.theirs = theirs
  }
}
