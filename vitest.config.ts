import { defineConfig } from 'vitest/config'

/** All of it: lines and branches that no test runs are cases that nobody has thought of. */
const WHOLE = { lines: 100, branches: 100, functions: 100, statements: 100 }

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Far above what any test takes: on a busy machine of two cores none may fail for its load.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    coverage: {
      include: ['src/**/*.ts'],
      // The contract of a store is tests itself; the index holds names alone.
      exclude: ['src/testing/**', 'src/index.ts'],
      reporter: ['text'],
      // The core is words, rules, models and machine, as docs/architecture.md has them; databases and
      // S3 apart, whose rarest failures need a network that breaks in the right moment.
      thresholds: {
        'src/!(node|fetch|serve|collection|api|harden|sweep|testing).ts': WHOLE,
        'src/{auth,formats,operations}/*.ts': WHOLE,
        'src/stores/!(sql*|s3-*).ts': WHOLE,
      },
    },
  },
})
