import { describe, test } from 'vitest'
import { sqlStore } from '../../src/stores/sql.ts'
import { storeCases } from '../../src/testing.ts'
import { noMariadb, openMariadb, useMariadb } from './mariadb.ts'

useMariadb()

let tables = 0
const make = () => sqlStore({ db: openMariadb(), table: `cases_${++tables}`, create: true })

describe.skipIf(noMariadb)('MariaDB', () => {
  for (const { name, run } of storeCases(make)) test(name, run)
})
