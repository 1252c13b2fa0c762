// slowhttptest in its four modes against the example server, and how good requests fare meanwhile: the
// slowest of those sent one after another, and the most memory. Fails where one is not answered, or takes
// longer than a second.
//   npx tsx bench/slow.ts [--seconds=30] [--connections=300]
// Needs slowhttptest (a Debian package).
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort } from '../test/free-port.ts'
import { inDirectory, residentOf } from './memory.ts'
import { printSetting, printTable } from './tables.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    connections: { type: 'string', default: '300' },
  },
})

/** The longest that a good request may take, in milliseconds. */
const GOAL = 1000

const MODES: readonly (readonly [name: string, path: string, args: readonly string[]])[] = [
  ['slow headers', '/v1/cars', ['-H', '-i', '1']],
  ['slow bodies', '/v1/cars', ['-B', '-i', '1', '-s', '8192', '-f', 'application/json']],
  ['ranges', '/v1/cars', ['-R', '-a', '1', '-b', '3000']],
  [
    'slow reading',
    '/v1/cars.csv',
    ['-X', '-k', '3', '-w', '512', '-y', '1024', '-z', '32', '-n', '1'],
  ],
]

if (spawnSync('slowhttptest', ['-h']).error) {
  console.error('This bench needs slowhttptest: apt-get install slowhttptest')
  process.exit(1)
}

await inDirectory(async directory => {
  const port = await freePort()
  const file = fileURLToPath(new URL('../examples/server.ts', import.meta.url))
  const paths = ['--database', `${directory}/cars.db`, '--blobs', `${directory}/blobs`]
  const server = spawn(
    process.execPath,
    ['--import', 'tsx', file, '--port', String(port), ...paths],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  server.stdout.resume()
  for (let tries = 0; !(await ask(port).catch(() => false)); tries++) {
    if (tries > 1000) throw new Error('The example does not start')
    await wait(100)
  }
  const rows: string[][] = []
  for (const [name, path, args] of MODES) {
    rows.push([name, ...(await suffer(server.pid, port, path, args))])
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  server.kill()
  await once(server, 'exit')
  printTable(
    'A good request meanwhile',
    ['mode', 'slowest ms', 'requests', 'failed', 'peak RSS MiB', 'its connections at the end'],
    rows,
  )
  printSetting(`${options.connections} connections for ${options.seconds} s`, ['kysely', 'libsql'])
})

async function suffer(
  pid: number | undefined,
  port: number,
  path: string,
  args: readonly string[],
): Promise<string[]> {
  const { connections, seconds } = options
  const attack = spawn('slowhttptest', [
    ...args,
    ...['-c', connections, '-r', connections, '-l', seconds],
    ...['-u', `http://127.0.0.1:${port}${path}`, '-p', '3'],
  ])
  let output = ''
  attack.stdout.on('data', text => {
    output += text
  })
  let ended = false
  const end = once(attack, 'exit').then(() => {
    ended = true
  })
  let [slowest, requests, failed, memory] = [0, 0, 0, 0]
  while (!ended) {
    const started = performance.now()
    if (!(await ask(port).catch(() => false))) failed++
    slowest = Math.max(slowest, performance.now() - started)
    memory = Math.max(memory, residentOf(pid))
    requests++
    await wait(10)
  }
  await end
  if (failed > 0 || slowest > GOAL) process.exitCode = 1
  const last = (what: string) =>
    // Between its words there are codes of colours.
    [...output.replace(/\u001b\[[0-9;]*m/g, '').matchAll(new RegExp(`${what}:\\s+(\\d+)`, 'g'))].at(
      -1,
    )?.[1] ?? '?'
  const state = `${last('connected')} open, ${last('closed')} closed, ${last('error')} failed`
  return [
    slowest.toFixed(0),
    String(requests),
    String(failed),
    (memory / 2 ** 20).toFixed(0),
    state,
  ]
}

/** Whether a good request is answered. */
function ask(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const path = '/v1/cars?limit=5'
    get({ port, host: '127.0.0.1', path, agent: false, timeout: 5000 }, response => {
      response.resume().once('end', () => resolve(response.statusCode === 200))
    })
      .once('error', reject)
      .once('timeout', () => reject(new Error('No answer in 5 s')))
  })
}
