// What operations are called: an `operationId` for programs, a summary for people.

import { memoize } from '../base/memoize.ts'
import { DOWNLOAD, listRoutes, type RouteTarget, SEARCH } from '../model/compile/routes.ts'
import type { CollectionDefinition, VersionDefinition } from '../model/types/definition.ts'
import { printItemType, printOneItem, toTypeName, toWords } from './names.ts'

/** The operations by what they are named after: the list, or one item. */
const VERBS: Readonly<Record<string, readonly [verb: string, words: string, of: 'list' | 'item']>> =
  {
    list: ['list', 'List', 'list'],
    [SEARCH]: ['search', 'Search', 'list'],
    count: ['count', 'Count', 'list'],
    create: ['create', 'Create', 'item'],
    read: ['read', 'Read', 'item'],
    replace: ['replace', 'Replace', 'item'],
    upsert: ['upsert', 'Create or replace', 'item'],
    patch: ['patch', 'Change', 'item'],
    delete: ['delete', 'Delete', 'item'],
    patchMany: ['patchMany', 'Change many', 'list'],
    deleteMany: ['deleteMany', 'Delete many', 'list'],
  }

/** Prints what an operation does for people: `List cars`, `Create an option of a car`, `Buy a car`. */
export function printSummary(target: RouteTarget, method: string, name: string): string {
  const { collection, parent, action, property } = target
  if (!collection) return target.version ? 'Describe the version' : 'Describe the api'
  const one = printOneItem(collection)
  const all = toWords(collection.name)
  const below = parent ? ` of ${printOneItem(parent.collection)}` : inTrash(target, ' in the trash')
  if (name === DOWNLOAD) return `Download the ${toWords(property ?? '')} of ${one}${below}`
  const words = toWords(name)
  const [, verb, of] = VERBS[action ? '' : name] ?? [
    name,
    words.charAt(0).toUpperCase() + words.slice(1),
    action?.on === 'item' ? 'item' : 'list',
  ]
  const summary = `${verb} ${of === 'item' ? one : all}${below}`
  return method === 'QUERY' ? `${summary} by a query in the body` : summary
}

/** The suffix of operation names in a trash; empty for others and for `restore`. */
function inTrash({ collection, action }: RouteTarget, words: string): string {
  return collection?.trashOf && !action ? words : ''
}

/** Prints the id that an operation has unless another one has it: `listCars`, `createOptionOfCar`, `buyCar`. */
function printId(target: RouteTarget, method: string, name: string): string {
  const { collection, parent, action, property } = target
  if (!collection) return target.version ? 'describeVersion' : 'describeApi'
  const one = printItemType(collection)
  const below = parent ? `Of${printItemType(parent.collection)}` : inTrash(target, 'InTrash')
  if (name === DOWNLOAD) return `download${toTypeName(property ?? '')}Of${one}${below}`
  const [verb, , of] = VERBS[action ? '' : name] ?? [
    toTypeName(name).replace(/^[A-Z]/, first => first.toLowerCase()),
    '',
    action?.on === 'item' ? 'item' : 'list',
  ]
  const id = `${verb}${of === 'item' ? one : toTypeName(collection.name)}${below}`
  return method === 'QUERY' ? `${id}ByQuery` : id
}

/** The id of an operation, unique in the descriptions of its version. */
export function printOperationId(
  target: RouteTarget,
  pattern: string,
  method: string,
  name: string,
): string {
  const { version } = target
  const known = version && listIds(version).get(`${method} ${pattern}`)
  return known ?? printId(target, method, name)
}

export const BATCH_ID = 'sendBatch'

/** Lists the ids of the operations of a version by their methods and patterns. */
const listIds = memoize((version: VersionDefinition): ReadonlyMap<string, string> => {
  const wanted = [...listRoutes([version])].flatMap(({ pattern, target, methods }) =>
    [...methods].flatMap(([method, name]) => {
      const key = `${method} ${pattern}`
      if (method === 'HEAD') return []
      return [{ key, id: printId(target, method, name), isHidden: isHidden(target) }]
    }),
  )
  // What is hidden gives way: its name says nothing of it.
  wanted.sort(
    (one, other) =>
      Number(one.isHidden) - Number(other.isHidden) ||
      one.id.length - other.id.length ||
      (one.key < other.key ? -1 : 1),
  )
  const taken = new Set([BATCH_ID.toLowerCase()])
  return new Map(
    wanted.map(({ key, id }) => {
      let name = id
      for (let number = 2; isTaken(name.toLowerCase(), taken); number++) name = `${id}${number}`
      taken.add(name.toLowerCase())
      return [key, name]
    }),
  )
})

function isHidden({ collection, parent }: RouteTarget): boolean {
  const isOne = (each: CollectionDefinition | undefined) => each?.hideExistence === true
  return isOne(collection) || isOne(parent?.collection)
}

/** What generators and their plugins append to an id: `listCars` has `listCarsOptions` beside it. */
const SUFFIXES = [
  'infiniteoptions infinitequery infinitequerykey infinitequeryoptions key mutation mutationkey mutationoptions',
  'mutationrequest mutationresponse options query querykey queryoptions queryparams queryresponse setquerydata',
  'suspensequery body data error errors headers params path pathparams request response responses result schema url',
]
  .join(' ')
  .split(' ')

function isTaken(name: string, taken: ReadonlySet<string>): boolean {
  return (
    taken.has(name) ||
    SUFFIXES.some(
      suffix =>
        taken.has(name + suffix) ||
        (name.endsWith(suffix) && taken.has(name.slice(0, -suffix.length))),
    )
  )
}
