// Changes several rows, each at its version: those whose values become alike share a statement.

import type { Item } from '../../base/values.ts'
import type { Stored, Update } from '../../store/store.ts'
import { assemble, findNextDate } from '../../store/written.ts'
import { PLACEHOLDER, sql } from '../databases/sql-text.ts'
import { compile, type Runner } from '../session/runner.ts'
import type { Column } from '../table/columns.ts'
import type { TableMapping } from '../table/table-mapping.ts'
import { fillUp, repeat, roundUp } from './by-size.ts'

/** An item as it becomes. */
interface Written {
  readonly before: Stored
  readonly item: Item
  readonly version: string | undefined
}

/** Groups items of which the same columns get the same values. */
function groupAlike(written: readonly Written[], mapping: TableMapping) {
  const groups: { readonly columns: readonly Column[]; readonly alike: Written[] }[] = []
  for (const each of written) {
    const columns = mapping.changing.filter(
      column => !mapping.isSame(column, each.item, each.before.item),
    )
    const known = groups.find(
      ({ columns: own, alike: [first] }) =>
        own.length === columns.length &&
        columns.every(
          (column, at) =>
            own[at] === column && first && mapping.isSame(column, first.item, each.item),
        ),
    )
    if (known) known.alike.push(each)
    else groups.push({ columns, alike: [each] })
  }
  return groups
}

/**
 * Builds the function that changes several rows of a table that returns exactly what is written to it.
 * @returns `undefined` from the function if one is not at its version: what it has changed is to be undone.
 */
export function buildChangeAlike(mapping: TableMapping, clock: () => number) {
  const { database, from, versionColumn = '', id, idValue, created } = mapping
  const version = sql.id(versionColumn)

  /** Changes rows at their versions: the columns of all of them to the same values. */
  async function updateAlike(
    columns: readonly Column[],
    alike: readonly Written[],
    runner: Runner,
  ): Promise<boolean> {
    const [{ item } = {}] = alike
    const set = columns.map(({ ref }) => sql`${ref} = ${PLACEHOLDER}`)
    const size = roundUp(alike.length)
    const row = sql`(${idValue}, ${PLACEHOLDER}, ${PLACEHOLDER})`
    // The ids alone too: by the join PostgreSQL may read, and lock, the whole table.
    const statement = sql`update ${from} set ${sql.join([...set, sql`${version} = rest_given.column3`])} from (values ${repeat(row, size)}) as rest_given where ${from}.${id.ref} in (${repeat(idValue, size)}) and ${from}.${id.ref} = rest_given.column1 and ${from}.${version} = rest_given.column2`
    const keys = alike.map(({ before }) => mapping.encodeId(before.id))
    const rows = alike.map(({ before, version: next }, at) => [keys[at], before.version, next])
    const values = item ? mapping.encode(item, columns, undefined) : []
    const parameters = [...values, ...fillUp(rows, size).flat(), ...fillUp(keys, size)]
    const { numAffectedRows } = await runner.run(compile(database, statement), parameters)
    return numAffectedRows === BigInt(alike.length)
  }

  return async (changes: readonly Update[], runner: Runner): Promise<Stored[] | undefined> => {
    // One for all, so that they are changed alike.
    const last = Math.max(...changes.map(({ before }) => before.updatedAt ?? 0))
    const date = new Date(findNextDate(clock(), last)).toISOString()
    const written = changes.map(({ before, update }) => {
      const item = assemble(mapping.shape, before.id, update, date, date)
      // Null in a table of others.
      if (created) item[created.name] = before.item[created.name] ?? null
      return { before, item, version: mapping.makeVersion() }
    })
    for (const { columns, alike } of groupAlike(written, mapping))
      if (!(await updateAlike(columns, alike, runner))) return undefined
    return written.map(({ item, version }) => mapping.predict(item, version))
  }
}
