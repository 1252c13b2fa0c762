// Worlds at random: collections that refer to each other, with rows, fields and names that some principals do not see; and
// what lists that include and filter by related items answer there, said in plain JavaScript.
import assert from 'node:assert/strict'
import { z } from 'zod'
import { type Api, defineApi, type FieldRole, type Scheme, type Store } from '../../src/index.ts'
import { createRandom } from '../questions/trees.ts'
import { defineUntyped } from '../untyped.ts'

type Random = ReturnType<typeof createRandom>

interface Ref {
  readonly field: string
  readonly to: string
  readonly isParent: boolean
  readonly as: string | undefined
}

/** A collection of a world. Items have a text `t`, a number `n` or null, a secret `s`, and what never shows, `w`. */
interface Place {
  readonly name: string
  readonly refs: readonly Ref[]
  /** The scope that lists and reads need. */
  readonly scope: string | undefined
  readonly hidden: boolean
  /**
   * Who sees which rows: those with `n` below the principal's level, or with a related row, seen or not, of that kind; those
   * whose reference is seen, with `and` only if `n` is so too; or all.
   */
  readonly rows:
    | 'level'
    | { readonly related: string }
    | { readonly through: string; readonly and: boolean }
    | undefined
  readonly sort: string
  readonly maxLimit: number
}

type Row = Readonly<Record<string, string | number | null>> & { readonly id: number }

export interface World {
  readonly places: readonly Place[]
  readonly rows: ReadonlyMap<string, readonly Row[]>
}

interface Who {
  readonly scopes: readonly string[]
  readonly level: number
}

const TEXTS = ['a', 'ab', 'b', 'ba', '']
const SCOPES = ['x', 'y', 'staff']

export function makeWorld({ below, pick }: Random): World {
  const names = ['reds', 'blues', 'greens', 'pinks'].slice(0, 2 + below(3))
  const unrelated = names.map((name, at): Place => {
    const refs = Array.from({ length: 1 + below(2) }, (_, number): Ref => {
      const to = pick(names)
      const field = pick([
        `${to.slice(0, -1)}_id`,
        `${to.slice(0, -1)}Id`,
        'top_id',
        `own${number}`,
      ])
      return { field, to, isParent: below(3) > 0, as: below(4) === 0 ? `as${number}` : undefined }
    }).filter(
      ({ field, to, isParent }, number, all) =>
        all.findIndex(each => each.field === field) === number &&
        (!isParent || all.findIndex(each => each.isParent && each.to === to) === number),
    )
    const earlier = refs.filter(({ to }) => names.indexOf(to) < at)
    const rows = pick([
      undefined,
      undefined,
      'level' as const,
      { related: '' },
      { through: earlier[0]?.field ?? '', and: false },
      { through: earlier[0]?.field ?? '', and: true },
    ])
    return {
      name,
      refs,
      scope: pick([undefined, undefined, undefined, 'x', 'y']),
      hidden: rows === undefined && below(3) === 0,
      rows: typeof rows === 'object' && 'through' in rows && rows.through === '' ? undefined : rows,
      sort: pick(['', '', '-t', 't']),
      maxLimit: pick([100, 100, 3]),
    }
  })
  const places = unrelated.map((place): Place => {
    if (typeof place.rows !== 'object' || 'through' in place.rows) return place
    const related = pick([...findRelations(unrelated, place).keys()])
    return { ...place, rows: related === undefined ? 'level' : { related } }
  })
  const sizes = new Map(names.map(name => [name, 2 + below(7)]))
  const rows = new Map(
    places.map(({ name, refs }) => {
      const own = Array.from({ length: sizes.get(name) ?? 0 }, (_, at): Row => {
        const links = refs.map(({ field, to }) => [
          field,
          below(4) === 0 ? null : 1 + below(sizes.get(to) ?? 1),
        ])
        return {
          id: at + 1,
          t: pick(TEXTS),
          n: pick([null, 1, 2, 3]),
          s: pick(TEXTS),
          ...Object.fromEntries(links),
        }
      })
      return [name, own]
    }),
  )
  return { places, rows }
}

const scheme: Scheme = {
  name: 'Who',
  challenge: () => 'Who',
  authenticate: async ({ headers }) => {
    const { scopes, level } = JSON.parse(headers.authorization?.slice(4) ?? '') as Who
    return { id: String(level), scopes }
  },
}

/** Serves a world from a store of each kind. */
export async function serveWorld(
  { places, rows }: World,
  open: (name: string) => Store,
): Promise<Api> {
  const collections = places.map(place => {
    const { name, refs, scope, hidden, rows: seen, sort, maxLimit } = place
    const fields: Record<string, z.ZodType> = {
      t: z.string(),
      n: z.number().nullable(),
      s: z.string(),
    }
    for (const { field } of refs) fields[field] = z.int().nullable()
    const byField = (isParent: boolean) =>
      Object.fromEntries(
        refs
          .filter(ref => ref.isParent === isParent)
          .map(({ field, to, as }) => [field, { collection: to, as }]),
      )
    const roles: Record<string, FieldRole> = { s: { read: ['staff'] }, w: 'writeOnly' }
    return defineUntyped({
      name,
      id: 'integer',
      timestamps: false,
      schema: z.object({ ...fields, w: z.string().optional() }),
      store: open(name),
      fields: roles,
      parents: byField(true),
      references: byField(false),
      sort: sort || undefined,
      maxLimit,
      access: scope === undefined ? {} : { default: [scope] },
      hideExistence: hidden,
      visible: toPolicy(seen),
    })
  })
  const api = defineApi({ collections, schemes: [scheme] })
  const system = api.asSystem()
  // What they refer to may come later: it is set once all are there.
  for (const { name, refs } of places)
    for (const row of rows.get(name) ?? []) {
      const unset = Object.fromEntries(refs.map(({ field }) => [field, null]))
      const { id: _id, ...values } = { ...row, ...unset }
      await system.collection(name).create({ ...values, w: 'never' })
    }
  for (const { name, refs } of places)
    for (const row of rows.get(name) ?? []) {
      const set = refs.filter(({ field }) => row[field] !== null)
      const links = Object.fromEntries(set.map(({ field }) => [field, row[field]]))
      await system.collection(name).patch(row.id, links)
    }
  return api
}

function toPolicy(rows: Place['rows']) {
  if (rows === undefined) return undefined
  const below = (principal?: { readonly id: string }) => ({ n: { lt: Number(principal?.id) } })
  const level = (principal?: { readonly id: string }) =>
    principal && (principal.id === '9' ? {} : below(principal))
  if (rows === 'level') return level
  if ('through' in rows) return rows.and ? { ...rows, and: level } : { through: rows.through }
  return (principal?: { readonly id: string }) =>
    principal && (principal.id === '9' ? {} : { [rows.related]: below(principal) })
}

// --- What is right ---------------------------------------------------------------------------------

interface Relation {
  readonly place: Place
  readonly many: boolean
  readonly from: string
  readonly to: string
}

type Json = unknown
/** What a request asks for: a tree of names, filters, and names of properties. */
type Tree = { readonly [name: string]: Tree }
export interface Question {
  readonly place: Place
  readonly who: Who
  readonly include: Tree
  readonly filter: Filter
  readonly fields: readonly string[] | undefined
}
type Filter = { readonly [name: string]: Json }

/** Finds the relations of a collection, by name. */
function findRelations(places: readonly Place[], place: Place): Map<string, Relation> {
  const found = new Map<string, Relation>()
  const properties = ['id', 't', 'n', 's', 'w', ...place.refs.map(({ field }) => field)]
  const add = (name: string, relation: Relation) => {
    if (!properties.includes(name) && !found.has(name)) found.set(name, relation)
  }
  const find = (to: string) => places.find(({ name }) => name === to) ?? place
  const refs = [...place.refs].sort((one, other) => Number(other.isParent) - Number(one.isParent))
  for (const named of [true, false])
    for (const { field, to, as } of refs)
      if ((as !== undefined) === named)
        add(as ?? field.replace(/(_id|Id)$/, ''), {
          place: find(to),
          many: false,
          from: field,
          to: 'id',
        })
  for (const other of places)
    for (const { field, to, isParent } of other.refs)
      if (isParent && to === place.name)
        add(other.name, { place: other, many: true, from: 'id', to: field })
  return found
}

class Refused extends Error {
  readonly status: number
  constructor(status: number) {
    super(String(status))
    this.status = status
  }
}

export class Truth {
  readonly #world: World
  readonly #who: Who

  constructor(world: World, who: Who) {
    this.#world = world
    this.#who = who
  }

  #find(name: string): Place {
    const found = this.#world.places.find(each => each.name === name)
    if (!found) throw new Error(name)
    return found
  }

  may({ scope }: Place): boolean {
    return scope === undefined || this.#who.scopes.includes(scope)
  }

  /** The relations that the principal may know of, by name. */
  relations(place: Place): Map<string, Relation> {
    const found = findRelations(this.#world.places, place)
    for (const [name, { place: other }] of found)
      if (other.hidden && !this.may(other)) found.delete(name)
    return found
  }

  sees(place: Place, row: Row): boolean {
    const { rows } = place
    if (this.#seesAll(place)) return true
    const { level } = this.#who
    const isBelow = ({ n }: Row) => level === 9 || (n !== null && Number(n) < level)
    if (typeof rows !== 'object') return isBelow(row)
    if ('related' in rows) {
      const relation = findRelations(this.#world.places, place).get(rows.related)
      const others = this.#world.rows.get(relation?.place.name ?? '') ?? []
      const isOf = (other: Row) => relation && other[relation.to] === row[relation.from]
      return others.some(other => isOf(other) && isBelow(other))
    }
    if (rows.and && !isBelow(row)) return false
    const above = this.#above(place)
    if (this.#seesAll(above)) return true
    const found = this.#world.rows.get(above.name)?.find(({ id }) => id === row[rows.through])
    return found !== undefined && this.sees(above, found)
  }

  /** Who sees all that rows go through sees all rows, those that refer to nothing too. */
  #seesAll(place: Place): boolean {
    const { rows } = place
    if (rows === undefined) return true
    const isTop = this.#who.level === 9
    if (rows === 'level' || 'related' in rows) return isTop
    return (isTop || !rows.and) && this.#seesAll(this.#above(place))
  }

  #above({ rows, refs }: Place): Place {
    const through = typeof rows === 'object' && 'through' in rows ? rows.through : ''
    return this.#find(refs.find(({ field }) => field === through)?.to ?? '')
  }

  /** The rows that the principal sees, in the order of their lists. */
  #list(place: Place): Row[] {
    const { sort } = place
    const direction = sort.startsWith('-') ? -1 : 1
    const all = this.#world.rows.get(place.name) ?? []
    const compare = (one: Row, other: Row) => {
      const [a, b] = [String(one.t), String(other.t)]
      return (sort === '' || a === b ? one.id - other.id : a < b ? -1 : 1) * direction
    }
    return all.filter(row => this.sees(place, row)).sort(compare)
  }

  #related(row: Row, { place, from, to }: Relation): Row[] {
    return this.#list(place).filter(other => row[from] !== null && other[to] === row[from])
  }

  #requireFilter(place: Place, filter: Filter, before?: Relation): void {
    for (const [name, value] of Object.entries(filter)) {
      if (name === 'or')
        for (const each of value as Filter[]) this.#requireFilter(place, each, before)
      else if (name === 'not') this.#requireFilter(place, value as Filter, before)
      else {
        const relation = this.relations(place).get(name)
        if (name === 's' && !this.#who.scopes.includes('staff')) throw new Refused(400)
        if (['t', 'n', 's'].includes(name)) continue
        if (!relation || leadsBack(before, relation)) throw new Refused(400)
        if (!('exists' in (value as object)))
          this.#requireFilter(relation.place, value as Filter, relation)
      }
    }
  }

  #authorizeFilter(place: Place, filter: Filter): void {
    for (const [name, value] of Object.entries(filter)) {
      if (name === 'or') for (const each of value as Filter[]) this.#authorizeFilter(place, each)
      else if (name === 'not') this.#authorizeFilter(place, value as Filter)
      else if (!['t', 'n', 's'].includes(name)) {
        const relation = this.relations(place).get(name)
        if (!relation || !this.may(relation.place)) throw new Refused(403)
        if (!('exists' in (value as object))) this.#authorizeFilter(relation.place, value as Filter)
      }
    }
  }

  passes(place: Place, row: Row, filter: Filter): boolean {
    return Object.entries(filter).every(([name, value]) => {
      if (name === 'or') return (value as Filter[]).some(each => this.passes(place, row, each))
      if (name === 'not') return !this.passes(place, row, value as Filter)
      const relation = this.relations(place).get(name)
      if (!relation) return test(row[name] ?? null, value as Readonly<Record<string, Json>>)
      const related = this.#related(row, relation)
      const { exists } = value as { exists?: boolean }
      if (exists !== undefined) return related.length > 0 === exists
      return related.some(each => this.passes(relation.place, each, value as Filter))
    })
  }

  #requireInclude(place: Place, include: Tree, before?: Relation): void {
    for (const [name, below] of Object.entries(include)) {
      const relation = this.relations(place).get(name)
      if (!relation || leadsBack(before, relation)) throw new Refused(400)
      this.#requireInclude(relation.place, below, relation)
    }
  }

  #authorizeInclude(place: Place, include: Tree): void {
    for (const [name, below] of Object.entries(include)) {
      const relation = this.relations(place).get(name)
      if (!relation || !this.may(relation.place)) throw new Refused(403)
      this.#authorizeInclude(relation.place, below)
    }
  }

  #show(place: Place, row: Row, include: Tree): Json {
    const staff = this.#who.scopes.includes('staff')
    const own = Object.fromEntries(Object.entries(row).filter(([name]) => name !== 's' || staff))
    const parts = Object.entries(include).map(([name, below]) => {
      const relation = this.relations(place).get(name)
      if (!relation) throw new Error(name)
      const found = this.#related(row, relation)
      const shown = found.map(each => this.#show(relation.place, each, below))
      if (relation.many && found.length > relation.place.maxLimit) throw new Refused(400)
      return [name, relation.many ? shown : (shown[0] ?? null)]
    })
    return { ...own, ...Object.fromEntries(parts) }
  }

  answer({ place, include, filter, fields }: Question): {
    status: number
    body?: Json
    total?: number
  } {
    try {
      this.#requireInclude(place, include)
      if (fields?.includes('s') && !this.#who.scopes.includes('staff')) throw new Refused(400)
      this.#requireFilter(place, filter)
      this.#authorizeInclude(place, include)
      this.#authorizeFilter(place, filter)
      const found = this.#list(place).filter(row => this.passes(place, row, filter))
      const page = found.slice(0, Math.min(25, place.maxLimit))
      const body = page.map(row => this.#show(place, row, include))
      return {
        status: 200,
        body: fields ? body.map(each => select(each, [...fields, ...Object.keys(include)])) : body,
        total: found.length,
      }
    } catch (error) {
      if (error instanceof Refused) return { status: error.status }
      throw error
    }
  }
}

/** What belongs to the items of an item is that item again. */
function leadsBack(before: Relation | undefined, { many, from, to }: Relation): boolean {
  return before?.many === true && !many && from === before.to && to === before.from
}

function select(value: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    Object.entries(value as object).filter(([name]) => names.includes(name)),
  )
}

function test(value: Json, operators: Readonly<Record<string, Json>>): boolean {
  return Object.entries(operators).every(([operator, operand]) => {
    if (operator === 'exists') return (value !== null) === operand
    if (value === null) return false
    if (operator === 'eq') return value === operand
    if (operator === 'ne') return value !== operand
    if (operator === 'prefix') return String(value).startsWith(String(operand))
    return operator === 'gt' ? Number(value) > Number(operand) : Number(value) <= Number(operand)
  })
}

// --- Questions -------------------------------------------------------------------------------------

/** Makes a question, some of which are refused. */
function makeQuestion(world: World, random: Random): Question {
  const { below, pick } = random
  const who = { scopes: SCOPES.filter(() => below(5) > 0), level: pick([1, 2, 3, 9, 9]) }
  const truth = new Truth(world, who)
  // Names that this principal may not know of are asked for too.
  const knowing = new Truth(world, { scopes: SCOPES, level: 9 })
  const place = pick(world.places.filter(each => truth.may(each)))
  const namesOf = (at: Place) => [...knowing.relations(at)]
  const makeTree = (at: Place, levels: number): Tree => {
    if (levels === 0) return {}
    const chosen = namesOf(at).filter(() => below(5) < (levels === 3 ? 3 : 1))
    const tree = Object.fromEntries(
      chosen.map(([name, { place: to }]) => [name, makeTree(to, levels - 1)]),
    )
    return below(40) === 0 ? { ...tree, zzz: {} } : tree
  }
  const makeTest = (): Json => {
    if (below(6) === 0) return { exists: below(2) === 0 }
    return { [pick(['eq', 'ne', 'prefix'])]: pick(TEXTS) }
  }
  const makeFilter = (at: Place, steps: number, groups: number): Filter => {
    const filter: Record<string, Json> = {}
    if (below(2) === 0) filter.t = makeTest()
    if (below(4) === 0)
      filter.n = below(3) === 0 ? { exists: below(2) === 0 } : { [pick(['gt', 'lte'])]: below(4) }
    if (below(12) === 0) filter.s = { eq: pick(TEXTS) }
    if (below(60) === 0) filter.w = { eq: 'never' }
    const relations = steps === 0 ? [] : namesOf(at)
    if (relations.length > 0 && below(3) > 0) {
      const [name, { place: to }] = pick(relations)
      filter[name] = below(4) === 0 ? { exists: below(2) === 0 } : makeFilter(to, steps - 1, groups)
    }
    if (groups > 0 && below(5) === 0) filter.not = makeFilter(at, steps, groups - 1)
    if (groups > 0 && below(5) === 0)
      filter.or = [makeFilter(at, steps, groups - 1), makeFilter(at, steps, 0)]
    return Object.keys(filter).length > 0 ? filter : { t: makeTest() }
  }
  return {
    place,
    who,
    include: below(4) === 0 ? {} : makeTree(place, 3),
    filter: below(3) > 0 ? {} : makeFilter(place, 2, 2),
    fields: below(4) === 0 ? ['id', 't', ...(below(4) === 0 ? ['s'] : [])] : undefined,
  }
}

function printTree(tree: Tree, prefix = ''): string[] {
  return Object.entries(tree).flatMap(([name, below]) => [
    prefix + name,
    ...printTree(below, `${prefix}${name}.`),
  ])
}

/** Prints filters as parameters; `undefined` where they have groups. */
function printFilter(filter: Filter, prefix = ''): string[] | undefined {
  const found: string[] = []
  for (const [name, value] of Object.entries(filter)) {
    if (name === 'or' || name === 'not') return undefined
    const entries = Object.entries(value as object)
    const isTest = entries.every(([word]) =>
      ['eq', 'ne', 'prefix', 'gt', 'lte', 'exists'].includes(word),
    )
    if (!isTest) {
      const below = printFilter(value as Filter, `${prefix}${name}.`)
      if (!below) return undefined
      found.push(...below)
    } else
      for (const [word, operand] of entries)
        found.push(`${prefix}${name}[${word}]=${encodeURIComponent(operand)}`)
  }
  return found
}

function countNames(tree: Tree): number {
  return printTree(tree).length
}

/**
 * Asks as many questions of worlds at random, in each store, and compares the answers with what is right.
 * @param open opens a store of its own for each collection.
 * @returns how many answers had items, and how many were refused.
 */
export async function askWorlds(
  open: Readonly<Record<string, (name: string) => Store>>,
  count: number,
  seed?: number,
): Promise<{ asked: number; telling: number; refused: number }> {
  const random = createRandom(seed)
  let [asked, telling, refused] = [0, 0, 0]
  while (asked < count) {
    const world = makeWorld(random)
    if (world.places.every(({ scope }) => scope !== undefined)) continue
    const apis = await Promise.all(
      Object.entries(open).map(
        async ([name, each]) => [name, await serveWorld(world, each)] as const,
      ),
    )
    for (let at = 0; at < 20 && asked < count; at++) {
      const question = makeQuestion(world, random)
      const { place, who, include, filter, fields } = question
      if (countNames(include) > 10) continue
      asked++
      const right = new Truth(world, who).answer(question)
      if (right.status !== 200) refused++
      else if (countNames(include) > 0 && (right.body as unknown[]).length > 0) telling++
      const names = printTree(include).join()
      const own = [
        ...(names === '' ? [] : [`include=${names}`]),
        ...(fields ? [`fields=${[...fields, ...Object.keys(include)].join()}`] : []),
      ]
      const where = `where=${encodeURIComponent(JSON.stringify(filter))}`
      const flat = printFilter(filter)
      for (const filters of flat ? [[where], flat] : [[where]]) {
        const path = `${place.name}?${[...own, ...filters].join('&')}`
        for (const [name, { fetch }] of apis) {
          const headers = { authorization: `Who ${JSON.stringify(who)}` }
          const answer = await fetch(new Request(`http://x/${path}`, { headers }))
          const text = await answer.text()
          const about = `${name}: ${path} as ${JSON.stringify(who)} of ${JSON.stringify([...world.places])}: ${text}`
          assert.equal(answer.status, right.status, about)
          if (right.status !== 200) continue
          assert.deepEqual(JSON.parse(text), right.body, about)
          assert.equal(answer.headers.get('x-result-count'), String(right.total), about)
        }
      }
    }
    for (const [, api] of apis) await api.close()
  }
  return { asked, telling, refused }
}
