// The example that imports a file: whole, after it was killed, and with a wrong line.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { importFile, readParts } from '../../examples/import.ts'
import { defineApi, defineCollection } from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import { openDatabase } from '../stores/sqlite.ts'

const LINES = 12_000
const directory = mkdtempSync(join(tmpdir(), 'import-'))
afterAll(() => rmSync(directory, { recursive: true }))

function writeTable(name: string, lines: readonly string[]): string {
  const file = join(directory, name)
  writeFileSync(file, ['code,note', ...lines].map(line => `${line}\n`).join(''))
  return file
}

async function serve() {
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({ code: z.string().min(2), note: z.string().optional() }),
    store: sqlStore({ db: await openDatabase(), create: true }),
    unique: ['code'],
  })
  const api = defineApi({ collections: { cars } })
  const server = createServer(api.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cars`
  return { url, cars: api.collection(cars), close: () => server.close() }
}

function start(file: string, url: string): ChildProcess {
  const script = fileURLToPath(new URL('../../examples/import.ts', import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', script, file, url])
}

async function readErrors(child: ChildProcess): Promise<string> {
  let text = ''
  child.stderr?.on('data', chunk => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  return `${code} ${text}`
}

test('a file is imported once, though the program is killed and run again', async () => {
  const { url, cars, close } = await serve()
  const note = (at: number) => (at % 7 === 0 ? '"two\nlines, ""quoted"" – é"' : 'plain')
  const file = writeTable(
    'cars.csv',
    Array.from({ length: LINES }, (_, at) => `car ${at},${note(at)}`),
  )
  const killed = start(file, url)
  // Behind the third part.
  for (let seen = 0; seen < 3; seen++) await once(killed.stderr ?? killed, 'data')
  killed.kill('SIGKILL')
  await once(killed, 'close')
  const between = await cars.count()
  expect(between).toBeGreaterThanOrEqual(3000)
  expect(between).toBeLessThan(LINES)
  const output = await readErrors(start(file, url))
  expect(output).toContain('[##############################] 100 %  12,000 lines')
  expect(output).toMatch(/^0 .*All 12,000 lines are there\.\n$/s)
  expect(await cars.count()).toBe(LINES)
  expect(await cars.list({ note: { like: 'two*' } }).first()).toMatchObject({
    note: 'two\nlines, "quoted" – é',
  })
  expect(await importFile(file, url)).toBe(LINES)
  expect(await cars.count()).toBe(LINES)
  close()
})

test('a wrong line is named as it stands in the file; corrected, the rest follows', async () => {
  const { url, cars, close } = await serve()
  const lines = Array.from({ length: 2500 }, (_, at) => `car ${at},"a\nb"`)
  const wrong = lines.with(1500, 'x,"a\nb"')
  const output = await readErrors(start(writeTable('wrong.csv', wrong), url))
  // The header, and 1,500 records of two lines above it.
  expect(output).toContain('Line 3002: code must have at least 2 characters')
  expect(output).toMatch(/^1 .*Correct the file, and run this again\.\n$/s)
  expect(await cars.count()).toBe(1000)
  expect(await importFile(writeTable('wrong.csv', lines), url)).toBe(2500)
  expect(await cars.count()).toBe(2500)
  // A value that another item has: without a key it is named, and final.
  const twice = writeTable('twice.csv', ['new,', 'car 7,'])
  await expect(importFile(twice, url)).rejects.toThrow('Line 3: Another item has the same code')
  expect(await cars.count()).toBe(2500)
  close()
})

test('a file is read in parts that a request may have', async () => {
  const read = async (file: string) => {
    const parts = []
    for await (const part of readParts(file)) parts.push(part)
    return parts
  }
  const long = writeTable(
    'long.csv',
    Array.from({ length: 30 }, () => `x,${'é'.repeat(50_000)}`),
  )
  const parts = await read(long)
  expect(parts.map(({ records }) => records)).toEqual([8, 8, 8, 6])
  expect(parts.map(({ above }) => above)).toEqual([1, 9, 17, 25])
  expect(parts.every(({ text }) => text.startsWith('code,note\nx,'))).toBe(true)
  const file = join(directory, 'end.csv')
  writeFileSync(file, 'code,note\r\n"a\r\nb",1\r\nlast,"2"')
  expect(await read(file)).toMatchObject([
    { records: 2, bytes: 29, text: expect.stringMatching(/"2"$/) },
  ])
  writeFileSync(file, 'code,note\n')
  expect(await read(file)).toEqual([])
})
