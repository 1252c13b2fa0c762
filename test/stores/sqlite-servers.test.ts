import { beforeAll, describe } from 'vitest'
import { serve } from '../examples/running.ts'
import { twoServers } from './servers.ts'
import { newFile } from './sqlite.ts'

describe('two servers on one SQLite file', () => {
  const file = newFile()
  // The example fills a new file by one process.
  beforeAll(async () => {
    const first = await serve(file)
    await first.ended('SIGTERM')
  })
  twoServers(() => serve(file))
})
