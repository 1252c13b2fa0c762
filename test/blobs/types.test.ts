// Which media type a file has: by its bytes, and where these look alike by what the client says of it.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from '../../src/index.ts'
import { openHandlers } from '../handlers.ts'

const CSV = 'a,b\n1,2\n'
const JSON_TEXT = '{"a":1}'
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
const HTML = '<!doctype html><script>alert(1)</script>'
const ZIP = 'PK\x03\x04\x14\0\0\0'
const PNG = '\x89PNG\r\n\x1a\n'
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const ODT = 'application/vnd.oasis.opendocument.text'
const UNKNOWN = 'application/octet-stream'

function serve(accept?: readonly string[]) {
  const files = defineCollection({
    name: 'files',
    schema: z.object({ file: blob({ accept }), note: z.json().optional() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
  })
  return { api: defineApi({ collections: [files], changes: 'representation' }), files }
}

function formOf(content: string, type: string, name: string): FormData {
  const form = new FormData()
  form.set('file', new Blob([Buffer.from(content, 'latin1')], { type }), name)
  return form
}

async function upload(accept: readonly string[] | undefined, body: FormData) {
  const { api } = serve(accept)
  const made = await api.fetch(new Request('http://a.example/files', { method: 'POST', body }))
  const shown = Object(await made.json())
  if (made.status !== 201) return { status: made.status, message: shown.errors[0].message }
  const { headers, ...download } = await api
    .fetch(new Request(shown.file_url))
    .then(async found => ({
      headers: found.headers,
      text: Buffer.from(await found.arrayBuffer()).toString('latin1'),
    }))
  return { status: made.status, headers, text: download.text, type: headers.get('content-type') }
}

it.each<
  [what: string, content: string, declared: string, accept: string[] | undefined, type: string]
>([
  ['CSV', CSV, 'text/csv', ['text/csv'], 'text/csv'],
  ['CSV of a Windows with Excel', CSV, 'application/vnd.ms-excel', ['text/csv'], 'text/csv'],
  ['CSV of which nobody says so', CSV, UNKNOWN, ['text/csv'], 'text/csv'],
  ['JSON', JSON_TEXT, 'application/json', ['application/json'], 'application/json'],
  ['XML by its other name', '<a/>', 'text/xml', ['application/xml'], 'application/xml'],
  ['XML declared by its other name', '<a/>', 'application/xml', ['text/xml'], 'application/xml'],
  ['SVG', SVG, 'image/svg+xml', ['image/svg+xml'], 'image/svg+xml'],
  ['docx', ZIP, DOCX, [DOCX], DOCX],
  ['docx of which nobody says so', ZIP, UNKNOWN, [DOCX], DOCX],
  ['odt', ZIP, ODT, ['application/*'], ODT],
  ['CSV where a text is accepted', CSV, 'text/csv', ['text/plain'], 'text/plain'],
  ['docx where a zip is accepted', ZIP, DOCX, ['application/zip'], 'application/zip'],
  ['CSV where all is accepted', CSV, 'text/csv', undefined, 'text/csv'],
  ['SVG where all is accepted', SVG, 'image/svg+xml', undefined, 'text/plain'],
  ['HTML where all is accepted', HTML, 'text/html', undefined, 'text/plain'],
  ['XHTML where all is accepted', HTML, 'application/xhtml+xml', undefined, 'text/plain'],
  ['a script where all is accepted', HTML, 'text/javascript', undefined, 'text/plain'],
  ['a picture that is called CSV', PNG, 'text/csv', undefined, 'image/png'],
  ['a picture that is called HTML', PNG, 'text/html', undefined, 'image/png'],
  ['other bytes that are called docx', '\0\x01\x02', DOCX, undefined, UNKNOWN],
])('%s', async (_what, content, declared, accept, type) => {
  const { headers, ...found } = await upload(accept, formOf(content, declared, 'a.bin'))
  expect(found).toEqual({ status: 201, type, text: content })
  expect(headers?.get('x-content-type-options')).toBe('nosniff')
  expect(headers?.get('content-security-policy')).toBe("sandbox; default-src 'none'")
  expect(headers?.get('content-disposition')).toMatch(
    type === 'image/png' ? /^inline/ : /^attachment/,
  )
})

it.each([
  ['SVG for a picture', SVG, 'image/svg+xml', ['image/*'], 'image/*, not image/svg+xml'],
  ['HTML for CSV', HTML, 'text/html', ['text/csv'], 'text/csv, not text/plain'],
  ['CSV for JSON', CSV, 'text/csv', ['application/json'], 'application/json, not text/csv'],
  ['a zip for docx', ZIP, 'application/zip', [DOCX], `${DOCX}, not application/zip`],
])('%s is refused', async (_what, content, declared, accept, message) => {
  const found = await upload(accept, formOf(content, declared, 'a.bin'))
  expect(found).toEqual({ status: 400, message: `file must be ${message}` })
})

it.each([
  ['a.json', 'application/json', JSON_TEXT],
  ['a.geojson', 'application/geo+json', JSON_TEXT],
  ['a.json', 'application/json', 'no JSON'],
  ['a.xml', 'text/xml', '<a>'],
  ['a.xml', 'application/xml', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
])('a form sends %s of %s as a file', async (name, type, content) => {
  const { text } = await upload(undefined, formOf(content, type, name))
  expect(text).toBe(content)
})

it('for another property it is a value as before', async () => {
  const { api } = serve()
  const handlers = await openHandlers(api)
  for (const { request, close } of handlers) {
    const form = formOf(CSV, 'text/csv', 'a.csv')
    form.set('note', new Blob([JSON_TEXT], { type: 'application/json' }), 'blob')
    const encoded = new Response(form)
    const headers = { 'content-type': encoded.headers.get('content-type') ?? '' }
    const body = new Uint8Array(await encoded.arrayBuffer())
    const made = await request('/files', { method: 'POST', headers, body })
    expect(made.json).toMatchObject({ note: { a: 1 } })
    await close()
  }
})

describe('Base64', () => {
  const typeOf = async (accept: readonly string[] | undefined, file_data: string) => {
    const { api } = serve(accept)
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify({ file_data }) }
    const made = await api.fetch(new Request('http://a.example/files', init))
    if (made.status !== 201) return made.status
    const { file_url } = Object(await made.json())
    return (await api.fetch(new Request(file_url))).headers.get('content-type')
  }
  const digits = Buffer.from(CSV).toString('base64')

  it.each([
    ['alone', digits, ['text/csv'], 'text/csv'],
    ['in a data: URL', `data:text/csv;base64,${digits}`, undefined, 'text/csv'],
    [
      'in a data: URL with a charset',
      `data:text/CSV;charset=utf-8;base64,${digits}`,
      undefined,
      'text/csv',
    ],
    ['in a data: URL without a type', `data:;base64,${digits}`, undefined, 'text/plain'],
    ['of HTML', `data:text/html;base64,${digits}`, undefined, 'text/plain'],
    ['of HTML for CSV', `data:text/html;base64,${digits}`, ['text/csv'], 400],
  ])('%s', async (_what, data, accept, type) => {
    expect(await typeOf(accept, data)).toBe(type)
  })
})

it('a file of a program has its type', async () => {
  const { api, files } = serve(['application/json'])
  const file = new Blob([JSON_TEXT], { type: 'application/json' })
  const made = await api.collection(files).create({ file })
  expect(made.file).toMatchObject({ type: 'application/json' })
})

it.each([
  'application/msword',
  'text/html',
  'application/xhtml+xml',
  'text/javascript',
  'font/*',
  'image/jpg',
  '*/csv',
])('%s is a TypeError, which lists what bytes can show', type => {
  const define = () => serve(['image/png', type])
  expect(define).toThrow(TypeError)
  expect(define).toThrow(/image\/png, .*text\/csv, .*application\/json/)
})
