// One work again and again, in process: node repeat.js <work> <times> [store]. Counted by instructions.ts.
import { makeCars, pagesOf, targetOf, valuesOf } from './cars.js'
import { createAsk, typed } from './in-process.js'

const [, , work, times, store = 'memory'] = process.argv
const { start } = await import(`./contestants/ours${store === 'memory' ? '' : `-${store}`}.js`)
const server = await start(makeCars())
const [handler] = server.listeners('request')
server.close()

const bodies = Array.from({ length: 100 }, (_, at) =>
  Buffer.from(JSON.stringify(valuesOf(at * 79))),
)
const MERGE_PATCH = 'application/merge-patch+json'
const prices = Array.from({ length: 99 }, (_, at) => Buffer.from(`{"price":${9000 + at}}`))
const ask = createAsk(handler)
const send = (method, url, type, body) => ask(method, url, typed(type, body), body)

function pageOf(texts) {
  const targets = pagesOf(texts).map(({ color, offset }) => targetOf(color, offset))
  return at => ask('GET', targets[at % texts])
}

const { headers } = await ask('GET', '/cars/77')
const tag = headers[headers.indexOf('ETag') + 1]
const works = {
  W1: [200, at => ask('GET', `/cars/${1 + (at % 100)}`)],
  W2: [200, pageOf(12)],
  W2b: [200, pageOf(8400)],
  W3: [304, () => ask('GET', '/cars/77', ['If-None-Match', tag])],
  W4: [201, at => send('POST', '/cars', 'application/json', bodies[at % bodies.length])],
  patch: [
    303,
    at => send('PATCH', `/cars/${1 + (at % 100)}`, MERGE_PATCH, prices[at % prices.length]),
  ],
}
const [expected, once] = works[work]
for (let at = 0; at < Number(times); at++) {
  const { status } = await once(at)
  if (status !== expected) throw new Error(`${work} was answered ${status}`)
}
process.exit()
