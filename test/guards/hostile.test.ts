// Whatever is sent, the server answers in its own words and goes on (promises 1 to 5).
import { XMLParser } from 'fast-xml-parser'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonServer, simpleRest } from '../../src/dialects/index.ts'
import { type Example, example, seed } from '../fixture.ts'
import { HOSTILE, type HostileRequest } from './hostile.ts'
import { type Answer, converse, print, type Served, serve } from './wire.ts'

let served: Served
let made: Example
let id: string
const failures: unknown[] = []

beforeAll(async () => {
  made = example({
    dialects: [simpleRest, jsonServer],
    onError: error => failures.push(error),
    limits: { bodyTime: 1000 },
  })
  const [car] = await seed(made, 3)
  id = String(car?.id)
  served = await serve(made.api.handler)
})
afterAll(() => served.close())

test('the table is long, and no request stands in it twice', () => {
  expect(HOSTILE.length).toBeGreaterThanOrEqual(500)
  const printed = HOSTILE.map(request => print('x', request).toString('latin1'))
  expect(new Set(printed).size).toBe(printed.length)
})

/** Whether no body follows: it is a HEAD, or stands for one. */
function isHead({ method, body }: HostileRequest): boolean {
  return method === 'HEAD' || (typeof body === 'string' && body.includes('_method=HEAD'))
}

/** Answers that are no refusal: what was asked is odd, not wrong. */
const FINE = new Set([200, 201, 204, 206, 303, 304])

async function ask(request: HostileRequest): Promise<Answer | undefined> {
  const target = request.target.replace('{id}', id)
  const bytes = print(served.host, { ...request, target })
  const { answers, rest, ended } = await converse(served.port, [bytes], {
    heads: request.method === 'HEAD',
  })
  expect(ended).toBe(true)
  expect(rest).toBe('')
  expect(answers.length).toBeLessThanOrEqual(1)
  return answers[0]
}

const LEAKS = /node_modules|\bat .*:\d+:\d+|\/work\/|\.ts:|SQLITE|SELECT |ECONN|TypeError|ZodError/

interface ErrorEntry {
  readonly message: string
  readonly code: number
}

const xml = new XMLParser({ isArray: name => name === 'error' })

/** A body in XML is answered in XML. */
function readErrors(body: string): readonly ErrorEntry[] {
  return body.startsWith('<?xml') ? xml.parse(body).errors.error : JSON.parse(body).errors
}

function checkAnswer(answer: Answer | undefined, status: number, head: boolean): void {
  if (!answer) throw new Error('There was no answer')
  expect(answer.status).toBeLessThan(500)
  expect(LEAKS.test(answer.body.replaceAll(/"There is nothing at .*?"/g, ''))).toBe(false)
  if (FINE.has(status) || head) return
  const errors = readErrors(answer.body)
  expect(errors.length).toBeGreaterThan(0)
  for (const { message, code } of errors) {
    expect(message).toEqual(expect.any(String))
    expect(code).toBe(status)
  }
}

async function checkGood(): Promise<void> {
  const { answers } = await converse(served.port, [print(served.host, { target: `/cars/${id}` })])
  expect(answers[0]?.status).toBe(200)
  expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ id, immatriculation: 'AA-000-ZZ' })
  expect(failures).toEqual([])
}

describe('hostile requests', () => {
  test.each(HOSTILE.map(request => [request.name, request] as const))('%s', async (_, request) => {
    const answer = await ask(request)
    checkAnswer(answer, answer?.status ?? 0, isHead(request))
    await checkGood()

    // The specification: 200 or 500 only, and the real code in the body.
    const mark = request.target.includes('?') ? '&' : '?'
    const [before, after] = request.target.split('#', 2)
    const target = `${before}${mark}suppress_error_codes${after === undefined ? '' : `#${after}`}`
    const quiet = await ask({ ...request, target })
    if (quiet && readable(target)) expect(quiet.status).toBe(200)
    const failed = /^(?:<\?xml.*\n<errors>|\{"errors")/.test(quiet?.body ?? '')
    const expectedCode = failed ? readErrors(quiet?.body ?? '')[0]?.code : 200
    checkAnswer(
      quiet,
      quiet?.status === 200 ? (expectedCode ?? 0) : (quiet?.status ?? 0),
      isHead(request),
    )
    await checkGood()
  })
})

/** Whether the whole target was read: a request line that cannot be read may say nothing of errors. */
function readable(target: string): boolean {
  return target.length < 16_000
}

test('nothing was polluted, and nothing was changed', async () => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  const api = made.api.collection(made.cars)
  const seeded = await api.list({ immatriculation: { like: 'AA-%' } }).toArray()
  expect(seeded.map(({ color }) => color)).toEqual(['red', 'blue', 'green'])
})
