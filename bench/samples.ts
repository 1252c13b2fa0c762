// The rounds of `npm run bench`, and the tables made of them.
import { median, printRatio, printSpread, printTable } from './tables.ts'

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

/** @param reference what all others are measured against. */
export function printSamples(samples: readonly Sample[], reference: string): void {
  const names = [...new Set(samples.map(({ name }) => name))].filter(name => name !== reference)
  const works = [...new Set(samples.map(({ work }) => work))]
  const ratios = (work: string, name: string, of: (sample: Sample) => number) =>
    ratiosOf(samples, work, name, reference, of)

  printTable(
    `Answers for the same CPU time of the server, ${reference} = 1.00`,
    ['work', ...names],
    works.map(work => [
      `${work} ${samples.find(sample => sample.work === work)?.title}`,
      ...names.map(name => printRatio(ratios(work, name, ({ cpu }) => 1 / cpu))),
    ]),
  )
  printTable(
    `Each round against the same round of ${reference}: median (quartiles)`,
    [
      'work',
      'contestant',
      'by CPU time',
      'by answers a second',
      'CPU µs',
      'answers/s',
      'memory after, MB',
    ],
    works.flatMap(work =>
      [reference, ...names].flatMap(name => {
        const own = samples.filter(sample => sample.work === work && sample.name === name)
        if (own.length === 0) return []
        return [
          [
            work,
            name,
            printSpread(ratios(work, name, ({ cpu }) => 1 / cpu)),
            printSpread(ratios(work, name, ({ rate }) => rate)),
            median(own.map(({ cpu }) => cpu)).toFixed(1),
            median(own.map(({ rate }) => rate)).toFixed(0),
            ((own[0]?.memory ?? 0) / 1e6).toFixed(0),
          ],
        ]
      }),
    ),
  )
}

function ratiosOf(
  samples: readonly Sample[],
  work: string,
  name: string,
  reference: string,
  of: (sample: Sample) => number,
): number[] {
  const own = samples.filter(sample => sample.work === work)
  const base = new Map(
    own.filter(each => each.name === reference).map(each => [each.round, of(each)]),
  )
  return own
    .filter(sample => sample.name === name)
    .map(sample => of(sample) / (base.get(sample.round) ?? Number.NaN))
}
