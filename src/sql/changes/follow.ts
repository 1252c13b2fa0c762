// The changes of a store: what reads them is loaded when somebody looks.
import type { StoreChanges } from '../../store/changes.ts'
import type { SharedDatabase } from '../session/shared-database.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import type { ChangedTable, TableChanges } from './table-changes.ts'

/** @param open opens the table, and tells what reads its changes. */
export function followChanges(
  shared: SharedDatabase,
  open: () => Promise<ChangedTable>,
): Required<StoreChanges> {
  let opened: { readonly mapping: TableMapping; readonly changes: TableChanges } | undefined
  const load = async () => {
    const table = await open()
    if (opened?.mapping !== table.mapping) {
      const { TableChanges } = await import('./table-changes.ts')
      opened = { mapping: table.mapping, changes: new TableChanges(table) }
    }
    return opened.changes
  }
  return {
    position: async () => (await load()).position(),
    read: async (after, limit) => (await load()).read(after, limit),
    listen(wake) {
      shared.listeners ??= new Set()
      shared.listeners.add(wake)
      return () => shared.listeners?.delete(wake)
    },
    late: () => opened?.changes.late() ?? 0,
    judges(field) {
      const { mapping } = opened ?? {}
      const { native } = mapping?.columns.find(({ name }) => name === field) ?? {}
      const isOwn = native?.own !== undefined || native?.finer === true
      return isOwn || mapping?.shape.writeOnly?.includes(field) === true
    },
  }
}
