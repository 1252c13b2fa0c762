// Bytes that clients leave unread are bounded over all connections.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'
import { type Served, serve } from './wire.ts'

const MIB = 1024 * 1024
const TEXTS = 8

let served: Served

beforeAll(async () => {
  const texts = defineCollection({
    name: 'texts',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
    id: 'integer',
  })
  const api = defineApi({
    collections: [texts],
    limits: { page: 64 * MIB, unsent: 2 * TEXTS * MIB + 4 * MIB },
    onError: () => undefined,
  })
  for (let n = 0; n < TEXTS; n++) await api.collection(texts).create({ text: 'x'.repeat(2 * MIB) })
  served = await serve(api.handler)
})
afterAll(() => served.close())

const bytesOf = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: ${served.host}\r\nConnection: close\r\n\r\n`

async function ask(path: string, method = 'GET', body = '') {
  const answer = await fetch(`http://${served.host}${path}`, {
    method,
    redirect: 'manual',
    ...(body !== '' && { body, headers: { 'content-type': 'application/json' } }),
  })
  return {
    status: answer.status,
    retry: answer.headers.get('retry-after'),
    text: await answer.text(),
  }
}

test('large reads are 503 while others leave theirs unread; small ones and writes are answered', async () => {
  const slow = connect(served.port, '127.0.0.1').pause()
  slow.write(bytesOf('/texts'))
  await once(slow, 'connect')
  // Its answer is made in this process: a few passes of the event loop later it waits.
  await wait(50)
  const refused = await ask('/texts')
  expect(refused).toMatchObject({ status: 503, retry: '1' })
  expect(JSON.parse(refused.text).errors[0]).toMatchObject({ type: 'overloaded' })
  expect(await ask('/texts/count')).toMatchObject({ status: 200 })
  expect(await ask('/texts?limit=1')).toMatchObject({ status: 200 })
  const patched = await ask('/texts/1', 'PATCH', '{}')
  expect(patched.status).toBe(303)
  // Once it is read there is room again.
  await once(slow.resume(), 'close')
  expect(await ask('/texts')).toMatchObject({ status: 200 })
})

test('a connection that breaks leaves room', async () => {
  const slow = connect(served.port, '127.0.0.1').pause()
  slow.write(bytesOf('/texts'))
  await once(slow, 'connect')
  await wait(50)
  expect(await ask('/texts')).toMatchObject({ status: 503 })
  slow.destroy()
  await wait(50)
  expect(await ask('/texts')).toMatchObject({ status: 200 })
})
