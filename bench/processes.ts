// What the benches share: ours as it is published, processes that answer questions, rounds of load.
import { type ChildProcess, execFileSync, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { basename, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import type { Request } from './works.ts'

export const CONNECTIONS = 32

/** Whether servers and the load generator are kept on a core each: servers on the first. */
export const pinned = spawnSync('taskset', ['-c', '0', 'true']).status === 0 && cpus().length > 1

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * The contestants' packages, and ours as it is published.
 * @param build ours as it is in that folder, instead of built anew.
 */
export function prepare(build?: string): void {
  if (!existsSync(here('node_modules'))) {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here('.'), stdio: 'inherit' })
  }
  const folder = build ?? here('../node_modules/.bench')
  if (build === undefined) {
    const tsx = here('../node_modules/.bin/tsx')
    execFileSync(tsx, [here('../scripts/build.ts'), folder], { stdio: 'inherit' })
  }
  // Inherited by every process that is started.
  process.env.BUILD = pathToFileURL(`${resolve(folder)}/index.js`).href
}

/**
 * Ours with a file for each module, for what is counted by file.
 * @returns the folder.
 */
export function compileModules(): string {
  const folder = here('../node_modules/.bench-modules')
  const tsc = here('../node_modules/.bin/tsc')
  const config = here('../tsconfig.build.json')
  const options = ['emitDeclarationOnly', 'declaration', 'declarationMap']
  const without = options.flatMap(option => [`--${option}`, 'false'])
  execFileSync(tsc, ['-p', config, ...without, '--outDir', folder], { stdio: 'inherit' })
  return folder
}

/** Ours as {@link prepare} has built it, here or in the process that started this one. */
export async function published() {
  const { BUILD } = process.env
  if (BUILD === undefined) throw new Error('Nothing is built yet')
  // What is built has the types of its source.
  const main = (await import(BUILD)) as typeof import('../src/index.ts')
  const load = (path: string) => import(new URL(path, BUILD).href)
  // An earlier build has them in another file.
  const found = await load('sql/index.js').catch(() => load('sql/sql-store.js'))
  const sql: typeof import('../src/sql/index.ts') = found
  return { ...main, ...sql }
}

/**
 * A script as plain JavaScript, for processes whose memory counts: tsx would add 40 MiB to it.
 * @returns the path of the file.
 */
export function compile(script: string): string {
  const outfile = here(`node_modules/.${basename(script, '.ts')}.mjs`)
  const options = { bundle: true, packages: 'external', platform: 'node', format: 'esm' } as const
  buildSync({ entryPoints: [script], outfile, ...options })
  return outfile
}

export interface Child {
  readonly process: ChildProcess
  /** 0 where it serves nothing. */
  readonly port: number
  /** What it said when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>
}

/** Starts a module as a process of its own, and waits until it says that it is ready. */
export async function child(
  file: string,
  args: readonly string[],
  core?: number,
  env: NodeJS.ProcessEnv = {},
): Promise<Child> {
  const started = fork(here(file), args, {
    execArgv: ['--expose-gc', ...(file.endsWith('.ts') ? ['--import', 'tsx'] : [])],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  })
  if (pinned && core !== undefined) {
    execFileSync('taskset', ['-acp', String(core), String(started.pid)], { stdio: 'ignore' })
  }
  const died = once(started, 'exit').then(([code]) => {
    throw new Error(`${file} ${args.join(' ')} ended with ${code} before it was ready`)
  })
  const [ready] = await Promise.race([once(started, 'message'), died])
  died.catch(() => {})
  return { process: started, port: Number(ready.port ?? 0), ready }
}

/** Sends a question to a process and awaits its answer. */
export async function askProcess<T>(process: ChildProcess, question: unknown): Promise<T> {
  const answer = once(process, 'message')
  process.send(Object(question) === question ? Object(question) : String(question))
  // Each script answers a question with what its caller asked for.
  return (await answer)[0] as T
}

/** What is asked of a server in a round: requests in turn, all answered alike. */
export interface Rounds {
  readonly name: string
  /** The server's, to ask for its CPU time; without, none is told. */
  readonly process?: ChildProcess
  readonly port: number
  readonly requests: readonly Request[]
  /** Another answer in a round is an error. Default: a status from 200 to 399. */
  readonly status?: number
}

/** What the load generator tells of a round. */
interface RoundResult {
  readonly seconds: number
  readonly answers: number
  /** How many answers had another status. */
  readonly wrong: Record<string, { count: number }>
}

export interface Load {
  /** One round: answers a second, and what each cost the server in CPU time (µs). */
  round(server: Rounds, seconds: number): Promise<{ rate: number; cpu: number }>
  end(): void
}

/**
 * The load generator, on a core of its own.
 * @param awake whether it keeps that core busy, so that no server pays for waking it.
 */
export async function startLoad(awake = false): Promise<Load> {
  const { process: load } = await child('load.js', awake ? ['awake'] : [], 1)
  return {
    async round({ name, process: server, port, requests, status }, duration) {
      const usage = async () =>
        server ? (await askProcess<{ cpu: number }>(server, 'usage')).cpu : Number.NaN
      const before = await usage()
      const message = { port, requests, connections: CONNECTIONS, duration, status }
      const { seconds, answers, wrong } = await askProcess<RoundResult>(load, message)
      const after = await usage()
      if (Object.keys(wrong).length > 0 || answers === 0) {
        throw new Error(`${name}: other answers under load: ${JSON.stringify(wrong)}`)
      }
      return { rate: answers / seconds, cpu: (after - before) / answers }
    },
    end: () => load.kill(),
  }
}
