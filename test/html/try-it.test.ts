// `/docs/try`: a request that a form of the documentation sends is the request itself, shown on a page.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import { defineApi, defineCollection, form, json, memoryStore } from '../../src/index.ts'
import { openHandler } from '../handlers.ts'

const things = () =>
  defineCollection({ name: 'things', schema: z.object({ text: z.string() }), store: memoryStore() })

async function open(options = {}) {
  const collections = [things()]
  const api = defineApi({ collections, pages: html, formats: [json, form], ...options })
  return openHandler('fetch', api)
}

const POST = (body: string, headers = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  body,
})
const TRY = '/docs/try?_path=%2Fthings'

describe('a request that is tried', () => {
  it('is done, and its answer is shown with nothing unescaped', async () => {
    const client = await open()
    const created = await client.request(TRY, POST('text=%3Cscript%3Ealert(1)%3C%2Fscript%3E'))
    expect(created.status).toBe(200)
    expect(created.text).toContain('201 Created')
    expect(created.text).not.toContain('<script>')
    expect(created.text).toContain('&lt;script&gt;')
    expect(created.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(created.headers.get('cache-control')).toBe('no-store')
    const listed = await client.request(`${TRY}&limit=5&text=`)
    expect(listed.text).toContain('/things?limit=5')
    expect(listed.text).toContain('&lt;script&gt;')
  })

  it('shows 64 KiB of a body', async () => {
    const client = await open()
    await client.request('/things', POST(`text=${'x'.repeat(100_000)}`))
    const { text } = await client.request(TRY)
    expect(text).toContain('The first 64 KiB')
    expect(text.match(/x{1000,}/g)?.join('').length).toBeLessThan(65_536)
  })

  it('is refused from a page of another origin', async () => {
    const client = await open()
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const refused = await client.request(TRY, POST('text=a', { ...headers, cookie: 'a=b' }))
    expect(refused.status).toBe(403)
    expect((await client.request('/things')).text).toBe('[]')
  })

  it('is counted once, as what it is', async () => {
    const client = await open({ rateLimit: { policies: [{ limit: 1, window: 60, on: 'writes' }] } })
    expect((await client.request(TRY, POST('text=a'))).status).toBe(200)
    expect((await client.request(TRY, POST('text=b'))).status).toBe(429)
    expect(JSON.parse((await client.request('/things')).text)).toHaveLength(1)
  })

  it.each(['', '//evil.example/', 'https://evil.example/', '/a?b', '/a%0d%0ab'])(
    'has a path of this api: %j is a 400',
    async path => {
      const client = await open()
      const _path = encodeURIComponent(decodeURIComponent(path))
      const { status } = await client.request(`/docs/try?_path=${_path}`)
      expect(status).toBe(path.startsWith('//') ? 404 : 400)
    },
  )

  it('does not try itself', async () => {
    const client = await open()
    const { status } = await client.request(`/docs/try?_path=${encodeURIComponent('/docs/try')}`)
    expect(status).toBe(404)
  })
})
