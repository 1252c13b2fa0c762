// A file of the project `pure` shares its thread with others: what it needs of the process must be nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { HEAVY, STORES } from './projects.ts'

const matches = (...patterns: readonly RegExp[]) => {
  const any = new RegExp(patterns.map(({ source }) => source).join('|'))
  return (text: string) => any.test(text)
}

/** What a process has once: replaced timers and globals, events, descriptors, garbage. */
const needsProcess = matches(
  /useFakeTimers|stubGlobal|spyOn|globalThis|\bgc\(/,
  /process\.(?:env\.\w+ = |(?:on|once|exit|memoryUsage|cpuUsage)\b)/,
  /from 'node:(?:worker_threads|cluster|inspector|v8|vm)'/,
  /proc\/self/,
)
const startsProgram = matches(
  /from '(?:node:child_process|playwright-core|ioredis|esbuild|s3rver|oidc-provider)'/,
)
const loadsDriver = matches(
  /from '(?:libsql|pg|node:sqlite)'|import\('(?:libsql|node:sqlite|pg)'\)/,
)

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map(path => posix.join('test', path))

/** The text of a file, and of the files of the tests and examples that it imports. */
function readAll(path: string, seen = new Set<string>()): string {
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  const imported = [...text.matchAll(/from '(\.[^']+)'/g)]
    .map(([, from = '']) => posix.join(posix.dirname(path), from))
    .filter(from => /^(?:test|examples)\//.test(from) && !seen.has(from) && existsSync(from))
  return [text, ...imported.map(from => (seen.has(from) ? '' : readAll(from, seen)))].join('\n')
}

function projectOf(text: string): string {
  if (needsProcess(text)) return 'heavy'
  if (loadsDriver(text) || startsProgram(text)) return 'stores'
  return 'pure'
}

test('each file is in the project that its needs ask for', () => {
  const self = 'test/projects.test.ts'
  const of = (project: string) =>
    files.filter(file => file !== self && projectOf(readAll(file)) === project).sort()
  expect([...STORES].sort()).toEqual(of('stores'))
  expect([...HEAVY].sort()).toEqual(of('heavy'))
})
