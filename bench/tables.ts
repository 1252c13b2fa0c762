// What the benches print: Markdown tables, and what they were measured on.
import { existsSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { basename } from 'node:path'

export function printTable(
  title: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  console.log(`\n${title}\n`)
  console.log(row(columns))
  console.log(row(columns.map((_, at) => (at === 0 ? '---' : '---:'))))
  for (const cells of rows) console.log(row(cells))
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/**
 * How it was measured: the command, the machine, the versions, the date.
 * @param packages those that had a part in it.
 */
export function printSetting(how: string, packages: readonly string[]): void {
  const [script = '', ...args] = process.argv.slice(1)
  const command = ['npx tsx', `bench/${basename(script)}`, ...args].join(' ')
  const today = new Date().toISOString().slice(0, 10)
  console.log(`\n\`${command}\`: ${how}`)
  console.log(`${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, ${today}`)
  console.log(
    ['rest-conventions', ...packages].map(name => `${name} ${versionOf(name)}`).join(', '),
  )
}

/** Of a package as it is installed for the benches, or for the project; of the project itself. */
function versionOf(name: string): string {
  const file = ['node_modules', '../node_modules']
    .map(folder => new URL(`${folder}/${name}/package.json`, import.meta.url))
    .find(path => existsSync(path))
  return JSON.parse(readFileSync(file ?? new URL('../package.json', import.meta.url), 'utf8'))
    .version
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

/** The median of ratios. */
export function printRatio(ratios: readonly number[]): string {
  const ratio = median(ratios)
  if (Number.isNaN(ratio)) return '–'
  return ratio.toFixed(ratio < 0.1 ? 3 : 2)
}

/** The median of ratios, with their quartiles. */
export function printSpread(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((one, other) => one - other)
  const quartile = (part: number) => sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN
  return `${printRatio(ratios)} (${printRatio([quartile(0.25)])} to ${printRatio([quartile(0.75)])})`
}

/** A time in microseconds, to three digits. */
export function printTime(time: number): string {
  return time >= 100 ? time.toFixed(0) : time.toPrecision(3)
}

/** Bytes as MB. */
export function printSize(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
