// A PostgreSQL that refuses what another engine refuses: a proxy changes such statements, so that the server cannot read
// them. Of the commits it makes a tenth fail with 40001.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { seeded } from '../random.ts'

/** What an engine refuses, and where its documentation or its tracker says so. */
export type Refusals = Readonly<Record<string, RegExp>>

export const COCKROACH: Refusals = {
  'https://github.com/cockroachdb/cockroach/issues/68201': /\boverriding system value\b/i,
  'https://github.com/cockroachdb/cockroach/issues/43654': /\block table\b/i,
  'https://github.com/cockroachdb/docs/pull/18154': /\bpg_(?:try_)?advisory_\w+/i,
  'https://github.com/cockroachdb/cockroach/pull/96828':
    /(?:create table|add column)[^;]*collate "C"/i,
  'https://github.com/cockroachdb/cockroach/issues/60464': /\bexplain \(format\b/i,
  'https://github.com/cockroachdb/cockroach/issues/128422': /\bcreate or replace trigger\b/i,
  'https://www.cockroachlabs.com/docs/stable/functions-and-operators':
    /\bpg_(?:current_)?snapshot\w*/i,
  'https://www.cockroachlabs.com/docs/stable/create-trigger': /[^(](?:\bnew|\bold)\."\w+"(?! =)/i,
}

export const YUGABYTE: Refusals = {
  'https://github.com/yugabyte/yugabyte-db/issues/5384': /\block table\b/i,
  'https://github.com/yugabyte/yugabyte-db/issues/3642': /\bpg_(?:try_)?advisory_\w+/i,
}

interface Engine {
  /** The address of the database through the proxy. */
  readonly url: string
  /** The links of what was refused. */
  readonly refused: string[]
  /** How many commits have failed. */
  readonly conflicts: () => number
  stop(): Promise<void>
}

/** @param name what `version()` says in place of `PostgreSQL 1`: of the same length. */
export async function startEngine(
  database: string,
  refusals: Refusals,
  name = 'PostgreSQL 1',
): Promise<Engine> {
  const target = new URL(database)
  const random = seeded(48)
  const refused: string[] = []
  let conflicts = 0
  const change = (text: string) => {
    if (/^\s*commit\b/i.test(text) && random() < 0.1) {
      conflicts++
      return "do $$ begin raise exception 'restart transaction' using errcode = '40001'; end $$"
    }
    const [link] = Object.entries(refusals).find(([, pattern]) => pattern.test(text)) ?? []
    if (link === undefined) return text
    refused.push(link)
    return 'this engine refuses it'
  }
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(Number(target.port), target.hostname)
    const rewriter = new Rewriter(change)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
        sockets.delete(socket)
      })
    }
    client.on('data', chunk => {
      // At once: each message alone would wait for the acknowledgment of the one before.
      upstream.write(Buffer.concat([...rewriter.read(chunk)]))
    })
    upstream.on('data', chunk => {
      client.write(Buffer.from(chunk.toString('latin1').replaceAll('PostgreSQL 1', name), 'latin1'))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(database)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
  return {
    url: url.href,
    refused,
    conflicts: () => conflicts,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Changes the statements of the messages `Query` and `Parse`. The first message of a connection has no type. */
class Rewriter {
  readonly #change: (text: string) => string
  #rest: Buffer = Buffer.alloc(0)
  #hasStarted = false

  constructor(change: (text: string) => string) {
    this.#change = change
  }

  /** Reads the messages that are whole. */
  *read(chunk: Buffer): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, chunk])
    for (;;) {
      const head = this.#hasStarted ? 1 : 0
      if (this.#rest.length < head + 4) return
      const size = head + this.#rest.readUInt32BE(head)
      if (this.#rest.length < size) return
      const message = this.#rest.subarray(0, size)
      this.#rest = this.#rest.subarray(size)
      yield this.#hasStarted ? this.#rewrite(message) : message
      this.#hasStarted = true
    }
  }

  #rewrite(message: Buffer): Buffer {
    const type = String.fromCharCode(message[0] ?? 0)
    if (type !== 'Q' && type !== 'P') return message
    const from = type === 'Q' ? 5 : message.indexOf(0, 5) + 1
    const end = message.indexOf(0, from)
    const text = message.toString('utf8', from, end)
    const changed = this.#change(text)
    if (changed === text) return message
    const made = Buffer.concat([
      message.subarray(0, from),
      Buffer.from(changed),
      message.subarray(end),
    ])
    made.writeUInt32BE(made.length - 1, 1)
    return made
  }
}
