// How much text the patterns and searches of one request may look through.

/** So many take a quarter of a second. */
const MAX_CHARACTERS = 50_000_000

/**
 * The characters that may still be compared with patterns and words: one budget of a request, over all of its filters, the
 * steps of a batch, and the levels that it includes.
 */
export class TextBudget {
  left = MAX_CHARACTERS
}
