// The shape of the source in figures: circles of imports, names with two meanings, casts, long functions.
// Both the tests of the architecture and scripts/measure-source.ts read it.
import { posix } from 'node:path'
import { isNode, type SourceFile, type SyntaxNode } from './source.ts'

/** Groups of files that import each other, directly or not, types included. */
export function findCircles(files: readonly SourceFile[]): string[][] {
  const imports = new Map(files.map(({ path, imports }) => [path, imports]))
  const reached = new Map(files.map(({ path }) => [path, findReached(path, imports)]))
  const circles = files
    .filter(({ path }) => reached.get(path)?.has(path))
    .map(({ path }) =>
      files
        .map(other => other.path)
        .filter(other => reached.get(path)?.has(other) && reached.get(other)?.has(path)),
    )
  return [...new Map(circles.map(circle => [circle.join(), circle])).values()]
}

function findReached(path: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const visit = (from: string) => {
    for (const to of imports.get(from) ?? []) {
      if (reached.has(to) || !imports.has(to)) continue
      reached.add(to)
      visit(to)
    }
  }
  visit(path)
  return reached
}

/** The files that declare a type of each name, for the names that more than one file declares. */
export function findDoubledTypes(files: readonly SourceFile[]): Map<string, string[]> {
  const declared = new Map<string, string[]>()
  for (const { path, nodes } of files)
    for (const { type, id } of nodes)
      if (isNode(id) && /^(?:TSInterface|TSTypeAlias|Class)Declaration$/.test(type))
        declared.set(String(id.name), [...(declared.get(String(id.name)) ?? []), path])
  return new Map([...declared].filter(([, paths]) => paths.length > 1).sort())
}

/** Every `as X` and `<X>` of a file, by its line; `as const` is no cast. */
export function findCasts({ nodes, text }: SourceFile): number[] {
  return nodes
    .filter(({ type }) => type === 'TSAsExpression' || type === 'TSTypeAssertion')
    .filter(({ typeAnnotation }) => !isConst(typeAnnotation))
    .map(({ end }) => lineOf(text, Number(end)))
}

function isConst(annotation: unknown): boolean {
  return isNode(annotation) && isNode(annotation.typeName) && annotation.typeName.name === 'const'
}

export interface FunctionLines {
  readonly path: string
  readonly line: number
  readonly lines: number
}

/** Every function with its length, its docstring apart. */
export function measureFunctions({ path, nodes, text }: SourceFile): FunctionLines[] {
  return nodes
    .filter(({ type, body }) => FUNCTIONS.has(type) && isNode(body))
    .map(({ start, end }) => {
      const line = lineOf(text, Number(start))
      return { path, line, lines: lineOf(text, Number(end)) - line + 1 }
    })
}

/** The parameters that a function may have before it reads like a list. */
export const MAX_PARAMETERS = 4

export interface FunctionParameters {
  readonly path: string
  readonly line: number
  readonly parameters: number
}

/** Every function and method with a body that has more than `MAX_PARAMETERS`. */
export function findManyParameters({ path, nodes, text }: SourceFile): FunctionParameters[] {
  return nodes
    .filter(({ type, body }) => FUNCTIONS.has(type) && isNode(body))
    .map(({ start, params }) => ({ start, parameters: Array.isArray(params) ? params.length : 0 }))
    .filter(({ parameters }) => parameters > MAX_PARAMETERS)
    .map(({ start, parameters }) => ({ path, line: lineOf(text, Number(start)), parameters }))
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

function lineOf(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

/** Lines that are neither blank nor comment. */
export function countCode({ text }: SourceFile): number {
  return text.split('\n').filter(line => !/^\s*(?:$|\/\/|\/\*|\*)/.test(line)).length
}

/** Assignments to members of a `context` or `request`. */
export function findContextWrites({ nodes }: SourceFile): SyntaxNode[] {
  return nodes.filter(
    ({ type, left }) =>
      type === 'AssignmentExpression' &&
      isNode(left) &&
      isNode(left.object) &&
      /^(?:context|request)$/.test(String(left.object.name)),
  )
}

/**
 * The declarations whose values outlive a call, without a comment above that says why: WeakMaps, memoized functions, and at
 * the top of a module its variables and empty collections.
 */
export function findUnexplained({ path, nodes, text }: SourceFile): string[] {
  const lines = text.split('\n')
  return nodes
    .flatMap(node =>
      valuesOf(node).map(value => ({ value, line: lineOf(text, Number(node.start)) })),
    )
    .filter(({ value, line }) => outlives(value, lines[line - 1] ?? ''))
    .filter(({ line }) => !/\*\/$|^\s*\/\//.test(lines[line - 2] ?? ''))
    .map(({ line }) => `${path}:${line} ${lines[line - 1]?.trim()}`)
}

/** What a declaration of variables or of a property declares. */
function valuesOf({ type, declarations, value }: SyntaxNode): unknown[] {
  if (type === 'PropertyDefinition') return [value]
  if (type !== 'VariableDeclaration' || !Array.isArray(declarations)) return []
  return declarations.map(({ init }) => init)
}

function outlives(value: unknown, line: string): boolean {
  if (/^(?:export )?let /.test(line)) return true
  if (!isNode(value) || !isNode(value.callee)) return false
  const { name } = value.callee
  if (/^(?:WeakMap|WeakSet|memoize)$/.test(String(name))) return true
  const isEmpty = Array.isArray(value.arguments) && value.arguments.length === 0
  return (
    isEmpty && /^(?:Map|Set)$/.test(String(name)) && /^(?:export )?const (?![A-Z_]+\b)/.test(line)
  )
}

/** `operations` of `operations/reads/list.ts`. */
export function folderOf(path: string): string {
  return path.includes('/') ? (posix.dirname(path).split('/')[0] ?? path) : path
}
