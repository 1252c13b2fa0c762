// What a real application adds to a bare read and a bare create in memory: a listener of responses, hooks, a
// transaction, a token, a row policy. Each has a process; they take turns.
//   npx tsx bench/added.ts [--rounds=9] [--build=<folder>]
import { parseArgs } from 'node:util'
import { askProcess, child, prepare } from './processes.ts'
import { median, printSetting, printTable, printTime } from './tables.ts'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, build: { type: 'string' } },
})
const ADDITIONS: readonly (readonly [title: string, added: string])[] = [
  ['bare', ''],
  ['a listener of responses', 'listener'],
  ['an empty `before` hook', 'hook'],
  ['`hooks: { transaction: true }`, an empty `after` hook', 'transaction'],
  ['bearerJwt, a token that is remembered', 'token'],
  ['a row policy', 'policy'],
  ['all but the transaction', 'listener+hook+token+policy'],
  ['all', 'listener+hook+transaction+token+policy'],
]
/** How many requests a turn has: a create leaves an item. */
const TIMES: Readonly<Record<string, number>> = { read: 4000, create: 1500 }

prepare(options.build)
const processes = await Promise.all(ADDITIONS.map(([, added]) => child('added.js', [added])))
const found = processes.map((): Record<string, number[]> => ({ read: [], create: [] }))
for (let round = -1; round < Number(options.rounds); round++) {
  for (const [work, times] of Object.entries(TIMES)) {
    for (const [at, { process }] of processes.entries()) {
      const { cpu } = await askProcess<{ cpu: number }>(process, { work, times })
      // The first round compiles.
      if (round >= 0) found[at]?.[work]?.push(cpu)
    }
  }
}
for (const { process } of processes) process.kill()
const costOf = (at: number, work: string) => median(found[at]?.[work] ?? [])
printTable(
  'CPU of one request, µs: the median, what it adds, and how many times the bare one',
  ['added', 'read', '', '', 'create', '', ''],
  ADDITIONS.map(([title], at) => [
    title,
    ...Object.keys(TIMES).flatMap(work => {
      const [cost, bare] = [costOf(at, work), costOf(0, work)]
      return [printTime(cost), printTime(cost - bare), `× ${(cost / bare).toFixed(2)}`]
    }),
  ]),
)
printSetting(`${options.rounds} rounds in turns, in process, no socket`, ['zod', 'jose'])
