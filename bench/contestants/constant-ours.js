// What our answers cost to send: for each work the one that ours gave before the first request, with
// all its headers. Who sends the same can be no faster.
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { valuesOf } from '../cars.js'
import * as ours from './ours.js'

export const name = 'our answer, constant'
export const constant = true
export const works = ['W1', 'W2', 'W3', 'W4']

export async function start(cars, work) {
  const server = await ours.start(cars)
  if (!server.listening) await once(server, 'listening')
  const { status, headers, body } = await answerOf(server.address().port, work)
  server.close()
  return createServer((_request, response) => {
    response.writeHead(status, headers)
    if (!body) return response.end()
    // As ours does: see node.ts.
    response.write(body, 'latin1')
    process.nextTick(() => response.end())
  }).listen(0, '127.0.0.1')
}

const READ = { path: '/cars/77' }
const REQUESTS = {
  W1: READ,
  W2: { path: '/cars?color=red&limit=25' },
  W3: READ,
  W4: { path: '/cars', method: 'POST' },
}

async function answerOf(port, work) {
  const request = { port, ...REQUESTS[work] }
  const answer = await ask(request, work === 'W4' ? JSON.stringify(valuesOf(0)) : undefined)
  return work === 'W3' ? ask({ ...request, headers: { 'If-None-Match': answer.tag } }) : answer
}

/** Headers that Node writes itself. */
const OWN = new Set(['Date', 'Connection', 'Keep-Alive'])

async function ask({ headers, ...options }, sent) {
  const type = sent === undefined ? {} : { 'Content-Type': 'application/json' }
  const open = request({ agent: false, ...options, headers: { ...headers, ...type } }).end(sent)
  const [response] = await once(open, 'response')
  const body = (await response.toArray()).join('') || undefined
  const { rawHeaders: all, statusCode: status } = response
  const kept = all.filter((_text, at) => !OWN.has(all[at - (at % 2)]))
  return { status, headers: kept, body, tag: response.headers.etag }
}
