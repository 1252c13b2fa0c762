import { describe } from 'vitest'
import { postgres, usePostgres } from './postgres.ts'
import { twoServers } from './servers.ts'

usePostgres()

describe('two servers on one PostgreSQL', () => twoServers(postgres))
