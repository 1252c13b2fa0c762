import { describe, expect, test } from 'vitest'
import { serve } from '../examples/running.ts'
import { postgres, usePostgres } from './postgres.ts'
import { type Ledger, twoServers } from './servers.ts'

usePostgres()

describe('two servers on one PostgreSQL', () => {
  const open = (env = {}) => serve(':memory:', { ...env, STORE: postgres().url })
  const { at, output, write, expectOnce } = twoServers(open)

  test('started together, they fill one database once, and print no password', async () => {
    const counts = await Promise.all(
      [0, 1].map(async which => (await fetch(at(which, 'cars/count'))).text()),
    )
    expect(counts).toEqual(Array(2).fill('{"count":160}'))
    expect(output().match(/with \d+ new items/g)).toHaveLength(1)
    expect(output()).not.toContain(`:${new URL(postgres().url).password}@`)
  })

  test('a rate limit that was asked for is one limit for both', async () => {
    const limit = { RATE_LIMIT: '30/600' }
    const limited = await Promise.all([open(limit), open(limit)])
    try {
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, each) => fetch(`${limited[each % 2]?.root}cars?limit=1`)),
      )
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter(status => status === 429)).toHaveLength(30)
      expect(statuses.filter(status => status === 206 || status === 200)).toHaveLength(30)
    } finally {
      for (const server of limited) await server.ended('SIGTERM')
    }
  })

  test('the database stopped at once under writers: what was acknowledged stays, nothing is there twice', async ({
    skip,
  }) => {
    const server = postgres()
    if (!server.own) skip()
    const ledger: Ledger = { kept: new Set(), statuses: new Map() }
    for (let round = 0; round < 2; round++) {
      let writing = true
      const goal = ledger.kept.size + 40
      const writers = Array.from({ length: 8 }, (_, each) =>
        write(`${round}.${each}`, ledger, () => writing),
      )
      const reached = async (condition: () => boolean) => {
        while (!condition()) await new Promise(resolve => setTimeout(resolve, 5))
      }
      await reached(() => ledger.kept.size >= goal)
      await server.crash()
      const refused = ledger.statuses.get(503) ?? 0
      await reached(() => (ledger.statuses.get(503) ?? 0) > refused)
      expect((await fetch(at(0, 'models'))).status).toBe(503)
      await server.start()
      // The same processes go on.
      const more = ledger.kept.size + 40
      await reached(() => ledger.kept.size >= more)
      writing = false
      await Promise.all(writers)
      await expectOnce(ledger)
    }
    expect([...ledger.statuses.keys()].filter(status => ![201, 409, 503].includes(status))).toEqual(
      [],
    )
  })
})
