// Clients that keep their connections, ask one thing after the other, and know the right answer to
// what is well meant. Every request has a time; whatever happens, they end.
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { HOSTILE, type HostileRequest } from '../test/guards/hostile.ts'

/** Milliseconds after which a request counts as never answered. */
const PATIENCE = 10_000
/** One request in so many is hostile. */
const HOSTILE_EVERY = 20

export interface Tally {
  /** Answers to good requests. */
  good: number
  /** What was wrong with answers to good requests, and how often. */
  readonly wrong: Map<string, number>
  /** Answers to hostile requests by the first digit of their status; 0 is a connection closed without one. */
  readonly hostile: Map<number, number>
  /** Hostile requests that got neither an answer nor an end. */
  unanswered: number
  /** Requests sent again since the server had closed the kept connection in the meantime. */
  again: number
  /** Microseconds of good answers. */
  readonly latency: RecordableHistogram
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: OutgoingHttpHeaders | readonly string[]
  readonly body?: string | Uint8Array
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** A request that is right, and what its answer must be. @returns what is wrong with an answer. */
interface Good extends Sent {
  check(answer: Answer): string | undefined
}

export interface Target {
  readonly port: number
  /** Cars of colors that repeat every five; the last is the one that hostile writes go to. */
  readonly ids: readonly string[]
}

/** Asks until the time is over. @returns what there was to count. */
export async function runClients(target: Target, clients: number, seconds: number) {
  const tally: Tally = {
    good: 0,
    wrong: new Map(),
    hostile: new Map(),
    unanswered: 0,
    again: 0,
    latency: createHistogram(),
  }
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const until = performance.now() + seconds * 1000
  const hostile = sendable(target.ids.at(-1) ?? '')
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      // Each begins elsewhere, so that all kinds are on the way at any moment.
      for (let step = client; performance.now() < until; step++) {
        if (step % HOSTILE_EVERY === 0) {
          const at = Math.floor(step / HOSTILE_EVERY) + client * 7
          await askHostile(hostile[at % hostile.length], target.port, agent, tally)
        } else {
          await askGood(goodRequest(step, client, target.ids), target.port, agent, tally)
        }
      }
    }),
  )
  agent.destroy()
  return { tally, kinds: hostile.length }
}

const count = <K>(counts: Map<K, number>, key: K) => counts.set(key, (counts.get(key) ?? 0) + 1)

async function askGood(good: Good, port: number, agent: Agent, tally: Tally): Promise<void> {
  const started = performance.now()
  const answer = await ask(good, port, agent, tally)
  tally.latency.record(Math.max(1, Math.round((performance.now() - started) * 1000)))
  if (typeof answer === 'string') {
    count(tally.wrong, `${good.method} ${good.path.replace(/\/[0-9a-f-]{36}/, '/<id>')}: ${answer}`)
    return
  }
  tally.good++
  const wrong = good.check(answer)
  if (wrong !== undefined) count(tally.wrong, wrong)
}

async function askHostile(
  hostile: Sent | undefined,
  port: number,
  agent: Agent,
  tally: Tally,
): Promise<void> {
  if (!hostile) return
  const answer = await ask(hostile, port, agent, tally)
  if (answer === 'late') tally.unanswered++
  else count(tally.hostile, typeof answer === 'string' ? 0 : Math.floor(answer.status / 100))
}

/** A kept connection may be closed while a request goes out on it: then a new one is taken. */
async function ask(sent: Sent, port: number, agent: Agent, tally: Tally): Promise<Answer | string> {
  const answer = await send(sent, port, agent)
  if (answer !== 'stale') return answer
  tally.again++
  return send(sent, port, new Agent())
}

/** @returns the answer; `stale` where a kept connection was gone; `late`; or why there is none. */
function send(sent: Sent, port: number, agent: Agent): Promise<Answer | string> {
  return new Promise(resolve => {
    const { method, path, headers = {}, body } = sent
    const outgoing = request({
      host: '127.0.0.1',
      port,
      agent,
      method,
      path,
      // Node takes names and values in turn too, which its types do not say for a readonly list.
      headers: headers as OutgoingHttpHeaders,
    })
    const end = (outcome: Answer | string) => {
      clearTimeout(timer)
      resolve(outcome)
      if (typeof outcome === 'string') outgoing.destroy()
    }
    const timer = setTimeout(end, PATIENCE, 'late')
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      end(stale ? 'stale' : (error.code ?? error.message))
    })
    outgoing.on('response', response => {
      const { statusCode: status = 0 } = response
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', error => end(error.message))
      response.on('end', () =>
        end({ status, headers: response.headers, text: Buffer.concat(chunks).toString() }),
      )
    })
    outgoing.on('connect', ({ statusCode: status = 0, headers }, socket) => {
      socket.destroy()
      end({ status, headers, text: '' })
    })
    outgoing.end(body)
  })
}

/** The table as far as Node's client sends it. */
function sendable(id: string): Sent[] {
  return HOSTILE.flatMap(hostile => {
    const sent = sentOf(hostile, id)
    try {
      // Nothing goes out: a wrong path, method or header is refused at once.
      request({ ...sent, host: '127.0.0.1', port: 1, headers: sent.headers as OutgoingHttpHeaders })
        .on('error', () => undefined)
        .destroy()
      return [sent]
    } catch {
      return []
    }
  })
}

function sentOf({ method = 'GET', target, headers = [], body }: HostileRequest, id: string): Sent {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const lines = headers.flat()
  if (!names.has('host')) lines.push('Host', 'localhost')
  if (bytes && !names.has('content-length') && !names.has('transfer-encoding'))
    lines.push('Content-Length', String(bytes.length))
  const path = target.replace('{id}', id)
  return { method, path, headers: lines, ...(bytes && { body: bytes }) }
}

const COLORS = ['red', 'blue', 'green', 'black', 'white']
const JSON_TYPE = { 'content-type': 'application/json' }

interface Car {
  readonly id?: unknown
  readonly color?: unknown
  readonly tags?: unknown
}

interface Errors {
  readonly errors: readonly [{ readonly code?: unknown; readonly field?: unknown }]
}

/** What good clients do, in turn: mostly read. */
function goodRequest(step: number, client: number, ids: readonly string[]): Good {
  const at = (step * 13 + client) % (ids.length - 1)
  const path = `/cars/${ids[at]}`
  const color = COLORS[at % COLORS.length]
  // Some hostile requests create a car: those of the start have plates that begin so.
  const chosen = `color=${color}&immatriculation[prefix]=AA-`
  switch (step % 10) {
    case 1:
    case 2:
      return {
        method: 'GET',
        path: `/cars?${chosen}&sort=-immatriculation&limit=10`,
        check: answer =>
          checked<Car[]>(
            answer,
            200,
            cars => cars.length === 10 && cars.every(car => car.color === color),
          ),
      }
    case 3: {
      const total = ids.length / COLORS.length
      return {
        method: 'GET',
        path: `/cars/count?${chosen}`,
        check: answer => checked<{ count: number }>(answer, 200, ({ count }) => count === total),
      }
    }
    case 4: {
      const mark = `mark-${client}-${step}`
      return {
        method: 'PATCH',
        path,
        headers: { ...JSON_TYPE, prefer: 'return=representation' },
        body: JSON.stringify({ tags: [mark] }),
        check: answer =>
          checked<Car>(answer, 200, car => car.id === ids[at] && String(car.tags) === mark),
      }
    }
    case 5:
      return {
        method: 'POST',
        path: '/cars',
        headers: JSON_TYPE,
        body: '{"color":"red"}',
        check: answer =>
          checked<Errors>(answer, 400, ({ errors }) => errors[0].field === 'immatriculation'),
      }
    case 6:
      return {
        method: 'GET',
        path: '/cars/nobody',
        check: answer => checked<Errors>(answer, 404, ({ errors }) => errors[0].code === 404),
      }
    default:
      return {
        method: 'GET',
        path,
        check: answer =>
          checked<Car>(answer, 200, car => car.id === ids[at] && car.color === color),
      }
  }
}

/** @returns what is wrong; a body of another shape is wrong too. */
function checked<T>(
  { status, text }: Answer,
  expected: number,
  right: (body: T) => boolean,
): string | undefined {
  const shown = `${status}, not ${expected}: ${text.slice(0, 120)}`
  try {
    return status === expected && right(JSON.parse(text)) ? undefined : shown
  } catch {
    return shown
  }
}
