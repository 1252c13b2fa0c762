// What the bank needs beside its processes: PostgreSQL with a synchronous standby, HAProxy before it, and S3.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { appendFile, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../../test/free-port.ts'
import { ask } from '../../../test/stores/postgres-server.ts'

const run = promisify(execFile)

/** Says a line to the runtime API of HAProxy. */
export async function tell(socket: string, line: string): Promise<string> {
  const connection = connect(socket)
  connection.end(`${line}\n`)
  let reply = ''
  for await (const part of connection.setEncoding('utf8')) reply += part
  return reply
}

export async function startHaproxy(program: string, file: string, config: string) {
  const socket = `${file}.sock`
  await writeFile(file, `global\n  stats socket ${socket} level admin\n${config}\n`)
  const child = spawn(program, ['-f', file], { stdio: 'ignore' })
  return { tell: (line: string) => tell(socket, line), stop: () => void child.kill() }
}

/** A folder on a small file system of its own, or undefined if this user may mount none. */
export async function mountSmall(folder: string, megabytes: number): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  return run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=777`, 'tmpfs', folder]).then(
    () => true,
    () => false,
  )
}

export const unmount = (folder: string) => void spawnSync('umount', ['-l', folder])

/** Fills a file system to the last byte. @returns what empties it again. */
export async function fillUp(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'fill')
  await run('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k']).catch(() => undefined)
  return () => rm(file, { force: true })
}

export interface Cluster {
  /** Of the primary, by HAProxy. */
  readonly url: string
  /** The file system of the data of the first primary, without its WAL, if it is a small one of its own. */
  readonly small: string | undefined
  crash(): Promise<void>
  start(): Promise<void>
  /** Ends the primary at once, promotes its standby, and makes a new standby. @returns when writes work again. */
  promote(): Promise<void>
  /** Cuts all connections. */
  cut(): Promise<void>
  /** Sends a signal to each process of the primary or of the standby. */
  signal(which: 'primary' | 'standby', signal: 'STOP' | 'CONT'): Promise<void>
  stop(): void
}

/** @param programs the folder of `initdb`, `pg_ctl` and `pg_basebackup`. */
export async function startCluster(
  folder: string,
  programs: string,
  haproxy: string,
): Promise<Cluster> {
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o777)
  const small = join(folder, 'small')
  const isSmall = await mountSmall(small, 500)
  await chmod(small, 0o777)
  const isRoot = process.getuid?.() === 0
  const execute = (program: string, ...words: string[]) =>
    isRoot
      ? run('setpriv', ['--reuid=nobody', '--clear-groups', join(programs, program), ...words], {
          cwd: '/tmp',
        })
      : run(join(programs, program), words)
  let made = 0
  const place = async () => {
    const name = `node${made++}`
    const disk = name === 'node0' ? small : folder
    return { port: await freePort(), data: join(disk, name), wal: join(folder, `${name}-wal`) }
  }
  type Node = Awaited<ReturnType<typeof place>>
  const urlOf = ({ port }: { port: number }) => `postgres://postgres@127.0.0.1:${port}/postgres`
  const control = (node: Node, ...words: string[]) => {
    const settings = `-p ${node.port} -c unix_socket_directories= -c max_connections=100`
    return execute('pg_ctl', '-D', node.data, '-l', `${node.wal}.log`, '-o', settings, ...words)
  }

  let primary = await place()
  await execute(
    'initdb',
    ...['-D', primary.data, '--waldir', primary.wal, '--username=postgres', '--auth=trust'],
    ...['--encoding=UTF8', '--locale=C', '--no-sync'],
  )
  // What is committed survives the server, though not the machine: fsync is off.
  const settings = ['fsync = off', 'wal_keep_size = 1GB', "listen_addresses = '127.0.0.1'"]
  await appendAs(primary, settings)
  await control(primary, 'start', '-w')
  let standby = await addStandby(primary)

  async function appendAs({ data: folder }: Node, lines: readonly string[]): Promise<void> {
    await appendFile(join(folder, 'postgresql.auto.conf'), `${lines.join('\n')}\n`)
  }

  /** Makes a standby that each commit waits for. */
  async function addStandby(source: Node): Promise<Node> {
    const node = await place()
    const from = `host=127.0.0.1 port=${source.port} user=postgres application_name=standby`
    await execute(
      'pg_basebackup',
      ...['-d', from, '-D', node.data, '--waldir', node.wal, '-R', '-c', 'fast', '--no-sync'],
    )
    await control(node, 'start', '-w')
    await ask(urlOf(source), "alter system set synchronous_standby_names = 'standby'")
    await ask(urlOf(source), 'select pg_reload_conf()')
    const isSync = "select 1 from pg_stat_replication where sync_state = 'sync'"
    while ((await ask(urlOf(source), isSync)).length === 0) await pause(100)
    return node
  }

  const front = await freePort()
  const proxy = await startHaproxy(
    haproxy,
    join(folder, 'database.cfg'),
    `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen database
  bind 127.0.0.1:${front}
  server primary 127.0.0.1:${primary.port}`,
  )
  const cut = async () => {
    await proxy.tell('shutdown sessions server database/primary')
  }
  const stopAtOnce = (node: Node) => control(node, 'stop', '-m', 'immediate', '-w')
  return {
    url: urlOf({ port: front }),
    small: isSmall ? small : undefined,
    crash: async () => void (await stopAtOnce(primary)),
    start: async () => void (await control(primary, 'start', '-w')),
    async promote() {
      const old = primary
      await stopAtOnce(old)
      // Without this the new primary waits for a standby of its own.
      await appendAs(standby, ["synchronous_standby_names = ''"])
      await control(standby, 'promote', '-w')
      await ask(urlOf(standby), 'select pg_reload_conf()')
      primary = standby
      await proxy.tell(`set server database/primary addr 127.0.0.1 port ${primary.port}`)
      await cut()
      await rm(old.data, { recursive: true, force: true })
      await rm(old.wal, { recursive: true, force: true })
      standby = await addStandby(primary)
      const [found] = await ask(urlOf({ port: front }), 'select * from pg_control_checkpoint()')
      if (found?.timeline_id !== made - 1) throw new Error(`Not promoted: ${found?.timeline_id}`)
    },
    cut,
    async signal(which, signal) {
      const node = which === 'primary' ? primary : standby
      const [main = ''] = (await readFile(join(node.data, 'postmaster.pid'), 'utf8')).split('\n')
      const children = await run('pgrep', ['-P', main]).catch(() => ({ stdout: '' }))
      const pids = [main, ...children.stdout.trim().split('\n')].filter(Boolean)
      await run('kill', [`-${signal}`, ...pids]).catch(() => undefined)
    },
    stop() {
      for (const { data } of [standby, primary]) {
        const [main] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
        process.kill(Number(main), 'SIGQUIT')
      }
      proxy.stop()
      if (isSmall) unmount(small)
    },
  }
}

export const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** S3 as a process of its own, that can be killed. */
export async function startS3(root: string, folder: string) {
  const port = await freePort()
  const script = `import S3rver from 's3rver'
await new S3rver({ port: ${port}, silent: true, directory: ${JSON.stringify(folder)},
  configureBuckets: [{ name: 'photos' }] }).run()
console.log('ready')`
  let child: ChildProcess | undefined
  const start = async () => {
    const words = ['--no-deprecation', '--input-type=module', '-e', script]
    const started = spawn(process.execPath, words, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child = started
    await once(started.stdout, 'data')
  }
  await start()
  return { port, start, kill: () => void child?.kill('SIGKILL') }
}
