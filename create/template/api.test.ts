import assert from 'node:assert/strict'
import { after, test } from 'node:test'

process.env.DATABASE = ':memory:'
const { api } = await import('./api.ts')
after(() => api.close())

const send = (method: string, path: string, body?: unknown) =>
  api.fetch(
    new Request(`http://api.example${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )

test('a note is created, and found', async () => {
  const created = await send('POST', '/notes', { title: 'Buy bread' })
  assert.equal(created.status, 201)
  const { id } = (await created.json()) as { id: string }
  const found = (await (await send('GET', `/notes?id=${id}&done=false`)).json()) as unknown[]
  assert.equal(found.length, 1)
})

test('a note without a title is refused', async () => {
  const response = await send('POST', '/notes', {})
  assert.equal(response.status, 400)
})
