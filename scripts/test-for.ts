// Runs the test files that matter for files of `src`: `npm run test:for src/http/link.ts`. `test/map.json` has for each the
// quickest test files that together run all of its functions that any test of the project `pure` runs. `-- --record` makes it
// anew, in a minute; tests of stores and programs are not in it.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Recorded {
  readonly test: string
  readonly seconds: number
  /** The functions that ran, by file of `src`. */
  readonly ran: Readonly<Record<string, readonly string[]>>
}

const MAP = new URL('../test/map.json', import.meta.url)

/** Chooses for a file: again and again the test that adds most functions for its time, until none adds one. */
function chooseTests(file: string, recorded: readonly Recorded[]): string[] {
  const left = new Set(recorded.flatMap(({ ran }) => ran[file] ?? []))
  const chosen: string[] = []
  while (left.size > 0) {
    const worth = ({ ran, seconds }: Recorded) =>
      (ran[file] ?? []).filter(name => left.has(name)).length / (seconds + 0.5)
    const best = recorded.reduce((one, other) => (worth(other) > worth(one) ? other : one))
    chosen.push(best.test)
    for (const name of best.ran[file] ?? []) left.delete(name)
  }
  return chosen
}

function record(): void {
  const folder = mkdtempSync(join(tmpdir(), 'record-'))
  const env = { ...process.env, RECORD: folder }
  spawnSync('npx', ['vitest', 'run', '--project', 'pure'], { stdio: 'inherit', env })
  const recorded: Recorded[] = readdirSync(folder).map(name =>
    JSON.parse(readFileSync(join(folder, name), 'utf8')),
  )
  rmSync(folder, { recursive: true })
  const files = [...new Set(recorded.flatMap(({ ran }) => Object.keys(ran)))].sort()
  const map = Object.fromEntries(files.map(file => [file, chooseTests(file, recorded)]))
  writeFileSync(MAP, `${JSON.stringify(map, null, 1)}\n`)
}

const files = process.argv.slice(2).filter(word => !word.startsWith('--'))
if (process.argv.includes('--record')) record()
else {
  const map: Record<string, readonly string[]> = JSON.parse(readFileSync(MAP, 'utf8'))
  const unknown = files.filter(file => !(file in map))
  if (files.length === 0 || unknown.length > 0) {
    console.error(
      `No test is known to run ${unknown.join(', ') || 'nothing'}. Name files of src, or --record.`,
    )
    process.exit(2)
  }
  const tests = [...new Set(files.flatMap(file => map[file] ?? []))]
  console.log(tests.join('\n'))
  process.exit(spawnSync('npx', ['vitest', 'run', ...tests], { stdio: 'inherit' }).status ?? 1)
}
