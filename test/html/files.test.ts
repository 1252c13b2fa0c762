// Forms with files: empty file inputs, present files, missing files.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { html } from '../../src/html/index.ts'
import {
  blob,
  defineApi,
  defineCollection,
  form,
  json,
  memoryBlobs,
  memoryStore,
  multipart,
} from '../../src/index.ts'
import { formOf, textOf } from './reading.ts'

const Paper = z.object({
  title: z.string(),
  scan: blob().nullable(),
  cover: blob().nullable().optional(),
  text: blob().optional(),
})

type Files = Readonly<Record<string, string>>

/** Papers in both forms of their addresses, and a browser at them. */
function papers(binary: 'flat' | 'object', operations?: ('create' | 'read' | 'patch' | 'list')[]) {
  const collection = defineCollection({
    name: 'papers',
    schema: Paper,
    store: memoryStore(),
    blobs: memoryBlobs(),
    id: 'integer',
    binary,
    ...(operations && { operations }),
  })
  const api = defineApi({
    collections: [collection],
    pages: html,
    formats: [json, form, multipart],
  })
  const visit = async (path: string, body?: FormData) => {
    const init = { headers: { accept: 'text/html' }, ...(body && { method: 'POST', body }) }
    const answer = await api.fetch(new Request(`http://papers.example${path}`, init))
    return { status: answer.status, page: await answer.text() }
  }
  /** Sends a form as a browser does: with files chosen, and others removed. */
  const submit = (page: string, button: string, files: Files = {}, removed: string[] = []) => {
    const { action, pairs } = formOf(page, button)
    const body = new FormData()
    for (const [name, value] of pairs) body.append(name, removed.includes(name) ? '' : value)
    for (const name of ['scan', 'cover', 'text'])
      body.append(name, new Blob([files[name] ?? '']), files[name] === undefined ? '' : 'a.txt')
    return visit(action, body)
  }
  const read = async () => {
    const answer = await api.fetch(new Request('http://papers.example/papers/1'))
    const item = z.record(z.string(), z.unknown()).parse(await answer.json())
    return Object.fromEntries(
      Object.entries(item).flatMap(([name, value]) =>
        /^(?:scan|cover|text)/.test(name) ? [[name.replace('_url', ''), value && 'a file']] : [],
      ),
    )
  }
  return { visit, submit, read }
}

/** A paper with all of its files, saved as it is, and then with one of them, another. */
async function savedAndReplaced({ visit, submit, read }: ReturnType<typeof papers>) {
  const all = { scan: 'a', cover: 'b', text: 'c' }
  expect((await submit((await visit('/papers')).page, 'Create', all)).status).toBe(201)
  const save = async (files?: Files, removed?: string[]) =>
    (await submit((await visit('/papers/1')).page, 'Save', files, removed)).status
  expect(await save()).toBe(303)
  expect(await read()).toEqual({ scan: 'a file', cover: 'a file', text: 'a file' })
  expect(await save({ scan: 'other' }, ['scan_url', 'cover_url', 'text_url'])).toBe(303)
  expect(await read()).toEqual({ scan: 'a file' })
  return { save, read }
}

describe.each(['flat', 'object'] as const)('a form with files, addresses %s', binary => {
  it('may be submitted without optional files', async () => {
    const { visit, submit, read } = papers(binary)
    const made = await submit((await visit('/papers')).page, 'Create')
    expect(made.status).toBe(201)
    expect(await read()).toEqual({ scan: null })
    const { page } = await visit('/papers/1')
    expect((await submit(page, 'Save')).status).toBe(303)
    expect(await read()).toEqual({ scan: null })
  })

  it('keeps, replaces and removes present files', async () => {
    const { save, read } = await savedAndReplaced(papers(binary))
    expect(await save({}, ['scan_url'])).toBe(303)
    expect(await read()).toEqual({ scan: null })
  })
})

it.each(['flat', 'object'] as const)(
  'a form with files by PATCH alone, addresses %s',
  async binary => {
    const { save, read } = await savedAndReplaced(
      papers(binary, ['create', 'list', 'read', 'patch']),
    )
    expect(await save({}, ['scan_url'])).toBe(303)
    expect(await read()).toEqual({ scan: null })
  },
)

describe('a required file', () => {
  const photos = defineCollection({
    name: 'photos',
    schema: z.object({ photo: blob() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
  })
  const api = defineApi({ collections: [photos], pages: html, formats: [json, form, multipart] })
  const ask = (path: string, init: RequestInit = {}) =>
    api.fetch(new Request(`http://photos.example${path}`, init))

  it.each([
    [{}, 'photo is required'],
    [{ photo: null }, 'photo must be a file'],
  ])('is reported as missing: %j', async (body, message) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await ask('/photos', { method: 'POST', headers, body: JSON.stringify(body) })
    expect(await answer.json()).toMatchObject({ errors: [{ field: 'photo', message }] })
  })

  it('is required by the browser, unless there is one already', async () => {
    const headers = { accept: 'text/html' }
    const list = await (await ask('/photos', { headers })).text()
    expect(list).toMatch(/<input type="file"[^>]* name="photo" required/)
    const body = new FormData()
    body.append('photo', new Blob(['a']), 'a.txt')
    const made = await (await ask('/photos', { method: 'POST', headers, body })).text()
    expect(textOf(made)).toContain('Created')
    expect(made).toMatch(/<input type="file"[^>]* name="photo"(?! required)/)
  })
})
