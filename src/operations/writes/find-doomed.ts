// What a deletion deletes: everything that refers to its items, and to that, in the order in which the keys of a
// database allow it.

import type { Item } from '../../base/values.ts'
import { listContents } from '../../blobs/content-places.ts'
import { HttpError } from '../../errors.ts'
import type { Child, CollectionDefinition } from '../../model/types/definition.ts'
import { withTieBreak } from '../../store/selection.ts'
import type { Id, Store, Stored } from '../../store/store.ts'
import { MAX_SET } from '../../store/writes.ts'
import { isKnown } from '../calls/authorize.ts'
import type { OperationContext } from '../calls/context.ts'
import type { RunningTransaction } from '../calls/running-transaction.ts'
import type { Doomed, Write } from './steps.ts'

/** The maximum of items that are deleted with others. */
const MAX_CASCADE = 10_000

/** An item that is deleted, and how it hangs together with the others. */
interface DoomedNode extends Doomed {
  /** Those that it refers to. */
  readonly parents: Set<DoomedNode>
  /** How many refer to it and are not in the order yet. */
  waits: number
  wave: number
}

/** The items found so far: two versions may serve those of one store. */
type DoomedNodes = Map<Store, Map<Id, DoomedNode>>

/** The items of a deletion, in its order. */
export interface DoomedItems {
  /** Each after those that refer to it. */
  readonly sorted: readonly Doomed[]
  /** Those that refer to each other in a circle, or to such. */
  readonly circular: readonly Doomed[]
}

/**
 * Finds the items that are deleted with one, each after those that refer to it. Where items refer to each other in a
 * circle, the first one precedes all of the circle.
 * @throws HttpError 409 for an item that others refer to, and for too many.
 */
export async function findDoomed(write: Write<'current'>): Promise<readonly Doomed[]> {
  const { call, transaction, current } = write
  const { sorted, circular } = await findAllDoomed(call, transaction, [current])
  return [...sorted, ...circular]
}

/** Finds the items that are deleted with others. @throws HttpError as {@link findDoomed} does. */
export async function findAllDoomed(
  call: OperationContext,
  transaction: RunningTransaction | undefined,
  items: readonly Stored[],
): Promise<DoomedItems> {
  const { collection } = call.target
  const roots = items.map((each, at) => toNode(collection, each, at, each.version))
  const doomed = [...roots]
  const nodes: DoomedNodes = new Map([
    [collection.store, new Map(roots.map(root => [root.id, root]))],
  ])
  for (let level = roots; level.length > 0; ) {
    const next: DoomedNode[] = []
    for (const { parent, child, field, selection } of listReferrers(level, 'cascade')) {
      const known = nodes.get(child.store) ?? new Map<Id, DoomedNode>()
      nodes.set(child.store, known)
      for await (const batch of call
        .storeOf(child, transaction)
        .stream(selection, call.storeOptions)) {
        for (const stored of batch) {
          const parents: ReadonlyMap<unknown, DoomedNode> | undefined = nodes.get(parent.store)
          const { root = 0, deletion = '' } = parents?.get(stored.item[field]) ?? {}
          const node = known.get(stored.id) ?? toNode(child, stored, root, deletion)
          if (!known.has(stored.id)) next.push(node)
          known.set(stored.id, node)
          connect(node, stored.item[field], parents)
        }
        if (doomed.length + next.length > MAX_CASCADE + roots.length)
          throw tooMany(collection, roots.length)
      }
    }
    doomed.push(...next)
    level = next
  }
  for (const { parent, child, field, selection } of listReferrers(doomed, 'restrict')) {
    const known = nodes.get(child.store) ?? new Map<Id, DoomedNode>()
    const slice = { limit: known.size + 1, offset: 0 }
    const store = call.storeOf(child, transaction)
    const { items } = await store.list(selection, slice, 'none', call.storeOptions)
    for (const { id, item } of items) {
      const node = known.get(id)
      if (!node)
        throw referenced(call, roots.length > 1 ? item[field] : undefined, parent, { child, item })
      connect(node, item[field], nodes.get(parent.store))
    }
  }
  return sortByReferences(doomed)
}

function toNode(
  collection: CollectionDefinition,
  { id, version, item }: Stored,
  root: number,
  deletion: string,
): DoomedNode {
  // An item in a trash keeps its files.
  const contents = collection.trash ? [] : listContents(collection.contents, item)
  const links = { parents: new Set<DoomedNode>(), waits: 0, wave: 0 }
  return { collection, id, version, contents, root, deletion, ...links }
}

/** Notes that an item refers to another one. */
function connect(
  node: DoomedNode,
  id: unknown,
  parents: ReadonlyMap<unknown, DoomedNode> | undefined,
): void {
  const parent = parents?.get(id)
  if (!parent || parent === node || node.parents.has(parent)) return
  node.parents.add(parent)
  parent.waits++
}

/** Sorts items in waves: to each nothing refers any more, once the ones before are deleted. */
function sortByReferences(doomed: readonly DoomedNode[]): DoomedItems {
  const sorted: DoomedNode[] = []
  for (let wave = doomed.filter(({ waits }) => waits === 0); wave.length > 0; ) {
    // Those of a collection are next to each other: they are deleted together.
    for (const collection of new Set(wave.map(each => each.collection))) {
      sorted.push(...wave.filter(each => each.collection === collection))
    }
    const next: DoomedNode[] = []
    for (const { parents, wave: number } of wave) {
      for (const parent of parents) {
        parent.wave = number + 1
        if (--parent.waits === 0) next.push(parent)
      }
    }
    wave = next
  }
  return { sorted, circular: doomed.filter(({ waits }) => waits > 0) }
}

/** Selects the items that refer to others, by the collections of both. */
function* listReferrers(items: readonly Doomed[], onDelete: Child['onDelete']) {
  for (const parent of new Set(items.map(({ collection }) => collection))) {
    const ids = items.flatMap(({ collection, id }) => (collection === parent ? [id] : []))
    for (const { collection: child, field, onDelete: declared } of parent.children) {
      if (declared !== onDelete) continue
      const sort = withTieBreak([], child.shape.identity)
      for (let at = 0; at < ids.length; at += MAX_SET) {
        const values = ids.slice(at, at + MAX_SET)
        const where = [{ path: [field], operator: 'in', values } as const]
        yield { parent, child, field, selection: { where, sort } }
      }
    }
  }
}

/** Builds the 409 of an item that others refer to; it names no collection that the client may not know of. */
function referenced(
  context: OperationContext,
  id: unknown,
  parent: CollectionDefinition,
  { child, item }: { readonly child: CollectionDefinition; readonly item: Item },
): HttpError {
  const { itemName } = parent
  const named = id === undefined ? `This ${itemName}` : `The ${itemName} ${JSON.stringify(id)}`
  const which = isKnown(context, parent) ? named : 'Another item that would be deleted too'
  const { trashOf } = child
  // Who may not see the trash is not told of it.
  const isMarked = trashOf?.trash && (item[trashOf.trash.date] ?? null) !== null
  const [place, advice] =
    isMarked && isKnown(context, child) && context.can(trashOf, 'trash')
      ? [' in the trash', ' Delete those for good first.']
      : ['', ' Delete or change those first.']
  const message = `${which} cannot be deleted: ${nameItemsOf(context, child)}${place} refer to it.${advice}`
  return new HttpError(409, [{ message, type: 'referenced' }])
}

/** Names the items of a collection, which the client may know of or not. */
export function nameItemsOf(context: OperationContext, child: CollectionDefinition): string {
  return isKnown(context, child) ? child.name : 'other items'
}

function tooMany({ name, itemName }: CollectionDefinition, count: number): HttpError {
  const which = count === 1 ? `this ${itemName}` : `these ${count} ${name}`
  const message = `More than ${MAX_CASCADE} items would be deleted with ${which}. Delete some of them first.`
  return new HttpError(409, [{ message, type: 'cascade_too_large' }])
}
