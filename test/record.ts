// Records which functions of `src` each test file runs, for `npm run test:for`: with RECORD, the folder to write to.
// What other processes run is not seen.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect } from 'vitest'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const started = performance.now()

afterAll(() => {
  const ran: Record<string, string[]> = {}
  session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    for (const { url, functions } of result) {
      const path = relative('.', url.startsWith('file:') ? fileURLToPath(url) : url)
      if (!path.startsWith('src/')) continue
      ran[path] = functions
        .filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName, ranges }) => `${functionName}:${ranges[0]?.startOffset}`)
    }
  })
  const test = relative('.', expect.getState().testPath ?? '')
  const seconds = (performance.now() - started) / 1000
  writeFileSync(
    join(process.env.RECORD ?? '.', `${test.replaceAll('/', '+')}.json`),
    JSON.stringify({ test, seconds, ran }),
  )
})
