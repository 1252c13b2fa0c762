// Prism's proxy before the example: requests and answers are as the document says.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drawCar } from '../../../examples/picture.ts'
import { listen, MODULES, openExample, report } from './common.ts'

interface Violation {
  readonly location: readonly string[]
  readonly message: string
}

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  /** Sent as JSON. */
  readonly json?: unknown
  readonly body?: FormData
  readonly status: number
  /** Whether the request is wrong on purpose: the answer alone is looked at. */
  readonly isWrong?: boolean
}

/** @param isLight whether the document is of JSON alone, and each filter of one value. */
export async function proxy(title: string, document: object, isLight: boolean): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rest-conventions-prism-'))
  const file = join(folder, 'openapi.json')
  await writeFile(file, JSON.stringify(document))
  const example = await listen(openExample().handler)
  const port = await findPort()
  const prism = spawn(join(MODULES, '.bin/prism'), ['proxy', file, example.url, '-p', String(port)])
  const url = `http://127.0.0.1:${port}`
  await new Promise<void>(resolve =>
    prism.stdout.on('data', line => {
      if (String(line).includes('is listening')) resolve()
    }),
  )
  prism.stderr.resume()
  const complaints: string[] = []
  let count = 0
  const ask = async (path: string, { json, status, isWrong = false, ...init }: Sent) => {
    count++
    const answer = await fetch(url + path, {
      redirect: 'manual',
      ...init,
      ...(json !== undefined && {
        headers: { 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify(json),
      }),
    })
    const text = await answer.text()
    const violations: Violation[] = JSON.parse(answer.headers.get('sl-violations') ?? '[]')
    const found = violations.filter(({ location }) => !isWrong || location[0] === 'response')
    if (answer.status !== status) complaints.push(`${path}: ${answer.status} ${text}`)
    for (const { location, message } of found) complaints.push(`${path}: ${location} ${message}`)
    return { text, headers: answer.headers }
  }
  await askAll(ask, isLight)
  report(`prism, ${title}`, complaints, `, ${count} requests`)
  prism.kill()
  await once(prism, 'exit')
  example.stop()
  await rm(folder, { recursive: true })
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

type Ask = (path: string, sent: Sent) => Promise<{ text: string; headers: Headers }>

const CAR = { immatriculation: 'AB-123-CD', color: 'red', model: { name: 'Clio' }, price: 5 }

async function askAll(ask: Ask, isLight: boolean): Promise<void> {
  const made = await ask('/v2/cars', {
    method: 'POST',
    headers: { 'idempotency-key': 'one' },
    json: CAR,
    status: 201,
  })
  const { id } = JSON.parse(made.text)
  const etag = made.headers.get('etag') ?? ''
  const car = `/v2/cars/${id}`
  const where = encodeURIComponent('{"or":[{"price":{"gte":5}},{"color":"blue"}]}')
  const queries = [
    ...['', 'color=red', 'price[gte]=5&price[lt]=6', 'color[in]=red,blue', 'model.name[like]=cl'],
    ...['sort=-price&limit=1&offset=0', 'include=options', 'registered_on[exists]=false'],
    ...['registered_on[gte]=2026-01-01', 'since=2026-01-01', `id=${id}`, 'sold=false'],
    ...[`where=${where}`, 'q=clio', ...(isLight ? [] : ['color=red&color=blue'])],
  ]
  for (const query of queries) await ask(`/v2/cars?${query}`, { status: 200 })
  for (const path of ['/v2/cars/count?price[gte]=5', '/v2/cars/search?q=clio&price[gte]=5', car])
    await ask(path, { status: 200 })
  for (const query of ['price[above]=5', 'price=abc', 'nothing=1'])
    await ask(`/v2/cars?${query}`, { status: 400, isWrong: true })
  await ask('/v2/cars', { method: 'POST', json: CAR, status: 409 })
  const pink = { ...CAR, color: 'pink' }
  await ask('/v2/cars', { method: 'POST', json: pink, status: 400, isWrong: true })
  await ask('/v2/cars/9999', { status: 404 })
  const headers = { 'if-match': etag }
  await ask(car, { method: 'PATCH', headers, json: { price: 6 }, status: 200 })
  await ask(car, { method: 'PATCH', headers, json: { price: 7 }, status: 412 })
  await ask(car, { method: 'PUT', json: { ...CAR, price: 9 }, status: 200 })
  if (!isLight) await askForFormats(ask, car)
  const options = `${car}/options`
  await ask(options, { method: 'POST', json: { name: 'Radio' }, status: 201 })
  await ask(`${options}?price[gte]=0`, { status: 200 })
  await ask(`${car}/buy`, { method: 'POST', json: { buyer: 'Ann' }, status: 200 })
  await ask(`${car}/buy`, { method: 'POST', json: { buyer: 'Ann' }, status: 409 })
  const photo = await upload(ask, isLight)
  const { id: of } = JSON.parse(photo.text)
  await ask(`/v2/photos/${of}`, { status: 200 })
  await ask(`/v2/photos/${of}/photo`, { status: 200 })
  await ask(car, { method: 'DELETE', status: 200 })
  await ask(car, { method: 'DELETE', status: 404 })
  for (const path of ['/', '/v2']) await ask(path, { status: 200 })
}

/** What a light document leaves out. */
async function askForFormats(ask: Ask, car: string): Promise<void> {
  const { headers } = await ask(car, { headers: { accept: 'text/csv' }, status: 200 })
  await ask('/v2/cars', { headers: { accept: 'application/x-ndjson' }, status: 200 })
  const etag = headers.get('etag') ?? ''
  await ask(car, { headers: { 'if-none-match': etag, accept: 'text/csv' }, status: 304 })
  const merge = { 'content-type': 'application/merge-patch+json' }
  await ask(car, { method: 'PATCH', headers: merge, json: { price: 8 }, status: 200 })
  const minimal = { prefer: 'return=minimal' }
  await ask(car, { method: 'PATCH', headers: minimal, json: { price: 9 }, status: 204 })
}

/** Sends a photo. Prism reads bodies as texts: the bytes of a file have to be ASCII. */
function upload(ask: Ask, isLight: boolean) {
  if (!isLight) {
    const json = { comment: 'A car', photo: { data: drawCar('red', 4).toString('base64') } }
    return ask('/v2/photos', { method: 'POST', json, status: 201 })
  }
  const body = new FormData()
  body.set('comment', 'A car')
  body.set('photo', new Blob(['GIF89a text'], { type: 'image/gif' }), 'car.gif')
  return ask('/v2/photos', { method: 'POST', body, status: 201 })
}
