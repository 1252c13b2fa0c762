import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { start } from './running.ts'

test('a resource is at most 12 lines', async () => {
  const text = await readFile(new URL('../../examples/minimal.ts', import.meta.url), 'utf8')
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
})

test('the twelve lines run', async () => {
  const running = start('minimal', [], { PORT: '0' })
  const [, port] = await running.until(/port: (\d+)/)
  const cars = `http://127.0.0.1:${port}/cars`
  const made = await fetch(cars, {
    method: 'POST',
    body: new URLSearchParams({ immatriculation: 'AB-123-CD', color: 'red', price: '9000' }),
  })
  expect(made.status).toBe(201)
  const list = await fetch(`${cars}?price[gte]=9000`)
  expect(await list.json()).toEqual([await made.json()])
  await running.ended('SIGTERM')
})
