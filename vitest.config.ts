import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Far above what any test takes: on a busy machine of two cores none may fail for its load.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
