// An editor: it asks the language server of TypeScript what it shows of a program.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export interface Editor {
  /** What is shown at the first place where a text stands in the program: of `a.b|c` at the bar. */
  hover(text: string): Promise<string>
  /** The errors of the program, by the text of their lines. */
  errors(): Promise<ReadonlyMap<string, string>>
  close(): Promise<void>
}

type Answer = Readonly<Record<string, never>>
interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: Answer
}

/** Opens a program in a project of its own, which imports the package by its names. */
export async function openEditor(program: string): Promise<Editor> {
  const folder = await mkdtemp(join(tmpdir(), 'rest-conventions-editor-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const file = join(folder, 'program.ts')
  await writeFile(file, program)
  const root = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8'))
  const names: Readonly<Record<string, readonly [string]>> = root.compilerOptions.paths
  const paths = Object.fromEntries(
    Object.entries(names).map(([name, [path]]) => [name, [join(ROOT, path)]]),
  )
  const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: { paths }, include: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, files: [file] }))

  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
  const server = spawn(process.execPath, [tsc, '--lsp', '--stdio'], { cwd: folder })
  const ended = new Promise(resolve => server.on('close', resolve))
  const waiting: ((result: Answer) => void)[] = []
  let received = Buffer.alloc(0)
  server.stdout.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
    for (;;) {
      const head = /^Content-Length: (\d+)[\s\S]*?\r\n\r\n/i.exec(received.toString('latin1'))
      const end = head ? head[0].length + Number(head[1]) : Number.POSITIVE_INFINITY
      if (!head || received.length < end) return
      const message: Message = JSON.parse(received.subarray(head[0].length, end).toString())
      received = received.subarray(end)
      if (message.id === undefined) continue
      // The server asks for settings, which have no values.
      if (message.method) send({ id: message.id, result: [null] })
      else waiting[message.id]?.(message.result ?? {})
    }
  })
  function send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const request = (method: string, params: object) =>
    new Promise<Answer>(resolve => {
      send({ id: waiting.push(resolve) - 1, method, params })
    })

  const uri = pathToFileURL(file).href
  const textDocument = { uri, languageId: 'typescript', version: 1, text: program }
  await request('initialize', {
    processId: null,
    rootUri: pathToFileURL(folder).href,
    capabilities: {},
  })
  send({ method: 'initialized', params: {} })
  send({ method: 'textDocument/didOpen', params: { textDocument } })
  return {
    async hover(text) {
      const [before = '', after = ''] = text.split('|')
      const at = program.indexOf(before + after) + before.length
      const lines = program.slice(0, at).split('\n')
      const position = { line: lines.length - 1, character: lines.at(-1)?.length }
      const { contents } = await request('textDocument/hover', { textDocument: { uri }, position })
      return String(Object(contents).value ?? contents)
    },
    async errors() {
      const { items = [] } = await request('textDocument/diagnostic', { textDocument: { uri } })
      const lines = program.split('\n')
      return new Map(
        (items as { range: { start: { line: number } }; message: string }[]).map(
          ({ range, message }) => [lines[range.start.line]?.trim() ?? '', message],
        ),
      )
    },
    async close() {
      server.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
