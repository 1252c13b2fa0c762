// Dotted paths into an item: parses one, reads its value, picks several.
import { getProperty, type Item, isObject, type Json } from './values.ts'

/** `model.name` as `['model', 'name']`. */
export type Path = readonly string[]

export function toPath(dotted: string): Path {
  return dotted.split('.')
}

/** Reads the value at a path; `undefined` where the item or a parent lacks it. */
export function getValue(item: Json | undefined, path: Path): Json | undefined {
  let value = item
  for (const name of path) value = getProperty(value, name)
  return value
}

type Tree = Map<string, Tree | undefined>

/**
 * Compiles a picker of paths: it copies exactly those properties, in the order of the item. A path
 * wins over paths below it; a parent that the item lacks is left out.
 */
export function picker(paths: readonly Path[]): (item: Item) => Item {
  const tree: Tree = new Map()
  for (const path of paths) plant(tree, path)
  return item => pick(item, tree)
}

function plant(tree: Tree, path: Path): void {
  const [name, ...rest] = path
  if (name === undefined || (tree.has(name) && tree.get(name) === undefined)) return
  if (rest.length === 0) {
    tree.set(name, undefined)
    return
  }
  const branch = tree.get(name) ?? new Map()
  tree.set(name, branch)
  plant(branch, rest)
}

function pick(item: Item, tree: Tree): Item {
  const picked: Item = {}
  for (const [name, value] of Object.entries(item)) {
    if (!tree.has(name)) continue
    const branch = tree.get(name)
    if (!branch) picked[name] = value
    else if (isObject(value)) picked[name] = pick(value, branch)
    else if (value === null) picked[name] = null
  }
  return picked
}
