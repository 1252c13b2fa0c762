// What an item includes: `include=model,options(5),cars_models.model` → a tree of relations, and back.

import type { Path } from '../base/paths.ts'
import { type ErrorType, type Issue, nearest, quote } from '../errors.ts'
import type { ListParameterName } from './list-parameters.ts'
import { invalidStepsReason, type QueryScope, type Relation } from './relation.ts'

/** The name of the parameter. */
export const INCLUDE = 'include' satisfies ListParameterName

/** How many relations one request may include. */
const MAX_NAMES = 10

/** Related items that are included, and what is included in them. */
export interface Include {
  readonly relation: Relation
  /** How many of them; absent: all. */
  readonly limit: number | undefined
  /** Their properties; absent: all. */
  readonly fields: readonly Path[] | undefined
  readonly includes: readonly Include[]
}

/** A name, and maybe a number: `options(5)`. */
const NAME = /^([^()]*)(?:\(([^()]*)\))?$/

/** Prints a tree so that {@link parseInclude} gives it back. */
export function printInclude(includes: readonly Include[]): string {
  return includes.flatMap(each => listNames(each, '')).join(',')
}

function listNames({ relation, limit, includes }: Include, prefix: string): string[] {
  const name = prefix + relation.name + (limit === undefined ? '' : `(${limit})`)
  return [name, ...includes.flatMap(each => listNames(each, `${name}.`))]
}

/** Parses the value of the parameter. Issues are added to the list. */
export function parseInclude(text: string, scope: QueryScope, issues: Issue[]): Include[] {
  const reader = new IncludeReader(scope, issues)
  const paths = text.split(',').filter(path => path !== '')
  if (paths.length === 0) reader.add(`${INCLUDE} names nothing. ${listChoices(scope)}`)
  for (const path of paths) {
    reader.read(path)
    if (reader.isFull()) break
  }
  return reader.finish()
}

/** A tree that grows. */
interface IncludeNode {
  readonly relation: Relation
  limit: number | undefined
  readonly nodes: Map<string, IncludeNode>
}

class IncludeReader {
  readonly #scope: QueryScope
  readonly #issues: Issue[]
  readonly #nodes = new Map<string, IncludeNode>()
  #count = 0

  constructor(scope: QueryScope, issues: Issue[]) {
    this.#scope = scope
    this.#issues = issues
  }

  /** Reads one path: `cars_models.model`. */
  read(path: string): void {
    const steps: Relation[] = []
    let scope = this.#scope
    let nodes = this.#nodes
    for (const part of path.split('.')) {
      const [, name = part, digits] = NAME.exec(part) ?? []
      const relation = scope.relations.get(name)
      if (relation) steps.push(relation)
      const reason = invalidStepsReason(steps)
      if (!relation) this.add(describeUnknown(name, scope), 'unknown_include')
      else if (reason !== undefined) this.add(reason)
      if (!relation || reason !== undefined) return
      const node = nodes.get(name) ?? this.#addNode(relation, nodes)
      if (digits !== undefined) this.#setLimit(node, digits)
      scope = relation.scope
      nodes = node.nodes
    }
  }

  #addNode(relation: Relation, nodes: Map<string, IncludeNode>): IncludeNode {
    const node: IncludeNode = { relation, limit: undefined, nodes: new Map() }
    nodes.set(relation.name, node)
    this.#count++
    if (this.isFull()) this.add(`${INCLUDE} names more than ${MAX_NAMES} relations`)
    return node
  }

  #setLimit(node: IncludeNode, digits: string): void {
    const { name, many, scope } = node.relation
    const limit = /^\d{1,9}$/.test(digits) ? Number(digits) : 0
    const example = `${name}(${Math.min(5, scope.maxLimit)})`
    if (!many) this.add(`${name} is one ${scope.itemName}. Leave the number out`)
    else if (limit < 1 || limit > scope.maxLimit)
      this.add(`${name} takes a number from 1 to ${scope.maxLimit}, as in ${example}`)
    else if (node.limit !== undefined && node.limit !== limit)
      this.add(`${name} is included with two numbers. Send one`)
    else node.limit = limit
  }

  isFull(): boolean {
    return this.#count > MAX_NAMES
  }

  add(message: string, type: ErrorType = 'invalid_include'): void {
    this.#issues.push({ message, field: INCLUDE, type })
  }

  finish(nodes = this.#nodes): Include[] {
    return Array.from(nodes.values(), ({ relation, limit, nodes: inner }) => ({
      relation,
      limit,
      fields: undefined,
      includes: this.finish(inner),
    }))
  }
}

function describeUnknown(name: string, scope: QueryScope): string {
  const near = nearest(name, [...scope.relations.keys()])
  const hint = near === undefined ? `. ${listChoices(scope)}` : `: did you mean ${near}?`
  return `Unknown relation ${quote(name)} of ${scope.name}${hint}`
}

function listChoices({ name, relations }: QueryScope): string {
  if (relations.size === 0)
    return `Nothing can be included in ${name}. To add items that refer to it, declare ${name} in their parents`
  return `Use one of: ${[...relations.keys()].join(', ')}`
}

/**
 * Gives the names of `fields` to the items that they are of. Issues are added to the list.
 * @param names of the item itself, and dotted ones of what it includes; those are taken out.
 * @param toPaths checks names, and makes paths of them.
 */
export function selectIncluded(
  names: Set<string>,
  includes: readonly Include[],
  toPaths: (names: ReadonlySet<string>, scope: QueryScope) => readonly Path[],
  issues: Issue[],
): Include[] {
  const select = (names: Set<string>, each: Include, prefix: string): Include => {
    const { name, scope } = each.relation
    const isWhole = names.delete(name)
    const below = [...names].filter(other => other.startsWith(`${name}.`))
    for (const other of below) names.delete(other)
    if (isWhole) return each
    if (below.length === 0) {
      const dotted = prefix + name
      const message = `fields names nothing of ${dotted}, which is included. Add ${dotted} or its fields, or include it not`
      issues.push({ message, field: 'fields', type: 'invalid_fields' })
    }
    const own = new Set(below.map(other => other.slice(name.length + 1)))
    const inner = each.includes.map(below => select(own, below, `${prefix}${name}.`))
    return { ...each, fields: toPaths(own, scope), includes: inner }
  }
  return includes.map(each => select(names, each, ''))
}

/** Whether something that is included, at any level, is a list. */
export function findMany(includes: readonly Include[]): Relation | undefined {
  for (const { relation, includes: inner } of includes) {
    const found = relation.many ? relation : findMany(inner)
    if (found) return found
  }
  return undefined
}
