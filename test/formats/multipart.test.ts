import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/values.ts'
import { HttpError } from '../../src/errors.ts'
import type { Upload } from '../../src/formats/format.ts'
import { PartHeads } from '../../src/formats/multipart/heads.ts'
import { multipart } from '../../src/formats/multipart/multipart.ts'
import { fieldsOf } from '../../src/schema/zod-fields.ts'
import { bodyOf, contextOf, type ReadOptions, readBody, refusalOf } from './helpers.ts'
import { text } from './values.ts'

const BOUNDARY = '----WebKitFormBoundary7MA4YWxkTrZu0gW'
const fields = fieldsOf(
  z.object({
    comment: z.string().optional(),
    price: z.number().optional(),
    sold: z.boolean().optional(),
    tags: z.array(z.string()).nullable().optional(),
    sizes: z.array(z.int()).optional(),
    model: z.object({ name: z.string(), year: z.int().optional() }).optional(),
    photo: z.any(),
  }),
)

/** A part: the parameters of its Content-Disposition, its other headers, its content. */
type Sent = readonly [disposition: string, headers: string, content: string | Uint8Array]

function formOf(parts: readonly Sent[], boundary = BOUNDARY): Buffer {
  const pieces = parts.flatMap(([disposition, headers, content]) => [
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${headers && `${headers}\r\n`}\r\n`,
    content,
    '\r\n',
  ])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map(piece => Buffer.from(piece)))
}

/** The same without its closing delimiter. */
const openForm = (parts: readonly Sent[]) => {
  const body = formOf(parts)
  return body.subarray(0, body.lastIndexOf(`\r\n--${BOUNDARY}--`))
}

const part = (name: string, content: string | Uint8Array, type = ''): Sent => [
  `name="${name}"`,
  type && `Content-Type: ${type}`,
  content,
]
const file = (
  name: string,
  content: string | Uint8Array,
  type = 'image/png',
  as = 'a.png',
): Sent => [`name="${name}"; filename="${as}"`, `Content-Type: ${type}`, content]

/** A blob side that keeps contents, and knows what became of each. */
function keeper() {
  const files: { field: string; name?: string | undefined; content: Buffer }[] = []
  const states: ('open' | 'kept' | 'given up')[] = []
  const upload = async (field: string, { name, content }: Upload): Promise<Json> => {
    const at = states.push('open') - 1
    try {
      const chunks: Uint8Array[] = []
      for await (const chunk of content) chunks.push(chunk)
      files.push({ field, name, content: Buffer.concat(chunks) })
      states[at] = 'kept'
      return `kept ${field}`
    } catch (error) {
      states[at] = 'given up'
      throw error
    }
  }
  return { files, states, upload }
}

function read(content: Parameters<typeof readBody>[1], options: ReadOptions = {}): Promise<Json> {
  return readBody(multipart, content, { fields, parameters: { boundary: BOUNDARY }, ...options })
}

describe('each part in its own format', () => {
  const cases: [string, Sent[], Json][] = [
    ['no parts', [], {}],
    ['a text', [part('comment', 'nice')], { comment: 'nice' }],
    ['an empty text of an optional field', [part('comment', '')], {}],
    ['a text with its type', [part('comment', 'é', 'text/plain; charset=utf-8')], { comment: 'é' }],
    [
      'a text in latin1',
      [part('comment', Buffer.from('é', 'latin1'), 'text/plain; charset=ISO-8859-1')],
      { comment: 'é' },
    ],
    [
      'texts typed by the fields',
      [part('price', '1.5'), part('sold', 'true')],
      { price: 1.5, sold: true },
    ],
    [
      'nested names',
      [part('model.name', 'Clio'), part('model[year]', '2020')],
      { model: { name: 'Clio', year: 2020 } },
    ],
    ['lists', [part('tags', 'a'), part('tags', 'b')], { tags: ['a', 'b'] }],
    ['a list of one', [part('tags[]', 'a')], { tags: ['a'] }],
    ['JSON', [part('model', '{"name":"Clio"}', 'application/json')], { model: { name: 'Clio' } }],
    [
      'JSON with a byte order mark',
      [part('model', '\ufeff{"name":"Clio"}', 'application/json')],
      { model: { name: 'Clio' } },
    ],
    [
      'JSON with a file name',
      [file('model', '{"name":"Clio"}', 'application/json', 'blob')],
      { model: { name: 'Clio' } },
    ],
    ['a list as JSON', [part('tags', '["a","b"]', 'application/json')], { tags: ['a', 'b'] }],
    [
      'XML',
      [part('model', '<model><name>007</name><year>2020</year></model>', 'application/xml')],
      { model: { name: '007', year: 2020 } },
    ],
    [
      'XML with a file name',
      [file('model', '<m><name>Clio</name></m>', 'text/xml', 'm.xml')],
      { model: { name: 'Clio' } },
    ],
    ['null for a list as JSON', [part('tags', 'null', 'application/json')], { tags: null }],
    ['null in a list as JSON', [part('sizes', 'null', 'application/json')], { sizes: [null] }],
    ['a list as XML', [part('tags', '<tags><tag>a</tag></tags>', 'text/xml')], { tags: ['a'] }],
    ['a file', [file('photo', 'PNG')], { photo: 'kept photo' }],
    ['a file of text', [file('photo', 'x', 'text/plain', 'a.txt')], { photo: 'kept photo' }],
    [
      'a file without a name',
      [part('photo', 'PNG', 'application/octet-stream')],
      { photo: 'kept photo' },
    ],
    [
      'an image without a name',
      [part('photo', '<svg/>', 'image/svg+xml')],
      { photo: 'kept photo' },
    ],
    ['an empty file', [file('photo', '')], { photo: 'kept photo' }],
    ['no file chosen', [file('photo', '', 'application/octet-stream', '')], {}],
    ['_method', [part('_method', 'PUT'), part('comment', 'x')], { comment: 'x' }],
    ['a name in UTF-8', [part('été', 'x')], { été: 'x' }],
    ['U+FFFD, which is valid UTF-8', [part('comment', 'a\ufffdb')], { comment: 'a\ufffdb' }],
    [
      'U+FFFD with a charset in quotes',
      [part('comment', 'a\ufffdb', 'text/plain; charset="UTF-8"')],
      { comment: 'a\ufffdb' },
    ],
    ['a name with U+FFFD', [part('\ufffd', 'x')], { '\ufffd': 'x' }],
    [
      'a text in latin1 after one in UTF-8',
      [
        part('other', '€'),
        part('comment', Buffer.from([0xe9]), 'text/plain; x=y; charset="latin1"'),
      ],
      { other: '€', comment: 'é' },
    ],
  ]
  it.each(cases)('%s', async (_, parts, value) => {
    for (const size of [1, 7, 65_536]) {
      const { upload } = keeper()
      expect(await read(bodyOf(formOf(parts), size), { upload })).toEqual(value)
    }
  })

  it('texts come as they were sent', async () => {
    const clean = text.filter(value => value !== '')
    await fc.assert(
      fc.asyncProperty(clean, fc.integer({ min: 1, max: 99 }), async (comment, size) => {
        const body = bodyOf(formOf([part('comment', comment)]), size)
        expect(await read(body)).toEqual({ comment })
      }),
    )
  })

  it('files come as they were sent, whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 500 }),
        fc.integer({ min: 1, max: 99 }),
        async (bytes, size) => {
          const { files, upload } = keeper()
          await read(bodyOf(formOf([file('photo', bytes), part('comment', 'x')]), size), { upload })
          expect(files).toEqual([{ field: 'photo', name: 'a.png', content: Buffer.from(bytes) }])
        },
      ),
    )
  })

  it('an image without a file name comes as it was sent, whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 500 }),
        fc.integer({ min: 1, max: 99 }),
        // Bun sends an empty name.
        fc.constantFrom('', '; filename=""'),
        async (bytes, size, name) => {
          const { files, upload } = keeper()
          const content = Buffer.concat([Buffer.from([0x89, 0xff]), bytes])
          const photo: Sent = [`name="photo"${name}`, 'Content-Type: image/png', content]
          const body = formOf([photo, part('comment', 'x')])
          expect(await read(bodyOf(body, size), { upload })).toEqual({
            photo: 'kept photo',
            comment: 'x',
          })
          expect(files).toEqual([{ field: 'photo', name: undefined, content }])
        },
      ),
    )
  })

  it('a browser’s own encoding', async () => {
    const data = new FormData()
    data.set('comment', 'a\r\nb é')
    data.set('photo', new File(['PNG'], 'été "1".png', { type: 'image/png' }))
    data.set('model', new Blob(['{"name":"Clio"}'], { type: 'application/json' }))
    const response = new Response(data)
    const boundary = response.headers.get('content-type')?.split('boundary=')[1] ?? ''
    const { files, upload } = keeper()
    expect(
      await read(new Uint8Array(await response.arrayBuffer()), {
        upload,
        parameters: { boundary },
      }),
    ).toEqual({ comment: 'a\r\nb é', photo: 'kept photo', model: { name: 'Clio' } })
    expect(files).toMatchObject([{ content: Buffer.from('PNG') }])
    expect(files[0]?.name).toMatch(/^été .*1.*\.png$/)
  })

  it('takes what a host has parsed as a form', () => {
    expect(multipart.receive?.({ price: '1' }, contextOf({ fields }))).toEqual({ price: 1 })
  })
})

describe('a file name is never a path', () => {
  const cases: [string, string, string | undefined][] = [
    ['a path', '../../etc/passwd', 'passwd'],
    ['a path of Windows', String.raw`C:\\Users\\a.png`, 'a.png'],
    ['an absolute path', '/etc/passwd', 'passwd'],
    ['only dots', '..', undefined],
    ['markup', '<b>.png', '<b>.png'],
  ]
  it.each(cases)('%s', async (_, name, expected) => {
    const { files, upload } = keeper()
    await read(formOf([file('photo', 'x', 'image/png', name)]), { upload })
    expect(files.map(({ name }) => name)).toEqual([expected])
  })
})

describe('refused', () => {
  const whole = formOf([part('comment', 'x'), file('photo', 'PNG')]).toString('latin1')
  const raw = (head: string) => `--${BOUNDARY}\r\n${head}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`
  const many = (count: number) =>
    formOf(Array.from({ length: count }, (_, at) => part(`a${at}`, '')))
  const cases: [string, string | Uint8Array, number?, string?, ReadOptions?][] = [
    ['nothing', ''],
    ['plain text', 'hello'],
    ['another boundary', formOf([part('comment', 'x')], 'other')],
    ['no closing delimiter', whole.slice(0, -6)],
    ['cut in a header', whole.slice(0, 80)],
    ['cut in a file', whole.slice(0, whole.indexOf('PNG') + 2)],
    ['missing boundary', whole, 400, '', { parameters: {} }],
    ['an empty boundary', whole, 400, '', { parameters: { boundary: '' } }],
    ['a boundary too long', whole, 400, '', { parameters: { boundary: 'a'.repeat(71) } }],
    ['a boundary with quotes', whole, 400, '', { parameters: { boundary: 'a"; x="' } }],
    ['a boundary with a line end', whole, 400, '', { parameters: { boundary: 'a\r\nb' } }],
    ['a part without a name', raw('Content-Disposition: form-data')],
    ['a part with an empty name', raw('Content-Disposition: form-data; name=""')],
    ['a file without a field name', raw('Content-Disposition: form-data; filename="a"')],
    ['a part without a disposition', raw('Content-Type: text/plain')],
    ['a part without headers', raw('')],
    ['an attachment', raw('Content-Disposition: attachment; name="comment"')],
    ['a disposition that does not end', raw('Content-Disposition: form-data; name="comment')],
    [
      'CRLF in a file name',
      raw('Content-Disposition: form-data; name="photo"; filename="a\r\nX: y"'),
    ],
    [
      'an escaped CRLF in a file name',
      raw(`Content-Disposition: form-data; name="photo"; filename*=utf-8''a%0d%0ab`),
    ],
    ['U+0000 in a file name', raw('Content-Disposition: form-data; name="photo"; filename="a\0b"')],
    ['a header that is none', raw('Content-Disposition: form-data; name="comment"\r\nno header')],
    [
      '17 KiB of part headers',
      raw(`Content-Disposition: form-data; name="comment"\r\nX: ${'a'.repeat(17_000)}`),
    ],
    ['a name in latin1', Buffer.from(raw('Content-Disposition: form-data; name="été"'), 'latin1')],
    [
      'an unknown charset',
      formOf([part('comment', 'x', 'text/plain; charset=klingon')]),
      400,
      'comment',
    ],
    ['invalid UTF-8', formOf([part('comment', Buffer.from([0xff]))]), 400, 'comment'],
    ['U+0000 in a text', formOf([part('comment', 'a\0b')]), 400, 'comment'],
    [
      'a transfer encoding',
      formOf([['name="comment"', 'Content-Transfer-Encoding: base64', 'eA==']]),
      400,
      'comment',
    ],
    ['a text of another type', formOf([part('price', 'cheap')]), 400, 'price'],
    ['no JSON', formOf([part('model', '{', 'application/json')])],
    ['no JSON, with a file name', formOf([file('model', '{', 'application/json')])],
    ['JSON in latin1', formOf([file('model', Buffer.from('"é"', 'latin1'), 'application/json')])],
    ['JSON too deep', formOf([part('model', '['.repeat(33) + ']'.repeat(33), 'application/json')])],
    ['no XML', formOf([part('model', '<model>', 'application/xml')])],
    [
      'billion laughs',
      formOf([file('model', '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', 'text/xml', 'a.xml')]),
    ],
    ['XML ill-typed', formOf([part('model', '<m><year>x</year></m>', 'text/xml')]), 400],
    ['__proto__', formOf([part('__proto__', 'x')])],
    ['__proto__ within', formOf([part('model[__proto__][admin]', 'x')])],
    ['constructor.prototype', formOf([part('constructor.prototype.admin', 'x')])],
    ['a file named __proto__', formOf([file('__proto__', 'x')])],
    ['__proto__ in JSON', formOf([part('model', '{"__proto__":{"admin":1}}', 'application/json')])],
    ['a value and an object', formOf([part('model', 'x'), part('model.name', 'y')])],
    ['a name of 10,000 levels', formOf([part('a.'.repeat(5000), 'x')])],
    ['10,000 parts', many(10_000), 413],
    ['51 parts', many(51), 413],
    ['more after the end', `${whole}${whole}`],
    ['a delimiter that goes on', whole.replace('\r\nPNG', `\r\n--${BOUNDARY}x\r\nPNG`)],
    [
      'a text over the limit',
      formOf([part('comment', 'a'.repeat(101))]),
      413,
      'comment',
      { limits: { body: 100 } },
    ],
    [
      'texts over the limit together',
      formOf([part('comment', 'a'.repeat(60)), part('tags', 'a'.repeat(60))]),
      413,
      'tags',
      { limits: { body: 100 } },
    ],
    [
      'JSON with a file name over the limit',
      formOf([file('model', `"${'a'.repeat(100)}"`, 'application/json')]),
      413,
      'model',
      { limits: { body: 100 } },
    ],
    [
      'JSON with a file name over the limit of a file',
      formOf([file('model', `"${'a'.repeat(100)}"`, 'application/json')]),
      413,
      'model',
      { limits: { upload: 50 } },
    ],
    [
      'a file over the limit',
      formOf([file('photo', 'a'.repeat(101))]),
      413,
      'photo',
      { limits: { upload: 100 } },
    ],
    [
      'a big file over the limit',
      formOf([file('photo', Buffer.alloc(11 * 1024 * 1024))]),
      413,
      'photo',
    ],
    ['a body that breaks off', whole, 400, '', { length: -1 }],
  ]
  it.each(cases)('%s', async (_, content, status = 400, field, options = {}) => {
    const { states, upload } = keeper()
    const broken = options.length === -1
    const body = broken ? brokenBody(Buffer.from(content)) : bodyOf(content)
    const refusal = await refusalOf(read(body, { upload, ...options }))
    expect(refusal.status).toBe(status)
    if (field) expect(refusal.errors[0]?.field).toBe(field)
    expect(states).not.toContain('open')
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })

  async function* brokenBody(bytes: Buffer): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, bytes.indexOf('PNG') + 1)
    throw new Error('aborted')
  }

  const exact: [string, Buffer, ReadOptions][] = [
    ['a text at the limit', formOf([part('comment', 'a'.repeat(100))]), { limits: { body: 100 } }],
    ['a file at the limit', formOf([file('photo', 'a'.repeat(100))]), { limits: { upload: 100 } }],
    ['50 parts', many(50), {}],
  ]
  it.each(exact)('but not %s', async (_, content, options) => {
    const { upload } = keeper()
    expect(await read(content, { upload, ...options })).toBeTypeOf('object')
  })

  it.each([
    ['texts', many(60)],
    ['files', formOf(Array.from({ length: 60 }, (_, at) => file(`a${at}`, 'x')))],
  ])('too many %s, before the rest has come', async (_, content) => {
    const { states, upload } = keeper()
    let sent = 0
    async function* body() {
      for await (const chunk of bodyOf(content, 64)) {
        sent += chunk.length
        yield chunk
      }
    }
    expect((await refusalOf(read(body(), { upload }))).status).toBe(413)
    expect(sent).toBeLessThan(content.length)
    expect(states).not.toContain('open')
  })

  it.each<[string, string, string, ReadOptions, number]>([
    ['what follows the end', `${whole}`, '', {}, 400],
    ['what comes before the first part', '', '', { limits: { body: 1000 } }, 413],
    ['a text', openForm([part('comment', 'a')]).toString(), '', { limits: { body: 1000 } }, 413],
    [
      'a part that is no property',
      `--${BOUNDARY}\r\nA: b\r\n\r\n`,
      '',
      { limits: { body: 1000 } },
      413,
    ],
    ['a head', openForm([part('comment', '')]).toString(), `\r\n--${BOUNDARY}\r\n`, {}, 400],
  ])('%s without an end', async (_, begin, between, options, status) => {
    let sent = 0
    async function* body() {
      yield Buffer.from(begin)
      yield Buffer.from(between)
      for (; sent < 100_000_000; sent += 65_536) yield Buffer.alloc(65_536, 'a')
    }
    expect((await refusalOf(read(body(), options))).status).toBe(status)
    expect(sent).toBeLessThan(2_000_000)
  })

  it('a file after a refused part, in the same chunk', async () => {
    const { states, upload } = keeper()
    const body = formOf([part('__proto__', 'x'), file('photo', 'PNG'), part('comment', 'x')])
    expect((await refusalOf(read(body, { upload }))).status).toBe(400)
    expect(states).toEqual([])
  })

  it('a file where none is taken', async () => {
    const { errors } = await refusalOf(read(formOf([file('photo', 'PNG')])))
    expect(errors).toMatchObject([{ field: 'photo', code: 400, type: 'no_files' }])
  })

  it('what the blob side refuses, before the rest is read', async () => {
    let sent = 0
    async function* endless() {
      yield openForm([file('photo', 'PNG')])
      for (; sent < 10_000; sent++) yield Buffer.alloc(1000)
    }
    const upload = () => Promise.reject(new HttpError(415, 'No images'))
    expect((await refusalOf(read(endless(), { upload }))).status).toBe(415)
    expect(sent).toBeLessThan(200)
  })

  it('a blob store that does not read its file is a failure of the server', async () => {
    const upload = () => Promise.resolve('kept')
    await expect(read(formOf([file('photo', Buffer.alloc(1e6))]), { upload })).rejects.toThrow(
      TypeError,
    )
  })
})

describe('files are streams', () => {
  const SIZE = 8 * 1024 * 1024
  function* bigForm(sent: { bytes: number }): Generator<Uint8Array> {
    yield openForm([file('photo', '')])
    for (; sent.bytes < SIZE; sent.bytes += 65_536) yield Buffer.alloc(65_536, 'a')
    yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
  }
  async function* asStream(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield* chunks
  }

  it('no more is read than is taken', async () => {
    const sent = { bytes: 0 }
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    let size = 0
    const upload = async (_: string, { content }: Upload) => {
      for await (const chunk of content) {
        if (size === 0) await gate
        size += chunk.length
      }
      return null
    }
    const done = read(asStream(bigForm(sent)), { upload })
    for (let turns = 0; turns < 100; turns++) await turn()
    expect(sent.bytes).toBeGreaterThan(0)
    expect(sent.bytes).toBeLessThan(512 * 1024)
    open()
    expect(await done).toEqual({ photo: null })
    expect(size).toBe(SIZE)
  })

  const endings: [string, (abort: AbortController) => AsyncGenerator<Uint8Array>][] = [
    [
      'the client hangs up, and the body says so',
      async function* () {
        yield* [...bigForm({ bytes: SIZE - 65_536 })].slice(0, 2)
        throw new Error('aborted')
      },
    ],
    [
      'the client hangs up, and only the signal says so',
      async function* (abort) {
        yield* [...bigForm({ bytes: SIZE - 65_536 })].slice(0, 2)
        abort.abort()
        await new Promise(() => {})
      },
    ],
    [
      'the body ends too early',
      async function* () {
        yield* [...bigForm({ bytes: SIZE - 65_536 })].slice(0, 2)
      },
    ],
  ]
  it.each(endings)('%s: the upload is given up first', async (_, make) => {
    const abort = new AbortController()
    const { states, upload } = keeper()
    const refusal = await refusalOf(read(make(abort), { upload, signal: abort.signal }))
    expect(refusal.status).toBe(400)
    expect(states).toEqual(['given up'])
  })

  it('aborted before it begins', async () => {
    const { states, upload } = keeper()
    const refusal = await refusalOf(
      read(formOf([file('photo', 'PNG')]), { upload, signal: AbortSignal.abort() }),
    )
    expect(refusal.status).toBe(400)
    expect(states).toEqual([])
  })

  it('waits for a slow upload to clean up before it refuses', async () => {
    const log: string[] = []
    let started = () => {}
    const start = new Promise<void>(resolve => {
      started = resolve
    })
    const upload = async (_: string, { content }: Upload) => {
      try {
        for await (const _ of content) started()
      } finally {
        for (let turns = 0; turns < 20; turns++) await turn()
        log.push('cleaned')
      }
      return null
    }
    async function* body() {
      yield openForm([file('photo', Buffer.alloc(1000))])
      await start
    }
    await refusalOf(read(body(), { upload }))
    log.push('refused')
    expect(log).toEqual(['cleaned', 'refused'])
  })
})

it('delimiters are counted across every seam', () => {
  const body = formOf([part('a', 'x'), part('b', '\r\n--'), file('c', `--${BOUNDARY}`)])
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 })), sizes => {
      const heads = new PartHeads(BOUNDARY)
      const passed: Buffer[] = []
      let at = 0
      for (const size of [...sizes, body.length]) {
        passed.push(heads.push(body.subarray(at, at + size)))
        at += size
      }
      passed.push(heads.end())
      expect(heads.count).toBe(5)
      expect(Buffer.concat(passed).toString('latin1')).toBe(
        `\r\n${body.toString('latin1').trimEnd()}`,
      )
    }),
  )
})
