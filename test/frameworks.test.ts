// The blocks of docs/frameworks.md, called as the frameworks and platforms call what they export.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bundle } from './bundle.ts'
import { blocksOf } from './markdown.ts'

type Call = (request: Request) => Promise<Response>
type Exports = Readonly<Record<string, unknown>>

const root = join(import.meta.dirname, '..')
const blocks = blocksOf(await readFile(join(root, 'docs/frameworks.md'), 'utf8'))
// Inside the project, so that its packages are found.
const folder = await mkdtemp(join(root, 'node_modules', '.frameworks-'))
afterAll(() => rm(folder, { recursive: true }))

/** The blocks by the name of the file in their first line. */
const files = new Map(
  blocks.flatMap(({ text }) => {
    const [, name] = /^\/\/ (\S+\.ts)/.exec(text) ?? []
    return name === undefined ? [] : [[name, text] as const]
  }),
)
await writeFile(join(folder, 'api.ts'), files.get('api.ts') ?? '')

async function exportsOf(name: string): Promise<Exports> {
  const text = files.get(name)?.replace(/from '[^']*\/api(?:\.ts)?'/, "from './api.ts'")
  if (text === undefined) throw new Error(`docs/frameworks.md has no block ${name}`)
  const file = join(folder, name.replaceAll(/\W/g, '-'))
  await writeFile(`${file}.ts`, text)
  return import(bundle(`${file}.ts`))
}

// A block exports what its framework asks for: the types of the frameworks are not installed here.
const byMethod = (exports: Exports) => (request: Request) =>
  (exports[request.method] as Call)(request)
const onEvent = (name: (method: string) => string) => (exports: Exports) => (request: Request) =>
  (exports[name(request.method)] as (event: { request: Request }) => Promise<Response>)({ request })
const asDefault = (exports: Exports) => exports.default as Call
const fetchOfDefault = (exports: Exports) => (request: Request) =>
  (exports.default as { fetch: Call }).fetch(request)

test.each<[string, (exports: Exports) => Call]>([
  ['app/api/[[...path]]/route.ts', byMethod],
  ['src/routes/api/[...path]/+server.ts', onEvent(() => 'fallback')],
  ['src/pages/api/[...path].ts', onEvent(() => 'ALL')],
  ['app/routes/api.ts', onEvent(method => (method === 'GET' ? 'loader' : 'action'))],
  ['api/index.ts', fetchOfDefault],
  ['netlify/functions/api.ts', asDefault],
  ['worker.ts', fetchOfDefault],
])('%s', async (name, callOf) => {
  const call = callOf(await exportsOf(name))
  const created = await call(
    new Request('https://a.example/api/cars', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"color":"red"}',
    }),
  )
  const location = created.headers.get('location') ?? ''
  expect([created.status, location.startsWith('https://a.example/api/cars/')]).toEqual([201, true])
  expect((await call(new Request(location))).status).toBe(200)
  expect((await call(new Request(location, { method: 'DELETE' }))).status).toBe(200)
})

test('lambda.ts', async () => {
  const { handler } = await exportsOf('lambda.ts')
  const call = async (method: string, rawPath: string, body?: string) => {
    const event = {
      version: '2.0',
      routeKey: '$default',
      rawPath,
      rawQueryString: 'color=red'.slice(method === 'GET' ? 0 : 9),
      headers: { host: 'a.example', 'content-type': 'application/json' },
      requestContext: {
        domainName: 'a.example',
        stage: '$default',
        http: { method, path: rawPath },
      },
      isBase64Encoded: false,
      ...(body !== undefined && { body }),
    }
    // As API Gateway calls it, with an event of its payload format 2.0.
    return (handler as (event: object) => Promise<{ statusCode: number; body: string }>)(event)
  }
  const created = await call('POST', '/cars', '{"color":"red"}')
  const list = await call('GET', '/cars')
  expect([created.statusCode, list.statusCode]).toEqual([201, 200])
  expect(JSON.parse(list.body)).toEqual([JSON.parse(created.body)])
})
