// What `fields=` costs against the whole page: 25 items of 200 properties, two of them asked for.
//   npx tsx bench/fields.ts [--build=<folder of dist>]
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({ options: { build: { type: 'string' } } })
const library: typeof import('../src/index.ts') = await import(
  options.build ? `${options.build}/index.js` : '../src/index.ts'
)
const { defineApi, defineCollection, memoryStore } = library

const names = Array.from({ length: 200 }, (_, at) => `field_${at}`)
const schema = z.object(Object.fromEntries(names.map(name => [name, z.string()])))
const items = defineCollection({ name: 'items', schema, store: memoryStore() })
const api = defineApi({ collections: [items] })
for (let at = 0; at < 100; at++) {
  await api.collection(items).create(Object.fromEntries(names.map(name => [name, `text ${at}`])))
}

const REQUESTS = 400
const ROUNDS = 9

/** The CPU of one request, in µs. */
async function measure(query: string): Promise<number> {
  const before = process.cpuUsage()
  for (let at = 0; at < REQUESTS; at++) {
    await (await api.fetch(new Request(`http://api.test/items?limit=25${query}`))).text()
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / REQUESTS
}

const QUERIES = ['', '&fields=field_3', '&fields=field_3,field_150']
const least = QUERIES.map(() => Number.POSITIVE_INFINITY)
for (let round = 0; round <= ROUNDS; round++) {
  for (const [at, query] of QUERIES.entries()) {
    const found = await measure(query)
    if (round > 0) least[at] = Math.min(least[at] ?? found, found)
  }
}
const [whole = 0] = least
printTable(
  'A page of 25 items of 200 properties, in process',
  ['query', 'µs of CPU', '÷ whole'],
  QUERIES.map((query, at) => {
    const found = least[at] ?? 0
    return [query || 'whole', found.toFixed(0), (found / whole).toFixed(2)]
  }),
)
printSetting('the least of nine rounds, alternating', ['zod'])
