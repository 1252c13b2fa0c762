// `npx tsx bench/stream-memory.ts [rows]`: the memory of a server that gives a whole collection of a
// SQLite file as NDJSON and as CSV. A million rows; the goal is 64 MiB above idle. Also: a client
// that reads slowly, and that one that hangs up ends the query.
import { createServer, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { z } from 'zod'
import { defineApi, defineCollection, type Store } from '../src/index.ts'
import { prepareSqlite, sqlStore } from '../src/sql/index.ts'
import { inDirectory, report, watched } from './memory.ts'
import { answerQuestions } from './questions.ts'

const [, , argument = '1000000', file] = process.argv
const rows = Number(argument)

if (process.send && file !== undefined) await serveRows(file)
else await inDirectory(measure)

/** What the server has given of its streams. */
interface Progress {
  readonly batches: number
  readonly open: number
}

async function serveRows(path: string): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new Database(path) }) })
  await prepareSqlite(db)
  let progress: Progress = { batches: 0, open: 0 }
  const count = (batches: number, open: number) => {
    progress = { batches: progress.batches + batches, open: progress.open + open }
  }
  const store = sqlStore({ db, create: true })
  const telling: Store = {
    ...store,
    async *stream(...given) {
      count(0, 1)
      try {
        for await (const batch of store.stream(...given)) {
          count(1, 0)
          yield batch
        }
      } finally {
        count(0, -1)
      }
    },
  }
  const schema = z.object({ immatriculation: z.string(), color: z.string(), price: z.number() })
  const cars = defineCollection({ name: 'cars', schema, store: telling, id: 'integer' })
  const api = defineApi({ collections: [cars] })
  await answerQuestions(createServer(api.handler).listen(0, '127.0.0.1'), {
    progress: () => progress,
  })
}

async function measure(directory: string): Promise<void> {
  const path = join(directory, 'cars.db')
  const server = await watched(fileURLToPath(import.meta.url), [argument, path])
  const address = `http://127.0.0.1:${server.port}/cars`
  await (await fetch(address)).text()
  fill(path)
  // What is loaded and compiled once is no memory of the streams.
  for (const format of ['ndjson', 'csv'])
    await (await fetch(`${address}.${format}?id[lt]=5000`)).text()

  for (const [format, extra] of [
    ['ndjson', 0],
    ['csv', 1],
  ] as const) {
    const started = performance.now()
    const { most, result } = await server.watch(() => linesOf(`${address}.${format}`))
    if (result !== rows + extra)
      throw new Error(`${result} lines of ${format}, not ${rows + extra}`)
    report(`${rows} rows as ${format}`, most, (performance.now() - started) / 1000)
  }

  const started = performance.now()
  const { most } = await server.watch(async () => {
    const response = await answerOf(`${address}.ndjson`)
    for (let at = 0; at < 20; at++) {
      response.read()
      await setTimeout(100)
    }
    response.destroy()
  })
  report('a client that reads slowly, and hangs up', most, (performance.now() - started) / 1000)
  const ended = await settled(() => server.ask<Progress>('progress'))
  console.log(
    `${ended.open === 0 ? 'ok  ' : 'OPEN'} the query ended with the client: ${ended.batches} batches in all`,
  )
  if (ended.open > 0) process.exitCode = 1
  server.process.kill()
}

/** Puts the rows into the table that the server has made. */
function fill(path: string): void {
  const db = new Database(path)
  const insert = db.prepare(
    'insert into cars (id, immatriculation, color, price, created_at, updated_at, version) values (?, ?, ?, ?, ?, ?, ?)',
  )
  const date = '2024-01-01T00:00:00.000Z'
  db.transaction(() => {
    for (let id = 1; id <= rows; id++) {
      insert.run([id, `AA-${id}-ZZ`, id % 3 ? 'red' : 'blue', id % 50_000, date, date, `v${id}`])
    }
  })()
  db.close()
}

async function linesOf(url: string): Promise<number> {
  const response = await answerOf(url)
  let lines = 0
  for await (const chunk of response) {
    for (const byte of chunk) if (byte === 10) lines++
  }
  return lines
}

function answerOf(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => get(url, resolve).once('error', reject))
}

/** The progress once it stands still. */
async function settled(ask: () => Promise<Progress>): Promise<Progress> {
  for (let last = -1; ; ) {
    const now = await ask()
    if (now.batches === last) return now
    last = now.batches
    await setTimeout(300)
  }
}
