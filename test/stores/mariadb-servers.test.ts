import { describe } from 'vitest'
import { mariadb, noMariadb, useMariadb } from './mariadb.ts'
import { twoServers } from './servers.ts'

useMariadb()

describe.skipIf(noMariadb)('two servers on one MariaDB', () => twoServers(mariadb))
