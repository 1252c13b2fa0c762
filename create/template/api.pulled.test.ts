import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from './api.ts'

test('each collection can be listed', async () => {
  for (const name of Object.keys(api.collections)) {
    const response = await api.fetch(new Request(`http://api.example/${name}?limit=1`))
    assert.equal(response.status, 200, name)
  }
  await api.close()
})
