import { describe, test } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import { storeCases } from '../../src/testing/index.ts'
import { openPostgres, usePostgres } from './postgres.ts'

usePostgres()

let tables = 0
const make = () => sqlStore({ db: openPostgres(), table: `cases_${++tables}`, create: true })

describe('PostgreSQL', () => {
  for (const { name, run } of storeCases(make)) test(name, run)
})
