// Many clients at once, some of them hostile: the short form of `bench/load-hostile.ts`; and what a
// server's memory grows by (promise 25).
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { residentOf } from '../../bench/memory.ts'
import { HOSTILE } from './hostile.ts'
import { converse, print } from './wire.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

test('no good request is answered wrong beside hostile ones, and the script ends', async () => {
  const script = here('../../bench/load-hostile.ts')
  const args = ['--import', 'tsx', script, '2', '16']
  // An exit code other than 0 rejects.
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toMatch(/^good +[1-9]\d*, of which wrong: 0$/m)
  expect(stdout).toMatch(/^hostile +[1-9]\d* of \d{4} kinds$/m)
  expect(stdout).not.toContain('5xx')
})

// The size of another process is read from /proc.
const onLinux = test.skipIf(process.platform !== 'linux')

onLinux(
  'an upload of 50 MB takes no more than 64 MiB',
  async () => {
    const args = ['--import', 'tsx', here('../../bench/upload-memory.ts'), '48']
    // An exit code other than 0 rejects.
    const { stdout } = await promisify(execFile)(process.execPath, args)
    expect(stdout).toMatch(/^ok +upload of 48 MiB/)
  },
  600_000,
)

onLinux(
  '3,000 hostile requests leave no more than 150 MiB',
  async () => {
    const server = fork(here('hostile-node.ts'), { execArgv: ['--import', 'tsx', '--expose-gc'] })
    const ask = async () => {
      server.send('state')
      return (await once(server, 'message'))[0]
    }
    try {
      const [{ port }] = await once(server, 'message')
      const host = `127.0.0.1:${port}`
      const send = (request: (typeof HOSTILE)[number]) => {
        const target = request.target.replace('{id}', 'nobody')
        return converse(port, [print(host, { ...request, target })])
      }
      // What is loaded once is no growth.
      await converse(port, [print(host, { target: '/cars?limit=1' })])
      await ask()
      const before = residentOf(server.pid)
      let sent = 0
      let answered = 0
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          while (sent < 3000) {
            const request = HOSTILE[sent++ % HOSTILE.length]
            if (request && (await send(request)).answers.length > 0) answered++
          }
        }),
      )
      expect(answered).toBeGreaterThan(2900)
      const growth = residentOf(server.pid) - before
      expect(growth / 1024 / 1024).toBeLessThanOrEqual(150)
      expect(await ask()).toMatchObject({ failures: 0 })
    } finally {
      server.disconnect()
    }
  },
  600_000,
)
