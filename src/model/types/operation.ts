// The operations of every collection.

/** Those that a declaration has where it names none. */
export const OPERATIONS = ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete'] as const

/** Those on all items that match a filter, where a declaration names them. */
export const FILTER_OPERATIONS = ['patchMany', 'deleteMany'] as const

/** What is done to all items that match a filter. */
export type FilterOperation = (typeof FILTER_OPERATIONS)[number]

/** What can be done to a collection and its items; actions come under their own names. */
export type Operation = (typeof OPERATIONS)[number] | FilterOperation
