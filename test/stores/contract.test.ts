import { describe, test } from 'vitest'
import { sqlStore } from '../../src/sql/sql-store.ts'
import { memoryStore } from '../../src/store/memory-store.ts'
import { storeCases } from '../../src/testing/store-cases.ts'
import { openDatabase } from './sqlite.ts'

const STORES = {
  memory: () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true }),
}

describe.each(Object.entries(STORES))('%s', (_name, make) => {
  for (const { name, run } of storeCases(make)) test(name, run)
})
