// The operations of every collection.

export const OPERATIONS = ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete'] as const

/** What can be done to a collection and its items; actions come under their own names. */
export type Operation = (typeof OPERATIONS)[number]
