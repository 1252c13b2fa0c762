// References between collections, as they are declared and as they are compiled.

/** A reference to another collection, and the effect of a deletion there. */
export interface ReferenceOptions {
  /** The collection whose ids the field holds. */
  readonly collection: string
  /**
   * What happens when the referenced item is deleted, in the same transaction. `cascade` deletes these items too,
   * at most 10,000, without their hooks; `restrict` refuses the deletion with 409 while there are any. A write
   * that refers to the item runs in a transaction too, so that it cannot be deleted meanwhile. Both need stores of
   * one database: a `TypeError` otherwise. Default: `restrict` where the stores are of one database; elsewhere these
   * items stay.
   */
  readonly onDelete?: 'cascade' | 'restrict' | undefined
  /**
   * The name of the referenced item in `include` and in filters: `include=seller`, `seller.name=Ann`. Default: the
   * property without `_id` or `Id`, where no property has that name and the schema takes no unnamed properties.
   */
  readonly as?: string | undefined
}

/** Collections by the fields that hold their ids. */
export type References = Readonly<Record<string, string | ReferenceOptions>>

/** A field that holds an id. */
export interface Reference {
  readonly collection: string
  /** Whether the items are served below the referenced one too. */
  readonly isParent: boolean
  /** As they were declared. */
  readonly onDelete: 'cascade' | 'restrict' | undefined
  readonly as: string | undefined
}
