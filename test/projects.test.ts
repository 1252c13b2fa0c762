// A file of the project `pure` shares its thread with others: what it needs of the process must be nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { HEAVY_FILES } from './projects.ts'

/** What a process has once: other processes, native addons, replaced timers and globals, events, memory. */
const NEEDS_PROCESS = new RegExp(
  [
    /from '(?:node:(?:child_process|worker_threads|cluster|inspector|v8|vm|sqlite)|libsql|pg|playwright-core|ioredis|esbuild|s3rver|oidc-provider)'/,
    /import\('(?:libsql|node:sqlite|pg)'\)/,
    /useFakeTimers|stubGlobal|spyOn|globalThis|\bgc\(/,
    /process\.(?:env\.\w+ = |(?:on|once|exit|memoryUsage|cpuUsage)\b)/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map(path => posix.join('test', path))

/** Whether a file needs the process, or a file of the tests or examples that it imports. */
function needsProcess(path: string, seen = new Set<string>()): boolean {
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  if (NEEDS_PROCESS.test(text)) return true
  return [...text.matchAll(/from '(\.[^']+)'/g)]
    .map(([, from = '']) => posix.join(posix.dirname(path), from))
    .filter(from => /^(?:test|examples)\//.test(from) && !seen.has(from) && existsSync(from))
    .some(from => needsProcess(from, seen))
}

test('a test that needs the process is in the project heavy, each other one in pure', () => {
  const self = 'test/projects.test.ts'
  const heavy = files.filter(file => file !== self && needsProcess(file)).sort()
  expect([...HEAVY_FILES].sort()).toEqual(heavy)
})
