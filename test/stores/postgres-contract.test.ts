import { describe } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import { storeCases } from '../../src/testing/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { testCases } from './test-cases.ts'

usePostgres()

let tables = 0
const make = () =>
  sqlStore({ db: openPostgres(), table: `cases_${++tables}`, create: true, changes: true })

describe('PostgreSQL', () => {
  testCases(storeCases(make))
})
