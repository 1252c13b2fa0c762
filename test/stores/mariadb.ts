// A MariaDB for the tests: the server at `MYSQL_URL`, or one of their own, on a free port and in a
// directory that is removed at the end.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CompiledQuery, Kysely, MysqlDialect } from 'kysely'
import mysql from 'mysql2'
import { afterAll, beforeAll } from 'vitest'
import { freePort } from '../free-port.ts'
import type { DatabaseServer } from './servers.ts'

/** Where Debian's package has them. */
const PROGRAMS = ['/usr/sbin/mariadbd', '/usr/bin/mariadb-install-db'] as const

/** Whether there is no server and none can be started: said once, and an error on a machine of ours. */
export const noMariadb = !process.env.MYSQL_URL && !installed()
if (noMariadb && process.env.CI === 'true') throw new Error(`There is no ${PROGRAMS[0]}`)
if (noMariadb) console.warn(`Skipped: there is no ${PROGRAMS[0]}, and no server at MYSQL_URL`)

/** Debian's package is installed where it is missing and may be. */
function installed(): boolean {
  const there = () => PROGRAMS.every(existsSync)
  if (there() || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return there()
  const install = ['install', '-y', '--no-install-recommends', 'mariadb-server']
  try {
    execFileSync('apt-get', ['update'], { stdio: 'ignore' })
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    execFileSync('apt-get', install, { stdio: 'ignore', env })
  } catch {
    return false
  }
  return there()
}

let running: DatabaseServer | undefined

/** Has a server run while the tests of a file do. */
export function useMariadb(): void {
  let end = async () => {}
  beforeAll(async () => {
    if (noMariadb) return
    const given = process.env.MYSQL_URL
    const { server, stop } = given ? foreign(given) : await own()
    end = stop
    const name = `rest_${process.pid}_${Date.now()}`
    // Not what the store needs: it must say so itself.
    await ask(server.url, `create database ${name} character set latin1`)
    const url = new URL(server.url)
    url.pathname = name
    running = { ...server, url: url.href }
    end = async () => {
      if (given) await ask(server.url, `drop database ${name}`)
      await stop()
    }
  }, 180_000)
  afterAll(() => end(), 60_000)
}

/** The server that {@link useMariadb} has started. */
export function mariadb(): DatabaseServer {
  if (!running) throw new Error('No MariaDB is running')
  return running
}

/** Another connection pool to the database; closing its store, or itself, ends it. */
export function openMariadb(
  options: mysql.PoolOptions = {},
  onStatement?: (statement: CompiledQuery) => void,
): Kysely<unknown> {
  const pool = mysql.createPool({ uri: mariadb().url, connectionLimit: 8, ...options })
  return new Kysely<unknown>({
    dialect: new MysqlDialect({ pool }),
    log: ({ query }) => onStatement?.(query),
  })
}

/** One statement, by a connection of its own. */
export async function ask(url: string, text: string, values: unknown[] = []): Promise<unknown> {
  const connection = mysql.createConnection({ uri: url })
  try {
    return await new Promise((resolve, reject) => {
      connection.query(text, values, (error, rows) => (error ? reject(error) : resolve(rows)))
    })
  } finally {
    connection.destroy()
  }
}

interface Started {
  readonly server: DatabaseServer
  stop(): Promise<void>
}

function foreign(url: string): Started {
  const never = () => Promise.reject(new Error('This server is not the tests’ own'))
  return { server: { url, own: false, crash: never, start: never }, stop: async () => {} }
}

async function own(): Promise<Started> {
  const directory = await mkdtemp(join(tmpdir(), 'rest-mariadb-'))
  const port = await freePort()
  const root = `mysql://root@127.0.0.1:${port}/mysql`
  const url = `mysql://tests:password@127.0.0.1:${port}/mysql`
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  const place = ['--no-defaults', ...user, `--datadir=${join(directory, 'data')}`]
  execFileSync(
    PROGRAMS[1],
    [...place, '--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'],
    { stdio: 'pipe' },
  )
  const flags = [
    ...place,
    `--socket=${join(directory, 'socket')}`,
    `--pid-file=${join(directory, 'pid')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-file-size=16M',
  ]
  const start = async () => {
    const log: string[] = []
    const server = spawn(PROGRAMS[0], flags, { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<void>(resolve => server.once('close', () => resolve()))
    for (const output of [server.stdout, server.stderr]) {
      output.on('data', data => log.push(String(data)))
    }
    while ((await ask(root, 'select 1').then(Boolean, () => false)) !== true) {
      if (server.exitCode !== null) throw new Error(`MariaDB does not start:\n${log.join('')}`)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    return async (signal: NodeJS.Signals) => {
      server.kill(signal)
      await ended
    }
  }
  let end = await start()
  await ask(root, "create user tests@'%' identified by 'password'")
  await ask(root, "grant all on *.* to tests@'%'")
  return {
    server: {
      url,
      own: true,
      crash: () => end('SIGKILL'),
      async start() {
        end = await start()
      },
    },
    async stop() {
      await end('SIGTERM')
      await rm(directory, { recursive: true, force: true })
    },
  }
}
