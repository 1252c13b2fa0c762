// The option `search` of a collection.

/** What a search looks through, and how it compares. */
export interface SearchOptions<P extends string = string> {
  /** The paths of the texts that are searched. */
  readonly fields: readonly P[]
  /**
   * Whether `megane` finds `Mégane`: words and texts are compared folded, without diacritics and capital letters. False
   * compares them as they are, but for capital letters of ASCII. Default true.
   */
  readonly fold?: boolean | undefined
}
