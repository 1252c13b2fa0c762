// `rest-conventions serve`: a JSON file or a database as an api with pages, on this machine.
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { defineApi } from '../../api.ts'
import { basic, equalsInConstantTime } from '../../auth/basic.ts'
import { createBearerScheme, invalidToken } from '../../auth/bearer-token.ts'
import { jsonServer, simpleRest } from '../../dialects/dialects.ts'
import { html } from '../../html/html.ts'
import { harden } from '../../node/harden.ts'
import { shutDown } from '../../node/shut-down.ts'
import type { Dialect } from '../../query.ts'
import type { Handler } from '../../server/handlers/node-handler.ts'
import { CommandError } from '../output/command-error.ts'
import { isSqliteFile } from '../pull/sqlite-file.ts'
import { type Admission, type AdmissionError, findAdmissionError, isOwnOrigin } from './admit.ts'
import { describeFile, type ListItems } from './json-api.ts'
import { JsonFile } from './json-file.ts'
import type { ServedSource } from './served.ts'

export interface ServeOptions {
  /** The path of a file of JSON or SQLite, or the URL of a PostgreSQL. */
  readonly source: string
  readonly schema?: string | undefined
  readonly host?: string | undefined
  readonly port?: string | undefined
  /** Default: true for JSON, false for a database. */
  readonly write?: boolean | undefined
  readonly watch?: boolean | undefined
  /** The token that clients must send. */
  readonly auth?: string | undefined
  readonly cors?: readonly string[] | undefined
  readonly dialect?: string | undefined
}

type Print = (line: string) => unknown

/** The collections that are served now. With `--watch` a change of the file replaces them. */
interface Current {
  readonly served: ServedSource
  readonly handler: Handler
}

/**
 * Serves until SIGINT or SIGTERM.
 * @param print gets lines for the operator. The first has the URL and the collections, once the server listens.
 * @throws CommandError
 */
export async function serve(options: ServeOptions, print: Print): Promise<void> {
  const { source, host = '127.0.0.1', port = '3000' } = options
  const isDatabase = /^postgres(?:ql)?:/i.test(source) || isSqliteFile(source)
  const isWritten = options.write ?? !isDatabase
  checkOptions(options, host, isWritten)
  const admission: Admission = { host, origins: options.cors ?? [] }
  const file = isDatabase ? undefined : new JsonFile(source, print)
  const items: ListItems = new Map()
  const load = async (): Promise<Current> => {
    const served = file
      ? describeFile(file, isWritten, items)
      : await (await import('./describe-database.ts')).describeDatabase({ ...options, isWritten })
    return { served, handler: buildHandler(served, options, admission) }
  }
  let current = await load().catch(explain)
  const server = harden(
    createServer((request, response) => {
      const error = findAdmissionError(request, admission)
      if (error) sendError(response, error)
      else if (file && isDump(request, options)) sendDump(request, response, file, admission)
      else current.handler(nameSingle(request, current.served), response)
    }),
  )
  const url = await listen(server, host, port)
  const of = `${source.replace(/\/\/[^@/]*@/, '//')}, ${isWritten ? 'read and write' : 'read-only'}`
  await print(printServed(current.served, url, of))
  if (file && options.watch)
    watch(file, print, async () => {
      current = await load()
    })
  const end = async () => {
    await shutDown(server, 2000)
    await current.served.close()
    process.exit()
  }
  process.once('SIGINT', end).once('SIGTERM', end)
}

/** A `TypeError` of `defineCollection` comes from the file or the catalog here, so it becomes a `CommandError`. */
function explain(error: unknown): never {
  throw error instanceof TypeError ? new CommandError(error.message) : error
}

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'json-server': jsonServer,
  'simple-rest': simpleRest,
}
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

function checkOptions(
  { auth, dialect, cors = [] }: ServeOptions,
  host: string,
  isWritten: boolean,
) {
  if (isWritten && auth === undefined && !LOOPBACK.test(host))
    throw new CommandError(
      `Every client that reaches ${host} could write. Add --auth <token>, or serve it read-only with --no-write`,
    )
  if (auth !== undefined && !/^[\w.~+/-]{8,}$/.test(auth))
    throw new CommandError('--auth must be a token of at least 8 letters and digits')
  if (dialect !== undefined && !Object.hasOwn(DIALECTS, dialect))
    throw new CommandError(
      `--dialect must be ${Object.keys(DIALECTS).join(' or ')}, not ${dialect}`,
    )
  const wrong = cors.find(
    each => each !== '*' && !(URL.canParse(each) && new URL(each).origin === each),
  )
  if (wrong !== undefined)
    throw new CommandError(
      `--cors must be an origin such as https://app.example, or *, not ${wrong}`,
    )
}

function buildHandler(served: ServedSource, options: ServeOptions, admission: Admission): Handler {
  const { auth, dialect, source } = options
  if (served.collections.length === 0) {
    const why = served.leftOut.length > 0 ? served.leftOut : ['Add a list, such as { "posts": [] }']
    throw new CommandError(['No collection can be served.', ...why].join('\n'))
  }
  const isToken = (given: string) => equalsInConstantTime(given, auth ?? '')
  const principal = { id: 'serve' }
  const bearer = createBearerScheme({}, async token => {
    if (isToken(token)) return principal
    throw invalidToken('The token is not that of --auth')
  })
  // For the HTML pages: a browser asks for a password.
  const password = basic({ verify: (_user, given) => (isToken(given) ? principal : undefined) })
  const api = defineApi({
    title: basename(source.split('?', 1)[0] ?? source),
    collections: served.collections,
    pages: html,
    changes: 'representation',
    cors: {
      origins: admission.origins.includes('*') ? '*' : origin => isOwnOrigin(origin, admission),
    },
    ...(auth !== undefined && { schemes: [bearer, password] }),
    ...(dialect !== undefined && { dialects: [DIALECTS[dialect] ?? jsonServer] }),
  })
  return api.handler
}

/** Maps `/profile`, a single object, to its only item `/profile/profile`. */
function nameSingle(request: IncomingMessage, { singles }: ServedSource): IncomingMessage {
  const [, name = '', rest = ''] = /^\/([^/?]+)(\?.*)?$/.exec(request.url ?? '') ?? []
  if (!singles.has(name)) return request
  // POST replaces the object, as in json-server.
  const method = request.method === 'POST' ? 'PUT' : request.method
  return Object.assign(request, { method, url: `/${name}/${name}${rest}` })
}

/** Whether a request is `GET /db` of json-server, which returns the whole file. */
function isDump({ method, url }: IncomingMessage, { dialect, auth }: ServeOptions): boolean {
  return method === 'GET' && url === '/db' && dialect === 'json-server' && auth === undefined
}

function sendDump(
  { headers: { origin = '' } }: IncomingMessage,
  response: ServerResponse,
  { data }: JsonFile,
  admission: Admission,
): void {
  if (isOwnOrigin(origin, admission)) response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Vary', 'Origin')
  sendJson(response, 200, data)
}

function sendError(response: ServerResponse, { status, ...issue }: AdmissionError): void {
  sendJson(response, status, { errors: [{ ...issue, code: status }] })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(body))
}

/** @returns the URL to open. @throws CommandError */
async function listen(server: Server, host: string, port: string): Promise<string> {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : Number.NaN
  if (!(number < 65_536)) throw new CommandError(`--port must be a number up to 65535, not ${port}`)
  server.listen(number, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandError(
      why.includes('EADDRINUSE')
        ? `Port ${port} of ${host} is taken. Use another, such as --port ${number + 1}`
        : `Cannot listen on ${host}, port ${port}. ${why}. Try another --host or --port`,
    )
  }
  const address = server.address()
  const bound = typeof address === 'object' && address ? address.port : number
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}

function printServed({ collections, leftOut }: ServedSource, url: string, of: string): string {
  const names = collections.map(({ name }) => name).join(', ')
  return [`${url} serves ${names} of ${of}`, ...leftOut, ''].join('\n')
}

/** How often the file is checked for a change, in milliseconds. */
const WATCH_MS = 200

/** Applies the file again each time it changes. If it cannot be read, the data before are still served. */
function watch(file: JsonFile, print: Print, apply: () => Promise<void>): void {
  let seen = ''
  setInterval(async () => {
    const stats = statSync(file.path, { throwIfNoEntry: false })
    const now = `${stats?.mtimeMs} ${stats?.size} ${stats?.ino}`
    if (now === seen) return
    seen = now
    try {
      if (await file.reload(apply)) await print(`${file.path} was read again\n`)
    } catch (error) {
      const why = error instanceof Error ? error.message : error
      await print(`${why}. The data before are still served\n`)
    }
  }, WATCH_MS)
}
