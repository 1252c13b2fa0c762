// What happens to the servers of run.ts, one harm after another.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { RedisServer } from '../../../test/guards/redis.ts'
import { type Cluster, fillUp, pause, type startHaproxy, type startS3 } from './services.ts'

/** The processes of the api. */
export class Processes {
  readonly ports: readonly number[]
  readonly #start: (port: number, env: NodeJS.ProcessEnv) => ChildProcess
  readonly #children: (ChildProcess | undefined)[] = []

  constructor(
    ports: readonly number[],
    start: (port: number, env: NodeJS.ProcessEnv) => ChildProcess,
  ) {
    this.ports = ports
    this.#start = start
  }

  /** @returns when it serves. */
  async run(at: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
    const port = this.ports[at] ?? 0
    this.#children[at] = this.#start(port, env)
    while (!(await isReady(port))) await pause(100)
  }

  signal(at: number, signal: NodeJS.Signals): void {
    this.#children[at]?.kill(signal)
  }

  async restart(at: number, env?: NodeJS.ProcessEnv): Promise<void> {
    const child = this.#children[at]
    if (child) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    await this.run(at, env)
  }

  kill(): void {
    for (const child of this.#children) child?.kill('SIGKILL')
  }
}

export const isReady = (port: number) =>
  fetch(`http://127.0.0.1:${port}/api/health?ready`, { signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  )

export interface Victims {
  readonly processes: Processes
  readonly database: Cluster
  readonly redis: RedisServer
  readonly s3: Awaited<ReturnType<typeof startS3>>
  readonly web: Awaited<ReturnType<typeof startHaproxy>>
  /** The folder of the contents, if it is a small file system of its own. */
  readonly scans: string | undefined
}

/** Does harm until a time is over, or once if that lasts longer. */
type Harm = (victims: Victims, goesOn: () => boolean) => Promise<void>

async function fill(folder: string | undefined): Promise<void> {
  if (folder === undefined) throw new Error('Only root can mount a small disk')
  const empty = await fillUp(folder)
  await pause(3000)
  await empty()
}

async function hold(cluster: Cluster, which: 'primary' | 'standby'): Promise<void> {
  await cluster.signal(which, 'STOP')
  await pause(3000)
  await cluster.signal(which, 'CONT')
}

/** In their order: PostgreSQL is on a small disk until its standby is promoted. */
export const HARMS: Readonly<Record<string, Harm>> = {
  nothing: async (_, goesOn) => {
    while (goesOn()) await pause(100)
  },
  'kill -9 each 5 s': async ({ processes }, goesOn) => {
    for (let at = 0; goesOn(); at = (at + 1) % processes.ports.length) {
      processes.signal(at, 'SIGKILL')
      const rest = pause(5000)
      await processes.run(at)
      await rest
    }
  },
  'rolling restart': async ({ processes }) => {
    for (const at of processes.ports.keys()) await processes.restart(at)
  },
  'SIGSTOP of a server, 4 s': async ({ processes }, goesOn) => {
    for (let at = 0; goesOn(); at = (at + 1) % processes.ports.length) {
      processes.signal(at, 'SIGSTOP')
      await pause(4000)
      processes.signal(at, 'SIGCONT')
      await pause(3000)
    }
  },
  'SIGSTOP of the primary, the standby, 3 s': async ({ database }) => {
    await hold(database, 'primary')
    await pause(5000)
    await hold(database, 'standby')
  },
  'connections to the servers cut': async ({ processes, web }, goesOn) => {
    for (let at = 0; goesOn(); at = (at + 1) % processes.ports.length) {
      await web.tell(`shutdown sessions server api/s${at}`)
      await pause(1000)
    }
  },
  'connections to PostgreSQL cut': async ({ database }, goesOn) => {
    while (goesOn()) {
      await database.cut()
      await pause(3000)
    }
  },
  'PostgreSQL stopped at once, started': async ({ database }) => {
    await database.crash()
    await database.start()
  },
  'disk of PostgreSQL full, 3 s': ({ database }) => fill(database.small),
  'disk of contents full, 3 s': ({ scans }) => fill(scans),
  'Redis killed, 3 s': async ({ redis }) => {
    await redis.stop()
    await pause(3000)
    await redis.start()
  },
  'S3 killed, 3 s': async ({ s3 }) => {
    s3.kill()
    await pause(3000)
    await s3.start()
  },
  'standby promoted': ({ database }) => database.promote(),
  'clocks of two servers 2 h ahead, behind': async ({ processes }, goesOn) => {
    for (const [at, offset] of ['+2h', '-2h'].entries())
      await processes.restart(at, {
        LD_PRELOAD: FAKETIME,
        FAKETIME: offset,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      })
    while (goesOn()) await pause(100)
    for (const at of [0, 1]) await processes.restart(at)
  },
}

const FAKETIME =
  process.env.FAKETIME_LIBRARY ?? '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

export function spawnServer(bundle: string, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [bundle], {
    env: { ...process.env, NODE_NO_WARNINGS: '1', ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}
