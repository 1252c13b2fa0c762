// How a list of SQLite is read: at once where an index serves it, else slice by slice, and in which order.
import type { Filter, Selection, SortKey } from '../store/selection.ts'
import { searchWords } from '../store/selection.ts'
import type { Filters } from './list-statements.ts'
import type { TableMapping } from './table-mapping.ts'

/** A list, or with no sort a count. */
export type Wanted = Filters & Partial<Pick<Selection, 'sort'>>

/** In which order a table is walked, and by which filters an index leads there. */
export interface WalkPlan {
  readonly order: readonly SortKey[]
  /** Filters by one value: all that the walk sees passes them. */
  readonly narrow: readonly Filter[]
}

/** What an index does for some filters and a sort. */
interface Lead {
  /** The filters by one value, on its first columns. */
  readonly narrow: readonly Filter[]
  /** How many filters it answers. */
  readonly answered: number
  /** Whether what it leads to has the order of the sort. */
  readonly ordered: boolean
}

const RANGES: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'prefix'])

/** What the declared indexes of a table are good for. */
export class WalkPlans {
  readonly #mapping: TableMapping
  readonly #id: string
  /** The columns of each index as dotted paths; an index that is not unique ends with the id. */
  readonly #indexes: readonly (readonly string[])[]

  constructor(mapping: TableMapping) {
    const { shape, indexes } = mapping
    this.#mapping = mapping
    const id = shape.identity.name
    const ending = indexes.sets('by').map(set => (set.includes(id) ? set : [...set, id]))
    this.#id = id
    this.#indexes = [[id], ...ending, ...indexes.sets('unique')]
  }

  /** Whether little is looked at: the filters name ids, or an index answers all of them and gives the sort. */
  isServed({ where, search, sort = [] }: Wanted): boolean {
    if (where.some(({ operator, path }) => operator === 'in' && path.join('.') === this.#id)) {
      return true
    }
    if (search) return false
    return this.#indexes.some(index => {
      const { answered, ordered } = lead(index, where, sort)
      return answered === where.length && ordered
    })
  }

  /** Finds the order in which least is walked: that of the sort, which may end early, else that of the ids. */
  find({ where, sort }: Wanted): WalkPlan {
    const ids = [{ path: [this.#id], descending: false }]
    // Where there are values and nulls, the place to continue from lies in both.
    const single = sort?.[0] && this.#mapping.find(sort[0].path)?.maybe === false
    return (
      (single && this.#inOrder(where, sort)) ||
      this.#inOrder(where, ids) || { order: ids, narrow: [] }
    )
  }

  #inOrder(where: readonly Filter[], order: readonly SortKey[]): WalkPlan | undefined {
    let best: Lead | undefined
    for (const index of this.#indexes) {
      const found = lead(index, where, order)
      if (found.ordered && (!best || found.narrow.length > best.narrow.length)) best = found
    }
    return best && { order, narrow: best.narrow }
  }
}

/** Filters by one value on the first columns, then a filter on the next one; what follows is in order. */
function lead(index: readonly string[], where: readonly Filter[], sort: readonly SortKey[]): Lead {
  const narrow: Filter[] = []
  const on = (at: number) => where.filter(({ path }) => path.join('.') === index[at])
  const isOne = ({ operator, values }: Filter) => operator === 'in' && values.length === 1
  for (let at = 0; at < index.length; at++) {
    const [filter, ...others] = on(at)
    if (!filter || others.length > 0 || !isOne(filter)) break
    narrow.push(filter)
  }
  const next = on(narrow.length)
  const isRange = next.every(({ operator }) => RANGES.has(operator))
  const [several] = next
  const isIn = next.length === 1 && several?.operator === 'in'
  const free = sort.filter(
    ({ path }) => !narrow.some(each => each.path.join('.') === path.join('.')),
  )
  const ordered = free.every(
    ({ path, descending }, at) =>
      path.join('.') === index[narrow.length + at] && descending === free[0]?.descending,
  )
  return {
    narrow,
    answered: narrow.length + (isRange || isIn ? next.length : 0),
    ordered: ordered && !(isIn && free.length > 0),
  }
}

/** The paths whose texts a list looks through. */
export function textPaths({ where, search }: Filters): readonly Filter['path'][] {
  const patterns = where.filter(({ operator }) => operator === 'like').map(({ path }) => path)
  return search ? [...patterns, ...search.paths] : patterns
}

/** With how many characters each character of a text is compared, at worst. */
export function patternsOf({ where, search }: Filters): number {
  let patterns = search ? searchWords(search.text).length : 0
  for (const { operator, values } of where) {
    if (operator === 'like') patterns += String(values[0]).length
  }
  return patterns
}

/** Names the fields of filters, search and sort. */
export function nameFields({ where, search, sort = [] }: Wanted): string {
  const paths = [...where, ...sort.slice(0, -1)].map(({ path }) => path)
  return [...new Set([...paths, ...(search?.paths ?? [])].map(path => path.join('.')))].join(', ')
}
