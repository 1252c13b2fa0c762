// The random tests with seeds of their own and more cases: `npm run explore [-- rounds]`, each round ten times as many.
// A counter-example that it finds becomes a row of a table of tests.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

const rounds = Number(process.argv[2] ?? 3)
const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map(path => `test/${path}`)
  .filter(path => /fast-check|random\.ts'/.test(readFileSync(path, 'utf8')))

for (let round = 1; round <= rounds; round++) {
  const seed = String(randomInt(2 ** 31))
  console.log(`Round ${round} of ${rounds}: SEED=${seed} RUNS=10`)
  const { status } = spawnSync('npx', ['vitest', 'run', '--testTimeout=600000', ...files], {
    stdio: 'inherit',
    env: { ...process.env, SEED: seed, RUNS: '10' },
  })
  if (status !== 0) {
    console.error(`Failed: SEED=${seed} RUNS=10 npx vitest run ${files.join(' ')}`)
    process.exit(1)
  }
}
