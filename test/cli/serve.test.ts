// `rest-conventions serve`, as a real process: what json-server's readers ask of it, and what attackers and mistakes do.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../bundle.ts'
import { postgres, usePostgres } from '../stores/postgres.ts'
import { ask } from '../stores/postgres-server.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const MINUTE = 60_000
/** The file of json-server's README. */
const DATA = {
  posts: [{ id: 1, title: 'json-server', author: 'typicode' }],
  comments: [{ id: 1, body: 'some comment', postId: 1 }],
  profile: { name: 'typicode' },
}
const JSON_TYPE = { 'content-type': 'application/json' }

usePostgres()
let folder = ''
let main = ''
const running = new Set<ChildProcess>()
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rest-conventions-serve-'))
  main = bundle(join(ROOT, 'src/cli/main.ts'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const end = (child: ChildProcess) => {
  child.kill('SIGKILL')
  running.delete(child)
}

/** Writes a file, and gives its path. */
function write(name: string, data: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof data === 'string' ? data : JSON.stringify(data))
  return path
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

interface Served {
  readonly child: ChildProcess
  /** What it has printed first. */
  readonly first: string
  readonly origin: string
  readonly port: number
  printed(): string
  until(pattern: RegExp): Promise<void>
  ask(path: string, options?: AskOptions): Promise<Answer>
}

interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { DATABASE_URL, ...inherited } = process.env
  // The packages of the user's project are those of this one.
  const options = { cwd: ROOT, env: { ...inherited, ...env } }
  const child = spawn(process.execPath, [main, ...args], options)
  running.add(child)
  let [out, err] = ['', '']
  child.stdout.on('data', text => {
    out += text
  })
  child.stderr.on('data', text => {
    err += text
  })
  const ended = once(child, 'close')
  return { child, ended, out: () => out, err: () => err }
}

async function serve(args: readonly string[], env?: Record<string, string>): Promise<Served> {
  const { child, ended, out, err } = await run(['serve', '--port', '0', ...args], env)
  const until = async (pattern: RegExp) => {
    while (!pattern.test(out())) {
      const more = await Promise.race([once(child.stdout ?? child, 'data'), ended.then(() => 0)])
      if (more === 0) throw new Error(`It ended: ${out()}${err()}`)
    }
  }
  await until(/\n/)
  const [first = ''] = out().split('\n')
  const origin = /^(http:\S+)/.exec(first)?.[1] ?? ''
  const port = Number(new URL(origin).port)
  return {
    child,
    first,
    origin,
    port,
    until,
    printed: out,
    ask: (...words) => send(port, ...words),
  }
}

/** Sends a request with whatever headers; `fetch` would not send a `Host`. */
async function send(port: number, path: string, { body, headers, method }: AskOptions = {}) {
  const sent = request({
    ...{ host: '127.0.0.1', port, path, agent: false },
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { host: `localhost:${port}`, ...(body !== undefined && JSON_TYPE), ...headers },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode, headers: response.headers, text }
}

/** The exit code and the message of a command that ends by itself. */
async function fail(...args: readonly string[]) {
  const { ended, out, err } = await run(args)
  const [code] = await ended
  return { code, out: out(), err: err() }
}

describe('a JSON file', () => {
  let path = ''
  let served: Served
  beforeAll(async () => {
    path = write('db.json', DATA)
    served = await serve([path, '--dialect', 'json-server'])
  }, MINUTE)
  afterAll(() => end(served.child))
  const json = async (...words: Parameters<Served['ask']>) => {
    const { status, text } = await served.ask(...words)
    return { status, body: JSON.parse(text) }
  }

  test('the first line names address, tables, read or write', () => {
    expect(served.first).toBe(
      `http://127.0.0.1:${served.port} serves posts, comments, profile of ${path}, read and write`,
    )
  })

  const [post] = DATA.posts
  const [comment] = DATA.comments
  const LISTS: Readonly<Record<string, unknown>> = {
    '/posts': [post],
    '/posts/1': post,
    '/posts?title=json-server&author=typicode': [post],
    '/posts?id=1&id=2': [post],
    '/posts?_page=7': [],
    '/posts?_page=7&_limit=20': [],
    '/posts?_sort=title&_order=asc': [post],
    '/posts/1/comments?_sort=body&_order=asc': [comment],
    '/posts?_sort=author,title&_order=desc,asc': [post],
    '/posts?_start=0&_end=30': [post],
    '/posts/1/comments?_start=20&_end=30': [],
    '/posts/1/comments?_start=0&_limit=10': [comment],
    '/posts?id_gte=1&id_lte=20': [post],
    '/posts?id_ne=1': [],
    '/posts?title_like=server': [post],
    '/posts?q=typicode': [post],
    '/posts?_embed=comments': [{ ...post, comments: [comment] }],
    '/posts/1?_embed=comments': { ...post, comments: [comment] },
    '/comments?_expand=post': [{ ...comment, post }],
    '/comments/1?_expand=post': { ...comment, post },
    '/posts/1/comments': [comment],
    '/profile': { ...DATA.profile, id: 'profile' },
    '/db': DATA,
  }
  test.each(Object.entries(LISTS))("json-server's GET %s", async (url, body) => {
    expect(await json(url)).toEqual({ status: 200, body })
  })

  test(
    "json-server's writes are in the file when they are answered",
    async () => {
      const own = write('writes.json', DATA)
      const { child, ask } = await serve([own, '--dialect', 'json-server'])
      const steps = [
        ['POST', '/posts', { title: 'new' }, 201],
        ['PUT', '/posts/1', { title: 'a', author: 'b' }, 200],
        ['PATCH', '/posts/1', { title: 'c' }, 200],
        ['POST', '/posts/1/comments', { body: 'two' }, 201],
        ['DELETE', '/posts/2', undefined, 200],
        ['PUT', '/profile', { name: 'x' }, 200],
        ['PATCH', '/profile', { name: 'y' }, 200],
        ['POST', '/profile', { name: 'z' }, 200],
      ] as const
      for (const [method, url, body, status] of steps) {
        const answer = await ask(url, { method, ...(body && { body: JSON.stringify(body) }) })
        expect([url, answer.status]).toEqual([url, status])
      }
      end(child)
      expect(read(own)).toEqual({
        posts: [{ id: 1, title: 'c', author: 'b' }],
        comments: [comment, { id: 2, body: 'two', postId: 1 }],
        profile: { name: 'z' },
      })
    },
    MINUTE,
  )

  const OWN = { origin: 'http://localhost:5173', 'sec-fetch-site': 'same-site' }
  const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  const ATTACKS: Readonly<Record<string, readonly [string, AskOptions, number]>> = {
    'another host': ['/posts', { headers: { host: 'evil.example' } }, 400],
    'a host that begins alike': ['/posts', { headers: { host: '127.0.0.1.evil.example' } }, 400],
    'a host that ends alike': ['/posts', { headers: { host: 'evil-localhost' } }, 400],
    'a host with a user': ['/posts', { headers: { host: 'localhost@evil.example' } }, 400],
    'a host of another address': ['/posts', { headers: { host: '192.168.0.1' } }, 400],
    'a target of another host': ['http://evil.example/posts', {}, 400],
    'a rebound page': [
      '/posts',
      { headers: { host: 'evil.example', origin: 'http://evil.example' } },
      400,
    ],
    'a form of a foreign page': [
      '/posts',
      { headers: { ...FOREIGN, ...FORM }, body: 'title=x' },
      403,
    ],
    'a form without an origin': [
      '/posts',
      { headers: { 'sec-fetch-site': 'cross-site', ...FORM }, body: 'title=x' },
      403,
    ],
    'a page without an origin of its own': [
      '/posts',
      { headers: { origin: 'null' }, body: '{}' },
      403,
    ],
    'an origin that begins alike': [
      '/posts',
      { headers: { origin: 'http://localhost.evil.example' }, body: '{}' },
      403,
    ],
    'a form that names a method': [
      '/posts/1?_method=DELETE',
      { headers: { ...FOREIGN, ...FORM }, body: 'a=b' },
      403,
    ],
    'a foreign batch of one': ['/posts/1', { method: 'DELETE', headers: FOREIGN }, 403],
    'a foreign PATCH': ['/posts/1', { method: 'PATCH', headers: FOREIGN, body: '{}' }, 403],
    'a foreign PUT': ['/posts/1', { method: 'PUT', headers: FOREIGN, body: '{}' }, 403],
    'a foreign header that names a method': [
      '/posts/1',
      { headers: { ...FOREIGN, 'x-http-method-override': 'DELETE' }, body: '{}' },
      403,
    ],
    'a foreign body of plain text': [
      '/posts',
      { headers: { ...FOREIGN, 'content-type': 'text/plain' }, body: '{"title":"x"}' },
      403,
    ],
    'a backslash': ['/..%5cdb.json', {}, 400],
    'a null character': ['/posts/%00', {}, 400],
    'a path above': ['/../../etc/passwd', {}, 404],
    'a path above, encoded': ['/..%2f..%2fetc%2fpasswd', {}, 400],
    'the file itself': ['/db.json', {}, 404],
    'another name of objects': ['/__proto__', {}, 404],
    'a body that is no JSON': ['/posts', { body: '{"title":' }, 400],
    'a prototype': ['/posts', { body: '{"__proto__":{"title":"x"}}' }, 400],
    'a property that no item has': ['/posts', { body: '{"titel":"x"}' }, 400],
    'a value of another kind': ['/posts', { body: '{"title":{"$gt":""}}' }, 400],
    'a number that JSON cannot hold': [
      '/comments',
      { body: '{"postId":12345678901234567890}' },
      400,
    ],
    'a reference to nothing': ['/comments', { body: '{"postId":9}' }, 400],
    'an id in another form': ['/posts/1e0', {}, 404],
    'an unknown filter': ['/posts?titel=x', {}, 400],
  }
  test.each(Object.entries(ATTACKS))(
    '%s is refused, and writes nothing',
    async (_, [url, options, status]) => {
      const { text, headers, ...answer } = await served.ask(url, options)
      expect(answer.status, text).toBe(status)
      expect(text).not.toContain('typicode')
      expect(headers['access-control-allow-origin']).toBeUndefined()
      expect(read(path)).toEqual(DATA)
    },
  )

  test('a foreign page reads nothing, one of this machine does', async () => {
    for (const [headers, allowed] of [
      [FOREIGN, undefined],
      [OWN, OWN.origin],
    ] as const) {
      const answer = await served.ask('/posts', { headers })
      expect(answer.headers['access-control-allow-origin']).toBe(allowed)
      const preflight = { ...headers, 'access-control-request-method': 'DELETE' }
      const asked = await served.ask('/posts/1', { method: 'OPTIONS', headers: preflight })
      expect(asked.headers['access-control-allow-origin']).toBe(allowed)
    }
    const dump = await served.ask('/db', { headers: FOREIGN })
    expect(dump.headers['access-control-allow-origin']).toBeUndefined()
    expect(
      (await served.ask('/posts/1', { headers: OWN, method: 'PATCH', body: '{}' })).status,
    ).toBe(200)
  })

  test.each(['LOCALHOST', '127.0.0.1', '[::1]'])('the host %s is answered', async host => {
    expect((await served.ask('/posts', { headers: { host } })).status).toBe(200)
    const forwarded = { host, 'x-forwarded-host': 'evil.example' }
    expect((await served.ask('/', { headers: forwarded })).text).not.toContain('evil')
  })
})

describe('the file', () => {
  let child: ChildProcess | undefined
  afterEach(() => child && end(child))
  async function open(path: string, ...args: readonly string[]) {
    const served = await serve([path, ...args])
    child = served.child
    return served
  }
  const put = (served: Served, title: string) =>
    served.ask('/posts/1', { method: 'PUT', body: JSON.stringify({ title }) })

  test(
    'that another program has changed is not written over',
    async () => {
      const path = write('changed.json', DATA)
      const served = await open(path)
      const changed = { ...DATA, posts: [{ id: 1, title: 'theirs' }] }
      write('changed.json', changed)
      expect((await put(served, 'ours')).status).toBe(503)
      expect(served.printed()).toContain('changed by another program')
      expect(JSON.parse((await served.ask('/posts/1')).text).title).toBe('json-server')
      expect(read(path)).toEqual(changed)
    },
    MINUTE,
  )

  test(
    'that is cut while it is read leaves the data as they are, until it is whole',
    async () => {
      const path = write('watched.json', DATA)
      const served = await open(path, '--watch')
      write('watched.json', '{ "posts": [ { "id": 1, "ti')
      await served.until(/is not valid JSON.*still served/)
      expect((await served.ask('/posts/1')).text).toContain('typicode')
      expect((await put(served, 'ours')).status).toBe(503)
      write('watched.json', { posts: [{ id: 'a', title: 'theirs' }], cars: [] })
      await served.until(/was read again/)
      expect((await served.ask('/posts/a')).text).toContain('theirs')
      expect((await served.ask('/cars', { body: '{"any":"thing"}' })).status).toBe(201)
      expect(read(path).cars).toHaveLength(1)
    },
    MINUTE,
  )

  test(
    'that is gone is not made again',
    async () => {
      const path = write('gone.json', DATA)
      const served = await open(path)
      unlinkSync(path)
      expect((await put(served, 'ours')).status).toBe(503)
      expect(existsSync(path)).toBe(false)
    },
    MINUTE,
  )

  test(
    'behind a link keeps the link, its mode and what is not served',
    async () => {
      const target = write('target.json', { $schema: './x', tags: ['a'], ...DATA })
      const path = join(folder, 'link.json')
      symlinkSync(target, path)
      const { mode } = statSync(target)
      const served = await open(path)
      await served.until(/tags is left out: its items are not objects/)
      expect((await put(served, 'ours')).status).toBe(200)
      expect(lstatSync(path).isSymbolicLink()).toBe(true)
      expect(statSync(target).mode).toBe(mode)
      expect(read(target)).toMatchObject({
        $schema: './x',
        tags: ['a'],
        posts: [{ title: 'ours' }],
      })
    },
    MINUTE,
  )

  test(
    'is whole at each moment, also if the process is killed',
    async () => {
      const path = write('killed.json', { ...DATA, filler: [{ id: 1, text: 'x'.repeat(300_000) }] })
      const served = await open(path)
      const writes = Array.from({ length: 30 }, (_, at) =>
        put(served, `${at}`).catch(() => undefined),
      )
      for (let at = 0; at < 20; at++) {
        expect(read(path).filler).toHaveLength(1)
        await new Promise(resolve => setImmediate(resolve))
      }
      await Promise.race(writes)
      served.child.kill('SIGKILL')
      await Promise.all(writes)
      expect(read(path).filler).toHaveLength(1)
    },
    MINUTE,
  )

  test.each(['my data.json', 'données', '#?%20&.json', '--help.json'])(
    'may be called %s',
    async name => {
      const served = await open(write(name, DATA))
      expect((await served.ask('/posts')).status).toBe(200)
    },
    MINUTE,
  )

  test(
    'may have lists that are left out, each with the reason',
    async () => {
      const path = write('odd.json', {
        mixed: [{ id: 1 }, { id: 'a' }],
        twice: [{ id: 1 }, { id: 1 }],
        'a/b': [],
        missing: [{ id: 'a' }, {}],
        word: 'x',
        users: [{ name: 'no id yet' }, { name: 'nor here' }],
      })
      const served = await open(path)
      await served.until(/word is/)
      expect(served.printed()).toContain(
        'mixed is left out: its ids must all be whole numbers from 0',
      )
      expect(served.printed()).toContain('twice is left out: two items have the same id')
      expect(served.printed()).toContain('a/b is left out')
      expect(served.printed()).toContain('missing is left out: an item has no id')
      expect(
        JSON.parse((await served.ask('/users')).text).map((each: { id: number }) => each.id),
      ).toEqual([1, 2])
    },
    MINUTE,
  )

  test(
    'is read alone with --no-write, and wants the token of --auth',
    async () => {
      const served = await open(write('closed.json', DATA), '--no-write', '--auth', 'a-long-token')
      const bearer = { authorization: 'Bearer a-long-token' }
      const basic = { authorization: `Basic ${btoa('me:a-long-token')}` }
      for (const [headers, status] of [
        [{}, 401],
        [bearer, 200],
        [basic, 200],
        [{ authorization: 'Bearer a-long-tokem' }, 401],
      ] as const)
        expect((await served.ask('/posts', { headers })).status).toBe(status)
      expect((await served.ask('/db', {})).status).toBe(404)
      expect((await served.ask('/posts', { headers: bearer, body: '{"title":"x"}' })).status).toBe(
        405,
      )
    },
    MINUTE,
  )
})

describe('a database', () => {
  const TABLES = `
    create table makers (id integer primary key, name varchar(20) not null);
    create table cars (id integer primary key, maker_id integer references makers on delete cascade, price numeric not null check (price >= 0), api_token text);
    create table links (a int, b int, primary key (a, b));
    create table users (id integer primary key, name text, password_hash text not null);
    insert into makers values (1, 'Renault'); insert into cars values (1, 1, 5, 's3cret'); insert into users values (1, 'Ann', 's3cret')`
  const create = (name: string) => {
    const path = join(folder, name)
    const database = new Database(path)
    database.exec(TABLES)
    database.close()
    return path
  }

  test(
    'is read alone, without secrets, whatever its file is called',
    async () => {
      const path = create('shop.json')
      const before = readFileSync(path)
      const { child, first, printed, ask, until } = await serve([path])
      expect(first).toMatch(/ serves cars, makers, users of .*shop\.json, read-only$/)
      await until(/links is left out: it has no key of one column.*\n/)
      expect(printed()).toContain('cars: the column api_token (a secret) is left out.')
      expect(printed()).toContain('users: the column password_hash (a secret) is left out.')
      expect((await ask('/cars?include=maker')).text).toBe(
        '[{"id":1,"maker_id":1,"price":5,"maker":{"id":1,"name":"Renault"}}]',
      )
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const url = method === 'POST' ? '/cars' : '/cars/1'
        expect((await ask(url, { method, body: '{"price":1}' })).status).toBe(405)
      }
      expect((await ask('/cars?api_token=s3cret')).status).toBe(400)
      expect((await ask('/users?name=%27%20or%201=1--')).text).toBe('[]')
      expect((await ask('/openapi.json')).text).not.toMatch(/api_token|password_hash/)
      end(child)
      expect(readFileSync(path).equals(before)).toBe(true)
    },
    MINUTE,
  )

  test(
    'is written with --write, and its secrets stay; file: before its path is not part of it',
    async () => {
      const path = create('written.db')
      const DATABASE_URL = `file:${path}`
      const { child, first, ask } = await serve(['--write'], { DATABASE_URL })
      expect(first).toMatch(/read and write$/)
      expect((await ask('/cars', { body: '{"maker_id":1,"price":7}' })).status).toBe(201)
      expect((await ask('/cars', { body: '{"maker_id":1,"price":-7}' })).status).toBe(400)
      expect(
        (await ask('/cars/1', { method: 'PUT', body: '{"maker_id":1,"price":8}' })).status,
      ).toBe(200)
      expect((await ask('/users', { body: '{"name":"Bo"}' })).status).toBe(405)
      expect((await ask('/users/1', { method: 'PATCH', body: '{"name":"Bo"}' })).status).toBe(200)
      end(child)
      const database = new Database(path)
      const [car, user] = [
        database.prepare('select id, maker_id, price, api_token from cars').all()[0],
        database.prepare('select * from users').all()[0],
      ]
      database.close()
      expect([car, user]).toMatchObject([
        { id: 1, maker_id: 1, price: 8, api_token: 's3cret' },
        { id: 1, name: 'Bo', password_hash: 's3cret' },
      ])
    },
    MINUTE,
  )

  test(
    'of PostgreSQL by DATABASE_URL, which is not printed with its password',
    async () => {
      const url = new URL(postgres().url)
      await ask(url.href, `create schema served; set search_path = served; ${TABLES}`)
      url.password = 'pa55word'
      const {
        child,
        first,
        ask: get,
      } = await serve(['--schema', 'served'], { DATABASE_URL: url.href })
      expect(first).toMatch(/ serves cars, makers, users of .*read-only$/)
      expect(first).not.toContain('pa55word')
      expect((await get('/cars')).text).toBe('[{"id":1,"maker_id":1,"price":5}]')
      end(child)
    },
    MINUTE,
  )
})

test(
  'a start that is refused says why, and ends with 1',
  async () => {
    const data = write('starts.json', DATA)
    const busy = await serve([data])
    const STARTS: readonly (readonly [args: readonly string[], why: RegExp])[] = [
      [[], /^Neither a source nor DATABASE_URL is given\n\nUsage: npx rest-conventions serve/],
      [[join(folder, 'none.json')], /^Cannot read .*none\.json\. There is no such file/],
      [[folder], /is not a file/],
      [[write('junk.db', 'a text')], /^.*junk\.db is not a SQLite file: .*rename it if it is JSON/],
      [[write('empty.json', '')], /empty\.json is not valid JSON/],
      [[write('cut.json', '{"posts":[{"id":1}')], /cut\.json is not valid JSON/],
      [[write('list.json', [])], /must hold an object with a list for each collection/],
      [
        [write('big.json', '{"posts":[{"id":12345678901234567890}]}')],
        /a number .*12345678901234567890/,
      ],
      [[write('nothing.json', { a: 1 })], /^No collection can be served\.\na is left out/],
      [[write('docs.json', { docs: [] })], /neither openapi nor docs/],
      [[data, '--host', '0.0.0.0'], /could write\. Add --auth/],
      [[data, '--host', '::', '--write'], /could write\. Add --auth/],
      [[data, '--auth', 'short'], /--auth must be a token/],
      [[data, '--dialect', 'odata'], /--dialect must be json-server or simple-rest, not odata/],
      [[data, '--cors', 'app.example'], /--cors must be an origin/],
      [[data, '--port', '99999'], /--port must be a number up to 65535, not 99999/],
      [
        [data, '--port', String(busy.port)],
        /Port \d+ of 127\.0\.0\.1 is taken\. Use another, such as --port \d+/,
      ],
      [[data, '--prot', '1'], /option --prot is unknown.*did you mean "--port"/],
      [[data, '--diff', 'x'], /serve has no option --diff/],
      [[data, data], /^serve has too many arguments: .*\n\nUsage: npx rest-conventions serve/],
    ]
    for (const [args, why] of STARTS) {
      const { code, out, err } = await fail('serve', ...args)
      expect([args, code, out]).toEqual([args, 1, ''])
      expect(err).toMatch(why)
    }
    end(busy.child)
  },
  2 * MINUTE,
)

test(
  'help and version are what was asked for: 0; a wrong word is named: 1',
  async () => {
    const { version } = read(join(ROOT, 'package.json'))
    expect(await fail('help')).toMatchObject({
      code: 0,
      out: expect.stringContaining('serve <source>'),
    })
    expect(await fail('help', 'serve')).toMatchObject({
      code: 0,
      out: expect.stringContaining('--watch'),
    })
    expect(await fail('serve', '--help')).toMatchObject({ code: 0, err: '' })
    expect(await fail('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' })
    expect(await fail('serv')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no command "serv"; did you mean "serve"?'),
    })
    expect(await fail('help', 'pul')).toMatchObject({
      code: 1,
      err: expect.stringContaining('"pull"'),
    })
  },
  MINUTE,
)

test(
  'a host without a name is answered at any address of numbers, and at no other name',
  async () => {
    const { child, port } = await serve([
      write('wide.json', DATA),
      '--host',
      '0.0.0.0',
      '--auth',
      'a-long-token',
    ])
    const headers = { authorization: 'Bearer a-long-token' }
    expect(
      (await send(port, '/posts', { headers: { ...headers, host: '192.168.7.8' } })).status,
    ).toBe(200)
    expect(
      (await send(port, '/posts', { headers: { ...headers, host: 'evil.example' } })).status,
    ).toBe(400)
    // HTTP/1.0 needs no Host.
    const socket = connect(port, '127.0.0.1')
    socket.end('GET /posts HTTP/1.0\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    end(child)
  },
  MINUTE,
)
