// A Redis for the tests: a server of their own, on a free port, that keeps nothing on disk.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { freePort } from '../free-port.ts'

/** Whether there is a `redis-server` to start. */
export async function hasRedis(): Promise<boolean> {
  const child = spawn('redis-server', ['--version'], { stdio: 'ignore' })
  return new Promise(resolve => {
    child.once('error', () => resolve(false)).once('exit', code => resolve(code === 0))
  })
}

export interface RedisServer {
  readonly port: number
  /** @returns when it takes connections. */
  start(): Promise<void>
  /** Ends it at once: its connections are cut, what it counted is gone. */
  stop(): Promise<void>
  /** Holds it: its connections stay, and nobody answers on them. */
  freeze(): void
  thaw(): void
}

export async function redisServer(): Promise<RedisServer> {
  const port = await freePort()
  let child: ChildProcess | undefined
  return {
    port,
    async start() {
      const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: tmpdir() }
      const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
      child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
      await ready(child)
    },
    async stop() {
      if (!child) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      child = undefined
    },
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
  }
}

async function ready(child: ChildProcess): Promise<void> {
  let log = ''
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`Redis does not start:\n${log}`)))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('Ready to accept connections')) resolve()
    })
  })
}
