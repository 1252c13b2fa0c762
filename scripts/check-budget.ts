// Compares the lines of code of each room of `src` with `test/budget.json`: `npx tsx scripts/check-budget.ts`. A room may
// be 3 % above its number. Whoever raises one says in the commit what users get for it; `--write` writes today's.
import { readFileSync, writeFileSync } from 'node:fs'
import { sourceFiles } from '../test/source.ts'
import { countCode } from '../test/source-shape.ts'

const BUDGET = new URL('../test/budget.json', import.meta.url)
const PLAY = 1.03

/** `operations/writes` of `operations/writes/plan.ts`; files at the top are one room. */
const roomOf = (path: string) => path.split('/').slice(0, -1).slice(0, 2).join('/') || 'src'

const today: Record<string, number> = {}
for (const file of sourceFiles()) {
  const room = roomOf(file.path)
  today[room] = (today[room] ?? 0) + countCode(file)
}

if (process.argv.includes('--write')) {
  writeFileSync(BUDGET, `${JSON.stringify(today, null, 2)}\n`)
} else {
  const budget: Record<string, number> = JSON.parse(readFileSync(BUDGET, 'utf8'))
  const over = Object.entries(today)
    .filter(([room, lines]) => lines > (budget[room] ?? 0) * PLAY)
    .map(([room, lines]) => `${room} has ${lines} lines of code; its budget is ${budget[room]}.`)
  const gone = Object.keys(budget)
    .filter(room => !(room in today))
    .map(room => `${room} is gone: remove it.`)
  for (const line of [...over, ...gone]) console.error(`test/budget.json: ${line}`)
  if (over.length > 0)
    console.error('Take something out, or raise the number and say in the commit what users get.')
  process.exitCode = over.length + gone.length > 0 ? 1 : 0
}
