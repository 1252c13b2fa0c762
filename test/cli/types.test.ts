// `rest-conventions types`: its types against running servers, and what it says where there are none.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { carsApi } from '../../examples/cars-api.ts'
import { drawCar } from '../../examples/picture.ts'
import { readDocument } from '../../src/cli/read-document.ts'
import { memoryBlobs, memoryStore, openApiDocument } from '../../src/index.ts'
import { sourceFiles } from '../source.ts'
import { compile, createProject } from './compile.ts'
import { odd } from './odd-api.ts'
import { CARS, ODD, PARITY } from './programs.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const TSX = import.meta.resolve('tsx')
/** The command as one file: it starts fast. */
const main = () => join(folder, 'main.mjs')
const MINUTE = 60_000
const { api: cars } = carsApi(() => memoryStore(), memoryBlobs())

let folder: string
const closing: (() => void)[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-cli-'))
  // Other commands load theirs when they run.
  const external = ['./pull/pull.ts', './check-rows.ts']
  const options = { bundle: true, platform: 'node', format: 'esm', external } as const
  await build({ ...options, entryPoints: [MAIN], outfile: main() })
})
afterAll(() => {
  for (const close of closing) close()
  return rm(folder, { recursive: true, force: true })
})

/** Starts a server. @returns its address. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // a listening TCP server has one
}

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(words: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<Ran> {
  const options = { env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
  return new Promise(resolve => {
    const child = execFile(process.execPath, words, options, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    )
    child.stdin?.on('error', () => {}).end(input)
  })
}

const types = (source: string, token?: string, input?: string) =>
  run(
    [main(), 'types', source],
    token === undefined ? {} : { REST_CONVENTIONS_TOKEN: token },
    input,
  )

describe.each([
  [
    'the example',
    cars,
    CARS,
    5_000,
    '[[900],"Clio",0,"AB-123-CD","none",true,"Ann","A red car","Roof rack",1,2,true]',
  ],
  ['an odd api', odd, ODD, 6_000, '[2,2,1,"b",2,"none","x","Bo","red",3,"Bo","c",1,5,1,true]'],
] as const)('of %s', (name, api, program, max, expected) => {
  let url: string
  const project = () => join(folder, name.replace(/ /g, '-'))
  beforeAll(async () => {
    url = await serve(api.handler)
  })

  test(
    `they have fewer than ${max} bytes, and a program with them compiles and runs`,
    async () => {
      const { code, out, err } = await types(url)
      expect([code, err]).toEqual([0, ''])
      console.info(`The types of ${name} have ${out.length} bytes`)
      expect(out.length).toBeLessThan(max)
      await mkdir(project(), { recursive: true })
      await writeFile(join(project(), 'api.ts'), out)
      await writeFile(join(project(), 'program.ts'), program)
      expect(await compile(project(), ['api.ts', 'program.ts'])).toBe('')
      const config = await createProject(project(), [])
      const ran = await run(
        ['--import', TSX, join(project(), 'program.ts'), url, drawCar('red', 4).toString('base64')],
        { TSX_TSCONFIG_PATH: config },
      )
      expect(ran).toEqual({ code: 0, err: '', out: `${expected}\n` })
    },
    2 * MINUTE,
  )

  test(
    'they are the same from its document, a file with it, and the standard input',
    async () => {
      const document = JSON.stringify(openApiDocument(api, { formats: ['json'] }))
      const file = join(folder, 'document.json')
      await writeFile(file, document)
      const sources = [
        types(url),
        types(`${url}/openapi.json`),
        types(`${url}/openapi.json?formats=json`),
        types(file),
        types('-', undefined, document),
      ]
      const [first, ...others] = await Promise.all(sources)
      for (const other of others) expect(other).toEqual(first)
      expect(first?.code).toBe(0)
    },
    MINUTE,
  )
})

test(
  'clients of them take and give what those of the declarations do',
  async () => {
    const { out } = await types(await serve(odd.handler))
    await writeFile(join(folder, 'api.ts'), out)
    await writeFile(join(folder, 'parity.ts'), PARITY)
    expect(await compile(folder, ['parity.ts'])).toBe('')
  },
  MINUTE,
)

/** A server that answers each path by one of these. */
const serveAll = (answers: Readonly<Record<string, RequestListener>>) =>
  serve((request, response) => {
    const answer = answers[new URL(request.url ?? '', 'http://x').pathname]
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })

const DOCUMENT = JSON.stringify(openApiDocument(odd, { formats: ['json'] }))
const redirect =
  (location: string): RequestListener =>
  (_, response) =>
    response.writeHead(302, { location }).end()

describe('a token', () => {
  const seen: (string | undefined)[] = []
  const note: RequestListener = ({ headers }, response) => {
    seen.push(headers.authorization)
    response.end(DOCUMENT)
  }

  test.each([
    ['secret', 'Bearer secret'],
    ['Basic YTpi\n', 'Basic YTpi'],
    ['', undefined],
  ])(
    '%j in the environment is sent as %j',
    async (token, sent) => {
      const url = await serveAll({ '/': redirect('/api'), '/api': note })
      expect(await types(url, token)).toMatchObject({ code: 0, err: '' })
      expect(seen.splice(0)).toEqual([sent])
    },
    MINUTE,
  )

  test(
    'follows no redirect to another origin, and no link to one',
    async () => {
      const other = await serveAll({ '/': note, '/openapi.json': note })
      const url = await serveAll({
        '/': redirect(`${other}/`),
        '/linked': (_, response) =>
          response
            .writeHead(200, { link: `<${other}/openapi.json>; rel="service-desc"` })
            .end('{}'),
        '/linked/openapi.json': (_, response) => response.end(DOCUMENT),
      })
      const { code, out, err } = await types(url, 'secret')
      expect([code, out, seen]).toEqual([1, '', []])
      expect(err).toBe(
        `${url}/ redirects to ${other}, and the token is not sent there. Give that URL if you trust it\n`,
      )
      expect(await types(`${url}/linked`, 'secret')).toMatchObject({ code: 0 })
      expect(seen).toEqual([])
      // Without one, nothing is given away.
      expect(await types(url)).toMatchObject({ code: 0 })
      expect(seen.splice(0)).toEqual([undefined])
    },
    MINUTE,
  )

  test(
    'that no header can have is told of, and not shown',
    async () => {
      expect(await types('https://api.example', 'sec\nret')).toEqual({
        code: 1,
        out: '',
        err: 'REST_CONVENTIONS_TOKEN has characters that no header can have\n',
      })
    },
    MINUTE,
  )
})

describe('it says what is wrong, and ends with 1', () => {
  let url: string
  beforeAll(async () => {
    url = await serveAll({
      '/': (_, response) => response.end('{}'),
      '/page': (_, response) => response.end('<html>'),
      '/secret': (_, response) => response.writeHead(401).end('{}'),
      '/loop': redirect('/loop'),
      '/elsewhere': redirect('file:///etc/passwd'),
      '/large': (_, response) => response.end(`"${'x'.repeat(11 * 2 ** 20)}"`),
      '/broken': (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('{')
        response.destroy()
      },
    })
    await writeFile(join(folder, 'large.json'), `"${'x'.repeat(11 * 2 ** 20)}"`)
    await writeFile(join(folder, 'other.json'), '{"swagger":"2.0"}')
  })

  test.each([
    ['/', '/openapi.json?formats=json returned 404. Check the URL'],
    ['/page', '/page is not JSON'],
    ['/secret', '/secret returned 401. Set REST_CONVENTIONS_TOKEN, if it needs credentials'],
    ['/loop', '/loop redirects more than 5 times'],
    ['/elsewhere', '/elsewhere redirects to an invalid URL'],
    ['/large', '/large has more than 10 MiB'],
  ])('of %s', async (path, message) => {
    await expect(readDocument(url + path)).rejects.toMatchObject({ message: url + message })
  })

  test.each([
    [
      (): string => `${url}/secret`,
      /returned 401. Check REST_CONVENTIONS_TOKEN, and its scopes$/,
      'secret',
    ],
    [(): string => `${url}/broken`, /^Cannot reach http:/],
    [(): string => 'http://127.0.0.1:1', /^Cannot reach http:\/\/127.0.0.1:1: /],
    [
      (): string => 'https://a:b@api.example',
      /^Set REST_CONVENTIONS_TOKEN instead of a name and a password/,
    ],
    [(): string => 'https://', /^https:\/\/ is not a URL$/],
    [(): string => join(folder, 'no.json'), /^Cannot read .*no.json. There is no such file$/],
    [(): string => folder, /^Cannot read /],
    [(): string => join(folder, 'large.json'), /large.json has more than 10 MiB$/],
    [
      (): string => join(folder, 'other.json'),
      /other.json is not an OpenAPI document. Give the URL of an API/,
    ],
  ] as const)('%s', async (source, message, token?: string) => {
    await expect(readDocument(source(), token)).rejects.toThrow(message)
  })

  test('without an answer', async () => {
    const silent = await serve(() => {})
    await expect(readDocument(silent, undefined, 50)).rejects.toThrow(
      /did not respond within 0.05 seconds$/,
    )
  })

  test.each([[[]], [['types']], [['typos', 'x']], [['types', '--x']], [['types', 'x', 'y']]])(
    'of the words %j',
    async words => {
      const { code, out, err } = await run([main(), ...words])
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(
        /^(?:(?:There is no|The option|types) .*\n+)?Usage: npx rest-conventions (?:types|<command>)/,
      )
    },
    MINUTE,
  )

  test(
    'and in help nothing',
    async () => {
      const { code, out, err } = await run([main(), 'types', '--help'])
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain('REST_CONVENTIONS_TOKEN')
    },
    MINUTE,
  )
})

test('the command loads nothing of the server', () => {
  const files = new Map(sourceFiles().map(file => [file.path, file.imports]))
  const loaded = new Set(['cli/main.ts'])
  // Other commands load theirs when they run.
  const isOther = (path: string) => /^cli\/(?:pull\/pull|serve\/serve|check-rows)\.ts$/.test(path)
  for (const path of loaded)
    for (const from of files.get(path) ?? []) if (!isOther(from)) loaded.add(from)
  const own = [...loaded].filter(path => path.startsWith('cli/')).length
  expect(own).toBeGreaterThan(5)
  expect([...loaded].filter(path => !path.startsWith('cli/')).sort()).toEqual([
    'errors.ts',
    'http/link.ts',
    'node:events',
    'node:fs',
    'node:fs/promises',
    'node:http',
    'node:util',
  ])
})
