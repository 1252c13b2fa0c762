import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { HEAVY, STORES } from './test/projects.ts'

/** The names of the package's entries lead to the source, here as in TypeScript and tsx. */
const { paths }: { paths: Record<string, [string]> } = JSON.parse(
  readFileSync(new URL('tsconfig.json', import.meta.url), 'utf8'),
).compilerOptions
const alias = Object.entries(paths).map(([name, [file]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: resolve(import.meta.dirname, file),
}))

/** An uncovered branch is first a candidate for deletion. */
const WHOLE = { lines: 100, branches: 100, functions: 100, statements: 100 }

/** @param test the options of a project, which has those below too. */
const project = <T extends object>(name: string, test: T) => ({
  extends: true as const,
  test: { name, ...test },
})

export default defineConfig({
  resolve: { alias },
  test: {
    projects: [
      // Files share the modules of their thread or process: loading them is a third of the CPU of these tests.
      project('pure', {
        pool: 'threads' as const,
        isolate: false,
        include: ['test/**/*.test.ts'],
        exclude: ['**/node_modules/**', ...STORES, ...HEAVY],
      }),
      project('stores', { pool: 'forks' as const, isolate: false, include: [...STORES] }),
      project('heavy', { pool: 'forks' as const, include: [...HEAVY] }),
    ],
    // Many tests wait: for locks, leases and programs that they started. Four workers use what two leave of two cores.
    maxWorkers: Math.max(4, availableParallelism()),
    setupFiles: ['test/setup.ts', ...(process.env.RECORD ? ['test/record.ts'] : [])],
    // A line a file; at the end what was skipped.
    reporters: ['default', './test/reporter.ts'],
    slowTestThreshold: 60_000,
    // Far above what any test takes: on a busy machine of two cores none may fail for its load.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    coverage: {
      include: ['src/**/*.ts'],
      // The contract of a store is tests itself; the index holds names alone.
      exclude: ['src/testing/**', 'src/index.ts'],
      reporter: ['text'],
      // The core alone: the rarest failures of databases and S3 need a network that breaks in the right moment.
      thresholds: {
        'src/!(api|collection|index).ts': WHOLE,
        'src/{auth,formats,http,operations,schema,store}/**/*.ts': WHOLE,
      },
    },
  },
})
