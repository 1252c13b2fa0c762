// The source as tests of its shape see it: each file's imports, patterns and words, from a syntax tree.
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseAst } from 'vitest/node'

export interface SourceFile {
  /** Below `src`, such as `formats/json.ts`. */
  readonly path: string
  readonly text: string
  readonly lines: number
  /** Every module named in it, types included: files below `src` as their path, others as written. */
  readonly imports: readonly string[]
  readonly nodes: readonly SyntaxNode[]
}

export interface SyntaxNode {
  readonly type: string
  readonly [member: string]: unknown
}

const ROOT = new URL('../src/', import.meta.url)

/** What a file of src exports at run time. */
export function load(path: string): Promise<Record<string, unknown>> {
  return import(/* @vite-ignore */ new URL(path, ROOT).href)
}

export function sourceFiles(root: URL = ROOT): SourceFile[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .sort()
    .map(path => {
      const text = readFileSync(new URL(path, root), 'utf8')
      const nodes = [...listNodes(parseAst(text, { lang: 'ts' }, path))]
      const imports = [...new Set(nodes.flatMap(node => importOf(path, node)))]
      return { path, text, lines: text.split('\n').length - 1, imports, nodes }
    })
}

/** Lists a node and all below it. */
export function* listNodes(value: unknown): Generator<SyntaxNode> {
  if (isNode(value)) yield value
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(value)) yield* listNodes(member)
}

export function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}

const IMPORTING = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function importOf(path: string, { type, source, argument }: SyntaxNode): string[] {
  const from = source ?? argument
  if (!IMPORTING.has(type) || !isNode(from)) return []
  const name = String(from.value ?? '(computed)')
  return [name.startsWith('.') ? posix.join(posix.dirname(path), name) : name]
}
