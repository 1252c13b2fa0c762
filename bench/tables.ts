// The tables that the bench prints.
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** One round of one contestant. */
export interface Sample {
  readonly work: string
  readonly title: string
  readonly round: number
  readonly name: string
  /** Answers a second. */
  readonly rate: number
  /** CPU time of the server for one answer, in microseconds. */
  readonly cpu: number
  /** Resident memory after all rounds and a collection, in bytes. */
  memory?: number
}

const HAND = 'node:http by hand'

export function printTables(
  samples: readonly Sample[],
  setting: { rounds: number; seconds: number; connections: number; pinned: boolean },
): void {
  const names = [...new Set(samples.map(({ name }) => name))].filter(name => name !== HAND)
  const works = [...new Set(samples.map(({ work }) => work))]
  console.log('\nAnswers for the same CPU time of the server, node:http by hand = 1.00\n')
  console.log(row(['work', ...names]))
  console.log(row(['---', ...names.map(() => '---:')]))
  for (const work of works) {
    const ratios = names.map(name => ratiosOf(samples, work, name, one => 1 / one.cpu))
    const title = samples.find(sample => sample.work === work)?.title
    console.log(row([`${work} ${title}`, ...ratios.map(printRatio)]))
  }
  console.log('\nEach round against the same round of node:http by hand: median (least to most)\n')
  const columns = ['work', 'contestant', 'by CPU time', 'by answers a second']
  console.log(row([...columns, 'CPU µs', 'answers/s', 'memory after, MB']))
  console.log(row(['---', '---', '---:', '---:', '---:', '---:', '---:']))
  for (const work of works) {
    for (const name of [HAND, ...names]) {
      const own = samples.filter(sample => sample.work === work && sample.name === name)
      if (own.length === 0) continue
      console.log(
        row([
          work,
          name,
          printSpread(ratiosOf(samples, work, name, one => 1 / one.cpu)),
          printSpread(ratiosOf(samples, work, name, one => one.rate)),
          median(own.map(({ cpu }) => cpu)).toFixed(1),
          String(Math.round(median(own.map(({ rate }) => rate)))),
          ((own[0]?.memory ?? 0) / 1e6).toFixed(0),
        ]),
      )
    }
  }
  const { rounds, seconds, connections, pinned } = setting
  const { dependencies } = JSON.parse(
    readFileSync(new URL('package.json', import.meta.url), 'utf8'),
  )
  console.log(`\n${rounds} rounds of ${seconds} s, ${connections} connections, no pipelining,`)
  console.log(
    `server and load generator ${pinned ? 'pinned to a core each' : 'not pinned to cores'}`,
  )
  console.log(`${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, ${today()}`)
  console.log(
    Object.entries(dependencies)
      .map(entry => entry.join(' '))
      .join(', '),
  )
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function ratiosOf(
  samples: readonly Sample[],
  work: string,
  name: string,
  of: (sample: Sample) => number,
): number[] {
  const own = samples.filter(sample => sample.work === work)
  const hand = new Map(own.filter(each => each.name === HAND).map(each => [each.round, of(each)]))
  return own
    .filter(sample => sample.name === name)
    .map(sample => of(sample) / (hand.get(sample.round) ?? Number.NaN))
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

function printRatio(ratios: readonly number[]): string {
  const ratio = median(ratios)
  if (Number.isNaN(ratio)) return '–'
  return ratio.toFixed(ratio < 0.1 ? 3 : 2)
}

function printSpread(ratios: readonly number[]): string {
  return `${printRatio(ratios)} (${printRatio([Math.min(...ratios)])} to ${printRatio([Math.max(...ratios)])})`
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
