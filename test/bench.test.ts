// The work that `bench/instructions.ts` counts: its requests have no socket.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { test } from 'vitest'

test.each(['W1', 'W2', 'W2b', 'W3', 'W4'])('%s is answered without a socket', async work => {
  const BUILD = new URL('../src/index.ts', import.meta.url).href
  // Ends with an error where an answer has another status than it must.
  await promisify(execFile)(process.execPath, ['--import', 'tsx', 'bench/repeat.js', work, '3'], {
    env: { ...process.env, BUILD },
  })
})
