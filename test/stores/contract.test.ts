import { describe, test } from 'vitest'
import { memoryStore } from '../../src/memory/memory-store.ts'
import { prepareSqlite, sqlStore } from '../../src/sql/index.ts'
import { finds, growTrees } from '../../src/testing/filtering.ts'
import { storeCases } from '../../src/testing/index.ts'
import { fill, shapeWith } from '../../src/testing/sample.ts'
import { newFile, openDatabase } from './sqlite.ts'
import { testCases } from './test-cases.ts'

const STORES = {
  memory: () => memoryStore(),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true, changes: true }),
  'SQLite in memory': async () => sqlStore({ db: await openDatabase(':memory:'), create: true }),
  'SQLite with a reader': async () => {
    const file = newFile()
    const db = await openDatabase(file)
    await prepareSqlite(db, { reader: await openDatabase(file) })
    return sqlStore({ db, create: true })
  },
  'SQLite that walks': async () => sqlStore({ db: await openDatabase(), create: true, maxScan: 2 }),
}

const GAPS: Readonly<Record<string, readonly string[]>> = {
  memory: ['The store has no relate'],
  SQLite: [],
}

describe.each(Object.entries(STORES))('%s', (name, make) => {
  testCases(storeCases(make), GAPS[name] ?? ['The store has no changes'])
})

test.each(['memory', 'SQLite in memory'] as const)(
  '%s finds what 2,000 trees let through',
  async name => {
    const store = await STORES[name]()
    store.attach(shapeWith('uuid'))
    await fill(store)
    for (const [where, expected] of growTrees(2000)) await finds(store, { where }, expected)
    await store.close()
  },
)
