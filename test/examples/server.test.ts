import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { Agent, type ClientRequest, type IncomingMessage, request as send } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import Database from 'libsql'
import { describe, expect, test, vi } from 'vitest'
import { drawCar } from '../../examples/picture.ts'
import { inDirectory, jsonOf, serve, start } from './running.ts'

const run = promisify(execFile)

/** A POST whose headers have reached the server while its body is still to come. */
async function half(url: string): Promise<ClientRequest> {
  const headers = { 'content-type': 'application/json', expect: '100-continue' }
  const request = send(url, { method: 'POST', headers })
  request.flushHeaders()
  await once(request, 'continue')
  return request
}

async function answer(request: ClientRequest): Promise<[status: number | undefined, body: string]> {
  const [response]: IncomingMessage[] = await once(request, 'response')
  return response ? [response.statusCode, await text(response)] : [undefined, '']
}

const photo_data = drawCar('red', 16).toString('base64')

interface Photo {
  readonly photo: { readonly url: string; readonly updated_at: string }
}

const DRAFT = JSON.stringify({ comment: 'made while stopping', photo_data })

describe('the example server', () => {
  test('prints what it serves and three lines that work as pasted', async () => {
    const server = await serve()
    const printed = server.output()
    for (const name of ['cars', 'options', 'models', 'cars_models', 'accounts', 'photos']) {
      expect(printed).toContain(`${server.root}${name}\n`)
      const response = await fetch(`${server.root}${name}`)
      expect([name, response.status]).toEqual([name, 200])
      expect(Number(response.headers.get('x-result-count'))).toBeGreaterThan(20)
    }
    const lines = [...printed.matchAll(/^ {2}(curl .*)$/gm)].map(([, line = '']) => line)
    expect(lines).toHaveLength(3)
    const [root = '', cars = '', option = ''] = await Promise.all(
      lines.map(line => run('sh', ['-c', line]).then(({ stdout }) => stdout)),
    )
    expect(JSON.parse(root)).toMatchObject({ url: server.root, resources: { cars: {} } })
    expect(cars).toMatch(/^HTTP\/1.1 200 OK/)
    expect(cars).toMatch(/^Content-Range: cars 0-4\/\d+\r$/m)
    expect(JSON.parse(cars.slice(cars.indexOf('\r\n\r\n')))).toHaveLength(5)
    expect(option).toMatch(/^HTTP\/1.1 201 Created/)
    expect(option).toContain('"name":"Roof rack","price":250')
    expect(await server.ended('SIGTERM')).toBe(0)
    expect(server.errors()).toBe('')
  })

  test('keeps its data over a restart, and seeds only once', () =>
    inDirectory(async directory => {
      const database = join(directory, 'made', 'for', 'it.db')
      const first = await serve(database)
      expect(first.output()).toContain('new items')
      expect((await stat(database)).isFile()).toBe(true)
      const body = new URLSearchParams({ comment: 'Kept', photo_data })
      const made = await fetch(`${first.root}photos`, { method: 'POST', body })
      const location = made.headers.get('location') ?? ''
      const { photo, ...rest } = await jsonOf<Photo>(made)
      const cars = `${first.root}cars`
      const deleted = await fetch(`${cars}/2`, { method: 'DELETE' })
      expect(deleted.status).toBe(200)
      const count = await fetch(`${cars}/count`).then(response => response.json())
      expect(await first.ended('SIGINT')).toBe(0)

      const second = await serve(database)
      expect(second.output()).not.toContain('new items')
      const url = location.replace(first.root, second.root)
      const { photo: kept, ...others } = await jsonOf<Photo>(await fetch(url))
      expect(others).toEqual(rest)
      expect(kept.updated_at).toBe(photo.updated_at)
      const bytes = Buffer.from(await (await fetch(kept.url)).arrayBuffer())
      expect(bytes.toString('base64')).toBe(photo_data)
      expect((await fetch(`${second.root}cars/2`)).status).toBe(404)
      const again = await fetch(`${second.root}cars/count`).then(response => response.json())
      expect(again).toEqual(count)
      expect(await second.ended('SIGTERM')).toBe(0)
    }))

  test('SIGTERM lets a running request end, and only then stops', () =>
    inDirectory(async directory => {
      const database = join(directory, 'it.db')
      const server = await serve(database)
      const agent = new Agent({ keepAlive: true })
      const kept = send(`${server.root}cars/1`, { agent }).end()
      expect((await answer(kept))[0]).toBe(200)
      const running = await half(`${server.root}photos`)
      server.process.kill('SIGTERM')
      await server.until(/Shutting down/)
      // New connections are refused soon, while the running request still is answered.
      await vi.waitFor(async () => expect(await refused(server.root)).toBe('ECONNREFUSED'), 60_000)
      running.end(DRAFT)
      const [status, body] = await answer(running)
      expect(status).toBe(201)
      expect(await server.ended()).toBe(0)
      agent.destroy()

      const next = await serve(database)
      const { id } = JSON.parse(body)
      expect((await fetch(`${next.root}photos/${id}`)).status).toBe(200)
      await next.ended('SIGTERM')
    }))

  test('a second signal ends it at once', async () => {
    const server = await serve()
    const running = await half(`${server.root}photos`)
    const cut = once(running, 'error')
    server.process.kill('SIGTERM')
    await server.until(/Shutting down/)
    expect(await server.ended('SIGINT')).toBe(1)
    await cut
  })

  test('a port in use ends the start with a clear message', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const server = start('server', ['--database', ':memory:'], { PORT: port })
    expect(await server.ended()).toBe(1)
    expect(server.errors()).toBe(
      `Port ${port} of 127.0.0.1 is in use; choose another with --port, or --port 0 for any\n`,
    )
    other.close()
  })

  test('a failing database is a 500 without details, and the rest goes on', () =>
    inDirectory(async directory => {
      const database = join(directory, 'it.db')
      const server = await serve(database)
      const other = new Database(database)
      other.exec('drop table accounts')
      other.close()
      const url = `${server.root}accounts`
      for (const [path, status] of [
        ['', 500],
        ['?suppress_error_codes', 500],
        ['/1', 500],
      ] as const) {
        const response = await fetch(url + path)
        const body = await response.text()
        expect([response.status, JSON.parse(body)]).toEqual([
          status,
          {
            message: expect.any(String),
            errors: [{ code: 500, type: 'internal', message: expect.stringMatching(/log/) }],
          },
        ])
        expect(body).not.toMatch(/sql|table|accounts|libsql/i)
      }
      expect((await fetch(`${server.root}cars/1`)).status).toBe(200)
      expect(await server.ended('SIGTERM')).toBe(0)
      // The first words where the store is not open yet.
      expect(server.errors()).toMatch(/The table accounts does not exist|no such table: accounts/)
    }))

  test('an invalid database file ends the start with a clear message', () =>
    inDirectory(async directory => {
      const server = start('server', ['--port', '0', '--database', directory])
      expect(await server.ended()).toBe(1)
      expect(server.errors()).toMatch(/^Cannot open the database \/.*\n$/)
    }))

  test.each([
    [['--prot', '1'], 1, /^Unknown option '--prot'\n\nUsage: npm start/],
    [['--help'], 0, /^Usage: npm start/],
  ] as const)('%j ends with %i and prints the usage', async (args, code, message) => {
    const server = start('server', args)
    expect(await server.ended()).toBe(code)
    expect(code === 0 ? server.output() : server.errors()).toMatch(message)
  })
})

/** The code of the error that a new connection ends with. */
function refused(url: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const request = send(url, { agent: false }, response => {
      response.resume()
      reject(new Error(`It still answers: ${response.statusCode}`))
    })
    request.once('error', (error: NodeJS.ErrnoException) => resolve(error.code)).end()
  })
}
