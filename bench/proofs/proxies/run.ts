// Three processes behind nginx, HAProxy and Caddy, each with its block of docs/deploying.md, restarted one after another
// under load: `npx tsx bench/proofs/proxies/run.ts [--proxies=nginx,haproxy,caddy] [--clients=12] [--rounds=1]`.
// No request fails, whatever its method. Live lists pass event by event, and request ids are those of the proxy.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bundle } from '../../../test/bundle.ts'
import { cleanUps } from '../../../test/clean-up.ts'
import { freePort } from '../../../test/free-port.ts'
import { Board } from '../../../test/live/events.ts'
import { blocksOf } from '../../../test/markdown.ts'
import { PROXIES } from '../../../test/proxy-blocks.ts'
import { printTable } from '../../tables.ts'

const { values: options } = parseArgs({
  options: {
    proxies: { type: 'string', default: 'nginx,haproxy,caddy' },
    clients: { type: 'string', default: '12' },
    rounds: { type: 'string', default: '1' },
  },
})
const root = join(import.meta.dirname, '../../..')
const blocks = blocksOf(readFileSync(join(root, 'docs/deploying.md'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'proxies-'))
const program = bundle(join(import.meta.dirname, 'server.ts'))
const started = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of started) child.kill()
  for (const each of cleanUps) each()
  rmSync(folder, { recursive: true, force: true })
})

function start(command: string, words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  const child = spawn(command, words, { env: { ...process.env, ...env }, stdio: [...stdio] })
  started.add(child)
  child.once('exit', () => started.delete(child))
  return child
}

const isReady = (port: number) =>
  fetch(`http://127.0.0.1:${port}/api/health?ready`).then(
    ({ ok }) => ok,
    () => false,
  )

async function serve(port: number): Promise<ChildProcess> {
  const child = start(process.execPath, [program], { PORT: String(port) })
  while (!(await isReady(port))) await pause(50)
  return child
}

/** Names each process in the block, as the page says, and the line of docs/operating.md that sets request ids. */
const WRITE: Readonly<Record<string, (block: string, ports: readonly number[]) => string>> = {
  nginx: (block, ports) =>
    repeatLine(block, /^ *server 127.*$/m, ports).replace(
      'proxy_http_version',
      `${idLine('proxy_set_header')}\n    $&`,
    ),
  haproxy: (block, ports) =>
    repeatLine(block, /^ *server one .*$/m, ports).replace(
      'http-request set-header',
      `${idLine('http-request')}\n  $&`,
    ),
  caddy: (block, ports) =>
    block
      .replace('127.0.0.1:3000', ports.map(port => `127.0.0.1:${port}`).join(' '))
      .replace('health_uri', `${idLine('header_up')}\n    $&`),
}

function repeatLine(block: string, pattern: RegExp, ports: readonly number[]): string {
  const lines = (line: string) =>
    ports.map((port, at) => line.replace('3000', String(port)).replace(' one ', ` s${at} `))
  return block.replace(pattern, line => lines(line).join('\n'))
}

function idLine(begin: string): string {
  const page = readFileSync(join(root, 'docs/operating.md'), 'utf8')
  const [, line] = new RegExp(`\`(${begin} [^\`]*X-Request-Id[^\`]*)\``).exec(page) ?? []
  if (line === undefined) throw new Error(`docs/operating.md has no ${begin} for X-Request-Id`)
  return line
}

async function tryProxy(name: string): Promise<readonly string[]> {
  const proxy = PROXIES[name]
  if (!proxy) throw new Error(`There is no proxy ${name}`)
  const ports = await Promise.all([0, 1, 2].map(freePort))
  const processes = await Promise.all(ports.map(serve))
  const front = await freePort()
  const block = blocks.find(({ language }) => language === proxy.language)?.text ?? ''
  const text = (WRITE[name]?.(block, ports) ?? block).replace(
    /(?<=listen |\*:|^:)80\b/m,
    String(front),
  )
  const file = join(folder, `${name}.conf`)
  writeFileSync(file, `${proxy.config(text, folder)}\n`)
  execFileSync(name, proxy.check(file, folder), { stdio: 'pipe' })
  const running = start(name, proxy.run(file, folder))
  while (!(await isReady(front))) await pause(50)

  const cars = `http://127.0.0.1:${front}/api/cars`
  let [isOver, requests] = [false, 0]
  const failures = new Map<string, number>()
  const ids = new Set<string>()
  let foreignIds = 0
  async function ask(method: string, keyed: boolean): Promise<void> {
    const body = method === 'POST' ? JSON.stringify({ color: 'red' }) : null
    const key = keyed ? { 'idempotency-key': crypto.randomUUID() } : undefined
    const headers = { 'content-type': 'application/json', 'x-request-id': 'mine', ...key }
    requests++
    const response = await fetch(cars, { method, headers, body }).catch(String)
    const failure = typeof response === 'string' ? response : response.ok ? '' : response.status
    if (failure) {
      const kind = `${method}${keyed ? ' with a key' : ''}: ${failure}`
      failures.set(kind, (failures.get(kind) ?? 0) + 1)
    }
    if (typeof response === 'string') return
    await response.arrayBuffer()
    const id = response.headers.get('x-request-id') ?? ''
    if (response.ok && (id === 'mine' || !/^[\w.:-]{1,128}$/.test(id) || ids.has(id))) foreignIds++
    ids.add(id)
  }
  const clients = Array.from({ length: Number(options.clients) }, async () => {
    while (!isOver) {
      await ask('GET', false)
      await ask('POST', false)
      await ask('POST', true)
      await pause(20 * Math.random())
    }
  })
  /** Events that arrive within 200 ms, on a stream that is opened anew if it ends. */
  let [events, streams] = [0, 0]
  const watching = (async () => {
    while (!isOver) {
      const board = new Board()
      await board.connect((headers, signal) => fetch(`${cars}?color=blue`, { headers, signal }))
      streams++
      let ended = false
      void board.ended?.then(() => {
        ended = true
      })
      let seen = 0
      while (!isOver && !ended) {
        await fetch(cars, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"color":"blue"}',
        })
        // Each process has its own cars: one in three is of the process that the stream follows.
        await pause(200)
        if (board.items.size > seen && board.isReady) events++
        seen = board.items.size
      }
      await board.disconnect()
    }
  })()

  await pause(2000)
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [at, port] of ports.entries()) {
      const ended = once(processes[at] ?? running, 'exit')
      processes[at]?.kill('SIGTERM')
      await ended
      processes[at] = await serve(port)
      // The proxy notices it before the next one ends.
      await pause(4000)
    }
  }
  isOver = true
  await Promise.all([...clients, watching])
  for (const child of processes) child.kill('SIGKILL')
  const stopped = once(running, 'exit')
  running.kill()
  await stopped
  const failed = [...failures].map(([kind, count]) => `${count} × ${kind}`).join(', ')
  if (failed || foreignIds > 0 || events === 0) process.exitCode = 1
  return [name, requests, failed || '0', foreignIds, `${streams}, ${events}`].map(String)
}

const rows: (readonly string[])[] = []
for (const name of options.proxies.split(',')) rows.push(await tryProxy(name))
printTable(
  'Each of three processes restarted once a round, under load',
  ['proxy', 'requests', 'failed', 'ids that are not its own', 'streams, events within 200 ms'],
  rows,
)
process.exit()
