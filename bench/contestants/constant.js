// The physical limit: for each work one answer, made before the first request.
import { createServer } from 'node:http'
import { carStore, linkOf } from '../cars.js'

export const name = 'constant answer'
export const constant = true
export const works = ['W1', 'W2', 'W3', 'W4']

export function start(cars, work) {
  const [status, headers, body] = answerOf(carStore(cars), work)
  return createServer((_request, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }).listen(0, '127.0.0.1')
}

const TYPE = 'application/json'
const TAG = '"qUqP5cyxm6YcTAhz05Hph5gvu9M="'

function answerOf(store, work) {
  const whole = (status, body, more) => [
    status,
    ['Content-Type', TYPE, 'Content-Length', String(body.length), 'ETag', TAG, ...more],
    body,
  ]
  if (work === 'W3') return [304, ['ETag', TAG], undefined]
  if (work === 'W1') return whole(200, JSON.stringify(store.get(5000)), [])
  if (work === 'W4')
    return whole(201, JSON.stringify(store.get(5000)), ['Location', 'http://localhost/cars/5000'])
  const { items, total } = store.page('red', 0, 25)
  const link = linkOf('http://localhost/cars', 'red', { offset: 0, limit: 25, total })
  return whole(200, JSON.stringify(items), ['X-Result-Count', String(total), 'Link', link])
}
