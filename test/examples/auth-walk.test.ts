// docs/auth.md, done as it says: its servers started, its commands run, its answers compared.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { blocksOf, curlsOf, masked, partsOf } from '../markdown.ts'

const root = join(import.meta.dirname, '..', '..')
const blocks = blocksOf(await readFile(join(root, 'docs', 'auth.md'), 'utf8'))

const terminals: ChildProcess[] = []
/** The ports of the document, and those that stand for them. */
const ports = new Map<string, number>()
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'auth-'))
  for (const port of ['3000', '3001', '3443']) ports.set(port, await freePort())
})
afterAll(async () => {
  for (const { pid = 0, exitCode } of terminals) if (exitCode === null) process.kill(-pid)
  await rm(folder, { recursive: true })
})

/** A text of the document with ports that are free, and files that are the test's own. */
function own(text: string): string {
  let changed = text.replaceAll('/tmp/', `${folder}/`)
  for (const [port, free] of ports) {
    changed = changed.replaceAll(new RegExp(`(:|--port )${port}\\b`, 'g'), `$1${free}`)
  }
  return changed
}

/** Types what stands in a block into a terminal, and waits until its server serves. */
async function openTerminal(text: string): Promise<void> {
  const port = /oidc-provider/.test(text) ? '3001' : '3000'
  const { AUTH_ISSUER, AUTH_AUDIENCE, AUTH_JWKS_URI, ...inherited } = process.env
  // A group of its own, so that what npm starts ends too.
  const terminal = spawn('bash', ['-c', own(text)], {
    cwd: root,
    env: { ...inherited, PORT: String(ports.get(port)) },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  terminals.push(terminal)
  let printed = ''
  const serves = new Promise<void>((resolve, reject) => {
    for (const stream of [terminal.stdout, terminal.stderr]) {
      stream.setEncoding('utf8').on('data', (more: string) => {
        printed += more
        if (/^(?:Serving|Issuing) /m.test(printed)) resolve()
      })
    }
    terminal.once('exit', () => reject(new Error(`${text} ended: ${printed}`)))
  })
  await serves
}

test('the commands of docs/auth.md give the answers below them', async () => {
  /** What the terminal remembers. */
  const variables: string[] = []
  const compared: string[] = []
  for (const { language, text } of blocks) {
    if (language === 'sh') await openTerminal(text)
    for (const { command, answer } of language === 'console' ? curlsOf(text) : []) {
      const silent = own(command).replaceAll('curl ', 'curl -sS ')
      const script = [...variables, silent].join('\n')
      const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script])
      if (/^[A-Z]+=/.test(command)) variables.push(silent)
      const [actual, shown] = [partsOf(masked(stdout.trimEnd())), partsOf(masked(answer))]
      expect(actual.body).toBe(shown.body)
      expect(actual.head).toEqual(expect.arrayContaining(shown.head))
      compared.push(shown.head[0] ?? 'none')
    }
  }
  expect(compared.filter(line => line.startsWith('HTTP/'))).toEqual([
    'HTTP/1.1 401 Unauthorized',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 403 Forbidden',
    'HTTP/1.1 401 Unauthorized',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 401 Unauthorized',
  ])
})
