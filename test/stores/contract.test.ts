import { describe, test } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqlStore } from '../../src/stores/sql.ts'
import { storeCases } from '../../src/testing.ts'
import { openDatabase } from './sqlite.ts'

const STORES = {
  memory: () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true }),
}

describe.each(Object.entries(STORES))('%s', (_name, make) => {
  for (const { name, run } of storeCases(make)) test(name, run)
})
