// examples/clinic.ts, and its guide: the page has the whole file, and its requests get the answers that it shows.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { blocksOf, curlsOf, masked, partsOf } from '../markdown.ts'
import { postgres, usePostgres } from '../stores/postgres.ts'
import { newFile } from '../stores/sqlite.ts'
import { start } from './running.ts'

usePostgres()

const root = join(import.meta.dirname, '..', '..')
const blocks = blocksOf(await readFile(join(root, 'docs', 'many-tenants.md'), 'utf8'))

test('the blocks of the guide are the example, of at most 250 lines', async () => {
  const source = await readFile(join(root, 'examples', 'clinic.ts'), 'utf8')
  const shown = blocks.filter(({ language }) => language === 'ts').map(({ text }) => text)
  expect(shown.join('\n')).toBe(source)
  expect(source.split('\n').length - 1).toBeLessThanOrEqual(250)
})

test.each([
  ['SQLite', () => newFile()],
  ['PostgreSQL', () => postgres().url],
])(
  'the guide, done as it says, on %s',
  async (_name, findDatabase) => {
    const port = String(await freePort())
    const clinic = start('clinic', [findDatabase()], { PORT: port, JOB_MS: '100' })
    await clinic.until(/Serving/)

    /** What the terminal remembers. */
    const variables: string[] = []
    for (const { command, answer } of blocks.flatMap(({ language, text }) =>
      language === 'console' ? curlsOf(text) : [],
    )) {
      const own = command.replaceAll('curl ', 'curl -sS ').replaceAll(':3000', `:${port}`)
      const script = [...variables, own].join('\n')
      const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script])
      if (/^[A-Z]+=/.test(command)) variables.push(own)
      const [actual, expected] = [partsOf(masked(stdout.trimEnd())), partsOf(masked(answer))]
      expect(actual.body).toBe(expected.body)
      expect(actual.head).toEqual(expect.arrayContaining(expected.head))
    }
    expect(variables).toHaveLength(7)
    await clinic.until(/To ann@example\.org: Your bill: 45\.50 €/)

    // The same in a browser, by the cookie; the job finds a visit of the next day.
    const send = (path: string, json?: object, headers: Record<string, string> = {}) =>
      fetch(`http://localhost:${port}/v2/${path}`, {
        ...(json && { method: 'POST', body: JSON.stringify(json) }),
        headers: { 'content-type': 'application/json', ...headers },
      })
    const login = { email: 'desk@north.example', password: 'open sesame' }
    expect((await send('users/login', { ...login, password: 'open barley' })).status).toBe(403)
    const [cookie = ''] = (await send('users/login', login)).headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-clinic=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/)
    const session = { cookie: cookie.split(';', 1)[0] ?? '' }
    const [patient] = (await (await send('patients', undefined, session)).json()) as {
      id: string
    }[]
    const at = new Date(Date.now() + 3_600_000).toISOString()
    const visit = { patient_id: patient?.id, at, reason: 'again' }
    const foreign = { ...session, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect((await send('visits', visit, foreign)).status).toBe(403)
    expect((await send('visits', visit, session)).status).toBe(201)
    await clinic.until(/To ann@example\.org: See you at /)
    const manager = (await send('users/login', { ...login, email: 'manager@north.example' }))
      .headers
    const [mine = ''] = manager.getSetCookie()
    const audit = (query: string) =>
      send(`audit?by=job&${query}`, undefined, { cookie: mine.split(';', 1)[0] ?? '' })
    const rows = await (await audit('fields=by,what')).json()
    expect(rows).toEqual([{ by: 'job', what: expect.stringMatching(/^patch visits /) }])
    // A manager does not know what only doctors read.
    expect((await audit('fields=old')).status).toBe(400)

    // The first version has no audit of its own: its writes stand in that of the second.
    const former = (method: string, path: string, cookie: string, json?: object) =>
      fetch(`http://localhost:${port}/v1/patients${path}`, {
        method,
        ...(json && { body: JSON.stringify(json) }),
        headers: { 'content-type': 'application/json', cookie, prefer: 'return=representation' },
      })
    const desk = session.cookie
    const boss = mine.split(';', 1)[0] ?? ''
    const made = await former('POST', '', desk, { name: 'Max', born: '1990-02-03' })
    expect(made.status).toBe(201)
    const { id } = (await made.json()) as { id: string }
    expect((await former('PATCH', `/${id}`, desk, { name: 'Moritz' })).status).toBe(200)
    expect((await former('PUT', `/${id}`, desk, { name: 'Max', born: '1990-02-03' })).status).toBe(
      200,
    )
    expect((await former('DELETE', `/${id}`, boss)).status).toBe(204)
    const booked = `audit?what[like]=${encodeURIComponent(`%${id}`)}&sort=created_at&fields=what`
    const what = await (await send(booked, undefined, { cookie: boss })).json()
    expect(what).toEqual(
      ['create', 'patch', 'replace', 'delete'].map(each => ({ what: `${each} patients ${id}` })),
    )
    const { resources } = (await (await send('')).json()) as { resources: object }
    expect(Object.keys(resources)).toEqual(['patients', 'visits', 'invoices', 'users', 'audit'])
    expect(await clinic.ended('SIGTERM')).toBe(0)
  },
  120_000,
)
