// Imports a CSV file of any length, in parts of 1,000 lines, in constant memory:
//   npx tsx examples/import.ts cars.csv http://localhost:3000/v2/cars 'authorization: Bearer …'
// Each part is created whole or not at all, under a key made of its text. So the program may be killed, and run again:
// what is there already is not created twice, for a day.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** The limits of a request, as the api has them by default: `arrayItems`, and a little less than `body`. */
const MAX_LINES = 1000
const MAX_BYTES = 900_000

/** How long a part is tried, in milliseconds: the key of a server that was killed is taken for a minute. */
const TIMEOUT = 120_000

const TRY_AGAIN = [408, 409, 429, 502, 503, 504]

type HeaderFields = Readonly<Record<string, string>>

interface Part {
  /** The header of the file, then records. */
  readonly text: string
  readonly records: number
  /** How many lines of the file come before its first record. */
  readonly above: number
  /** How many bytes of the file have been read at its end. */
  readonly bytes: number
}

/** Reads the records of a file with their line breaks; within quotes there may be more of these. */
async function* readRecords(file: string): AsyncGenerator<string> {
  let rest = ''
  let at = 0
  let isQuoted = false
  for await (const chunk of createReadStream(file, 'utf8')) {
    rest += chunk
    for (; at < rest.length; at++) {
      if (rest[at] === '"') isQuoted = !isQuoted
      if (rest[at] !== '\n' || isQuoted) continue
      yield rest.slice(0, at + 1)
      rest = rest.slice(at + 1)
      at = -1
    }
  }
  if (rest !== '') yield rest
}

/** Reads a file in parts that a request may have. */
export async function* readParts(file: string): AsyncGenerator<Part> {
  let header: string | undefined
  let own: string[] = []
  let size = 0
  let bytes = 0
  let [line, above] = [0, 0]
  const take = (): Part => {
    const part = { text: [header, ...own].join(''), records: own.length, above, bytes }
    own = []
    size = 0
    above = line
    return part
  }
  for await (const record of readRecords(file)) {
    const length = Buffer.byteLength(record)
    const isFull = own.length === MAX_LINES || size + length > MAX_BYTES
    if (isFull && own.length > 0) yield take()
    bytes += length
    line += record.split('\n').length - 1
    if (header === undefined) {
      header = record
      above = line
    } else {
      own.push(record)
      size += length
    }
  }
  if (own.length > 0) yield take()
}

/** Creates the items of a part. @throws Error that names the lines of the file. */
async function send({ text, above }: Part, url: string, headers: HeaderFields): Promise<void> {
  const key = createHash('sha256').update(`${above} ${text}`).digest('hex')
  const own = { 'content-type': 'text/csv', 'idempotency-key': key, prefer: 'return=minimal' }
  const init = { method: 'POST', body: text, headers: { ...headers, ...own } }
  const until = Date.now() + TIMEOUT
  for (let pause = 250; ; pause = Math.min(2 * pause, 5000)) {
    const answer = await fetch(url, init).catch((error: unknown) => {
      if (Date.now() > until) throw error
    })
    const body = await answer?.text().catch(() => undefined)
    if (answer?.ok) return
    // The 409 of a key whose request still runs passes, that of a value which another item has does not.
    const isRunning = answer?.status !== 409 || body?.includes('idempotency_key')
    const isFinal = answer && !(TRY_AGAIN.includes(answer.status) && isRunning)
    if (isFinal || Date.now() > until) throw new Error(explain(above, answer?.status, body))
    await wait(Math.max(pause, 1000 * Number(answer?.headers.get('retry-after') ?? 0)))
  }
}

/** Prints errors with the lines of the file in place of those of the part, whose first one is its header. */
function explain(above: number, status: number | undefined, body = ''): string {
  const found = /^\{.*\}$/s.test(body) ? JSON.parse(body).errors : undefined
  const messages: string[] = (found ?? []).map(({ message }: { message: string }) =>
    message.replace(/^Line (\d+)/, (_, line) => `Line ${above + Number(line) - 1}`),
  )
  return `${status ?? 'No answer'}\n${messages.join('\n') || body.slice(0, 500)}`
}

interface Progress {
  /** From 0 to 1. */
  readonly done: number
  readonly records: number
}

/**
 * Imports a file.
 * @param onPart is called after each part.
 * @returns the number of records.
 */
export async function importFile(
  file: string,
  url: string,
  headers: HeaderFields = {},
  onPart: (progress: Progress) => void = () => {},
): Promise<number> {
  const { size } = await stat(file)
  let records = 0
  for await (const part of readParts(file)) {
    await send(part, url, headers)
    records += part.records
    onPart({ done: part.bytes / size, records })
  }
  return records
}

const WIDTH = 30

/** Draws a bar that overwrites the one before: `[#########.....]  62 %  62,000 lines  9,120/s`. */
function draw({ done, records }: Progress, started: number): void {
  const filled = Math.round(done * WIDTH)
  const bar = '#'.repeat(filled) + '.'.repeat(WIDTH - filled)
  const rate = Math.round(records / ((Date.now() - started) / 1000))
  const percent = String(Math.floor(done * 100)).padStart(3)
  const text = `[${bar}] ${percent} %  ${records.toLocaleString('en')} lines  ${rate.toLocaleString('en')}/s`
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`)
}

async function main(file: string, url: string, lines: readonly string[]): Promise<void> {
  const headers = Object.fromEntries(
    lines.map(line => {
      const [name = '', ...value] = line.split(':')
      return [name.trim(), value.join(':').trim()]
    }),
  )
  const started = Date.now()
  try {
    const records = await importFile(file, url, headers, progress => draw(progress, started))
    process.stderr.write(`\nAll ${records.toLocaleString('en')} lines are there.\n`)
  } catch (error) {
    const hint = 'The lines before are there. Correct the file, and run this again.'
    process.stderr.write(`\n${error instanceof Error ? error.message : error}\n${hint}\n`)
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [file, url, ...lines] = process.argv.slice(2)
  if (file !== undefined && url !== undefined) await main(file, url, lines)
  else console.error('npx tsx examples/import.ts <file.csv> <address of the collection> [header …]')
}
