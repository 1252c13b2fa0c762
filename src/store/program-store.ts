// What a store may have for programs, and no request uses.

/** The optional members of a store for programs. */
export interface ProgramStore {
  /** In a transaction: what runs statements of the program's own in it, such as a Kysely. Absent without SQL. */
  readonly sql?: unknown
}
