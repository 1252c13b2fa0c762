// What clients of live lists may send and do: nobody gets a 500, an item too few, or memory of the server.
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, HttpError, memoryStore } from '../../src/index.ts'
import { harden } from '../../src/node/index.ts'
import { Board, parseEvents } from './events.ts'

const schema = z.object({ color: z.string(), note: z.string().default('') })

async function serve(limits = {}) {
  const cars = defineCollection({
    name: 'cars',
    id: 'integer',
    schema,
    store: memoryStore(),
    live: true,
  })
  const failures: unknown[] = []
  const onError = (error: unknown) => {
    if (!(error instanceof HttpError && error.errors[0]?.type === 'overloaded'))
      failures.push(error)
  }
  const api = defineApi({ collections: { cars }, limits, onError })
  const sockets = new Set<Socket>()
  const server = harden(createServer(api.handler)).on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await api.close()
    expect(failures).toEqual([])
  })
  const { port } = server.address() as AddressInfo
  const follow = async (last = '') => {
    const board = new Board()
    board.last = last
    const response = await board.connect((headers, signal) =>
      fetch(`http://127.0.0.1:${port}/cars`, { headers, signal }),
    )
    return { board, response }
  }
  return { cars: api.asSystem().collection(cars), port, follow, sockets }
}

/** Last-Event-IDs, of one that the server has given and of one that another server has given. */
const LAST: Readonly<Record<string, (own: string, other: string) => string>> = {
  'of another log': (_, other) => other,
  'of another list': own => `x${own}`,
  'from the future': own => own.replace(/\d+$/, number => `${Number(number) + 1}`),
  'far in the future': own => own.replace(/\d+$/, '9007199254740993'),
  negative: own => own.replace(/\d+$/, '-1'),
  'no number': own => own.replace(/\d+$/, '1e3'),
  'without a number': own => own.replace(/\d+$/, ''),
  'with a quote': own => `${own}'; drop table cars; --`,
  'of 8,000 characters': own => own + '0'.repeat(8000 - own.length),
  'of other characters': own => `${own}\u00ff`,
  'the key alone': own => own.split('.')[0] ?? '',
}

describe('Last-Event-ID', () => {
  test.each(Object.keys(LAST))('%s: the list comes anew', async name => {
    const { cars, follow } = await serve()
    const other = await serve()
    await other.cars.create({ color: 'blue' })
    await cars.create({ color: 'red' })
    const [first, second] = [await follow(), await other.follow()]
    await first.board.until(() => first.board.isReady)
    await second.board.until(() => second.board.isReady)
    const { board, response } = await follow(LAST[name]?.(first.board.last, second.board.last))
    expect(response.status).toBe(200)
    await board.until(() => board.isReady)
    expect(board.events.map(({ event }) => event)).toEqual(['reset', 'items', 'ready'])
    expect([...board.items.values()]).toMatchObject([{ id: 1, color: 'red' }])
  })

  test('too old: the list comes anew', async () => {
    const { cars, follow } = await serve({ maxLive: 50_000 })
    await cars.create({ color: 'red' })
    const { board } = await follow()
    await board.until(() => board.isReady)
    await board.disconnect()
    for (let at = 0; at < 21; at++)
      await cars.create(Array.from({ length: 1000 }, () => ({ color: 'blue' })))
    const { board: again } = await follow(board.last)
    await again.until(() => again.isReady && again.items.size === 21_001)
    expect(again.events[0]?.event).toBe('reset')
  })
})

/** Asks for the stream by bytes. */
function ask(
  port: number,
  head = 'GET /cars HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n',
) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(head)
  return socket
}

/** When a client goes: once this was read. */
const PHASES: Readonly<Record<string, RegExp>> = {
  'at once': /^/,
  'after the head': /\r\n\r\n/,
  'after reset': /event: reset/,
  'within the list': /event: items/,
  'after ready': /event: ready/,
}

test.each(Object.keys(PHASES))('a client that goes %s leaves its place', async phase => {
  const { cars, port, follow } = await serve({ watchers: 1 })
  for (let at = 0; at < 5; at++)
    await cars.create(Array.from({ length: 100 }, () => ({ color: 'red', note: 'n'.repeat(2000) })))
  const socket = ask(port)
  let read = ''
  await new Promise<void>(resolve => {
    const look = (chunk = '') => {
      read += chunk
      if (PHASES[phase]?.test(read)) resolve()
    }
    socket.on('data', look)
    socket.on('connect', () => look())
  })
  socket.destroy()
  await expect.poll(async () => (await follow()).response.status).toBe(200)
})

test.each([
  ['does not read', 0],
  ['reads a byte at a time', 1],
])('a client that %s costs no memory, and has the list when it reads', async (_, bytes) => {
  const { cars, port, sockets } = await serve()
  const socket = ask(port).pause()
  await expect.poll(() => sockets.size).toBe(1)
  let most = 0
  let head = ''
  for (let at = 0; at < 400; at++) {
    const { id } = await cars.create({ color: 'red', note: 'n'.repeat(50_000) })
    if (at > 0) await cars.delete(id)
    for (const { writableLength } of sockets) most = Math.max(most, writableLength)
    if (bytes > 0) head += socket.read(bytes) ?? ''
    // The stream is told within a turn.
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  expect(most).toBeLessThan(1_000_000)
  expect(head.length > 0).toBe(bytes > 0)
  const board = new Board()
  const body = async function* () {
    let rest = head
    for await (const chunk of socket) {
      // Chunks of HTTP/1.1: their lengths stand in lines of their own.
      rest += chunk
      const lines = rest.split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines)
        if (!/^([\da-f]+|[\w-]+: .*|HTTP.*)$/i.test(line) || /^(event|data|id|retry)/.test(line))
          yield Buffer.from(line)
    }
  }
  const reading = (async () => {
    for await (const each of parseEvents(body())) board.apply(each)
  })().catch(() => {})
  await board.until(() => board.isReady && board.items.size === 1)
  socket.destroy()
  await reading
})

test('one watcher more than there may be is a 503, and all others go on', async () => {
  const { cars, follow } = await serve({ watchers: 20 })
  const boards = await Promise.all(Array.from({ length: 20 }, () => follow()))
  for (const { board } of boards) await board.until(() => board.isReady)
  const { response } = await follow()
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.json()).toMatchObject({ errors: [{ type: 'overloaded' }] })
  await cars.create({ color: 'red' })
  for (const { board } of boards) await board.until(() => board.items.size === 1)
  await boards[0]?.board.disconnect()
  await expect.poll(async () => (await follow()).response.status).toBe(200)
})
