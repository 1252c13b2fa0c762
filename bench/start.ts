// Cold start: how much CPU and time it takes until one collection without items is served, and how much memory.
//   npx tsx bench/start.ts [--rounds=15] [--build=<folder>]
// A fresh process each time, the contestants in turn.
import { parseArgs } from 'node:util'
import { child, prepare } from './processes.ts'
import { median, printSetting, printSize, printTable } from './tables.ts'
import type { Contestant } from './works.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    build: { type: 'string' },
  },
})
const rounds = Number(options.rounds)
const FILES = ['node', 'ours', 'fastify', 'hono']
/** What serve.js says when it listens. */
const FIGURES = ['cpu', 'load', 'start', 'memory'] as const

prepare(options.build)
const found = new Map(FILES.map(file => [file, FIGURES.map((): number[] => [])]))
// The first round only brings the files into memory.
for (let round = 0; round <= rounds; round++) {
  for (const [file, figures] of found) {
    const { process: server, ready } = await child('serve.js', [file, 'W1', '0'])
    server.kill()
    if (round === 0) continue
    for (const [at, name] of FIGURES.entries()) figures[at]?.push(Number(ready[name]))
  }
  process.stderr.write('.')
}
process.stderr.write('\n')

const rows: string[][] = []
for (const [file, figures] of found) {
  const { name }: Contestant = await import(`./contestants/${file}.js`)
  const [, load = 0, start = 0, memory = 0] = figures.map(median)
  // What else a machine does only adds to it.
  const cpu = Math.min(...(figures[0] ?? []))
  rows.push([name, cpu.toFixed(0), load.toFixed(0), start.toFixed(0), printSize(memory)])
}
printTable(
  'From the first import to one collection served: medians',
  [
    'contestant',
    'least CPU, ms',
    'until it listens, ms',
    'with the start of Node, ms',
    'resident, MB',
  ],
  rows,
)
printSetting(`${rounds} fresh processes each, in turn`, ['fastify', 'hono', 'zod'])
