// PgBouncer in front of a PostgreSQL: a pooler in transaction mode, where each transaction of a client may get
// another process of the server.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { createIdentity } from '../tls.ts'

/** Whether there is a `pgbouncer` to start. */
export function hasPgBouncer(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export interface PgBouncer {
  /** The address of the same database through it. */
  readonly url: string
  stop(): Promise<void>
}

export interface PgBouncerOptions {
  /** How many processes of the server all clients share. Default 4. */
  readonly size?: number
  /** Whether clients must use TLS, by a certificate that nobody has signed. */
  readonly tls?: boolean
}

/** @param database the address of a database, without the pooler. */
export async function startPgBouncer(
  database: string,
  { size = 4, tls = false }: PgBouncerOptions = {},
): Promise<PgBouncer> {
  const { hostname, port: target, username, password, pathname } = new URL(database)
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  await chmod(folder, 0o755)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  if (tls) {
    const identity = createIdentity()
    await Promise.all([writeFile(key, identity.key), writeFile(cert, identity.cert)])
  }
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${target || 5432} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 1000
${tls ? `client_tls_sslmode = require\nclient_tls_key_file = ${key}\nclient_tls_cert_file = ${cert}` : ''}
`,
  )
  // It refuses to run as root.
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const child = spawn('pgbouncer', ['-q', file], { stdio: 'ignore', ...nobody })
  await listening(port)
  return {
    url: `postgres://${username}:${password}@localhost:${port}${pathname}`,
    async stop() {
      const ended = once(child, 'exit')
      if (child.exitCode === null && child.kill('SIGKILL')) await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function listening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const socket = connect(port, '127.0.0.1')
    const open = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (open) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  throw new Error('PgBouncer does not start')
}
