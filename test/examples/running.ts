// An example as a real process, and plain requests to it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from '../bundle.ts'
import { cleanUps } from '../clean-up.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const started = new Set<ChildProcess>()
cleanUps.add(() => {
  for (const child of started) child.kill('SIGKILL')
  started.clear()
})

export interface Running {
  readonly process: ChildProcess
  /** Everything it has printed so far. */
  output(): string
  errors(): string
  /** Waits until what it printed matches. @throws where it ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Sends a signal, if one is given, and waits for the end. @returns the exit code; the signal's name where one killed it. */
  ended(signal?: NodeJS.Signals): Promise<number | string>
}

/** Starts `examples/<name>.ts` with nothing of the test's own options in its environment. */
export function start(
  name: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Running {
  const { PORT, HOST, DATABASE, BLOBS, ...inherited } = process.env
  const file = bundle(join(ROOT, 'examples', `${name}.ts`))
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  let printed = ''
  let complained = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    complained += text
  })
  const end = once(child, 'close').then(([code, signal]): number | string => code ?? signal)
  return {
    process: child,
    output: () => printed,
    errors: () => complained,
    async until(pattern) {
      for (;;) {
        const found = pattern.exec(printed)
        if (found) return found
        const more = once(child.stdout, 'data').then(() => 'more')
        if ((await Promise.race([more, end])) !== 'more' && !pattern.test(printed)) {
          throw new Error(`${name} ended early: ${printed}${complained}`)
        }
      }
    },
    async ended(signal) {
      if (signal) child.kill(signal)
      return end
    },
  }
}

export interface Served extends Running {
  /** The address of the newest version, a slash at its end. */
  readonly root: string
}

/** Starts the example server on a free port, and waits until it serves. */
export async function serve(
  database = ':memory:',
  env: Record<string, string> = {},
): Promise<Served> {
  const running = startServer(database, env)
  const [, root = ''] = await running.until(/^Serving (\S+) [\s\S]*\/options\n/m)
  return { ...running, root }
}

/** The same without waiting; the files of photos lie beside the database. */
export function startServer(database: string, env: Record<string, string> = {}): Running {
  const blobs = database === ':memory:' ? database : blobsOf(database)
  return start('server', ['--port', '0', '--database', database, '--blobs', blobs], env)
}

/** Where the files of photos of a database lie. */
export function blobsOf(database: string): string {
  return `${database}.blobs`
}

/** Runs a piece of work in a directory of its own, removed afterwards. */
export async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'example-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The body of an answer, as what the test takes it for: what follows shows whether it is. */
export async function jsonOf<T>(response: Response): Promise<T> {
  return (await response.json()) as T
}
