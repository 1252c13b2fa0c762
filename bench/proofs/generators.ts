// Clients that generators of others make of the light document: `npm ci --prefix bench/proofs/generators`, then
// `npx tsx bench/proofs/generators.ts`. Each makes one of the example and one of every declaration of the tests. All of it
// compiles strictly, and seven of them call the example: they list, create, patch, upload, act and delete.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { carsApi } from '../../examples/cars-api.ts'
import { drawCar } from '../../examples/picture.ts'
import { defineApi, memoryBlobs, memoryStore, openApiDocument } from '../../src/index.ts'
import { DECLARED } from '../../test/declared.ts'
import { defineUntyped } from '../../test/untyped.ts'

const FOLDER = join(import.meta.dirname, 'generators')
const MODULES = join(FOLDER, 'node_modules')
/** Among their packages, so that these are found. */
const run = join(MODULES, '.run')
const TSX = join(import.meta.dirname, '../../node_modules/.bin/tsx')

/** Runs a program of theirs; what it prints, failures included. */
async function ask(program: string, ...words: readonly string[]): Promise<string> {
  const began = performance.now()
  const path = program.includes('/') ? program : join(MODULES, '.bin', program)
  const options = { cwd: run, maxBuffer: 2 ** 26 }
  const { stdout, stderr } = await promisify(execFile)(path, words, options).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  console.log(
    `${program.split('/').at(-1)} ${words[0] ?? ''}: ${Math.round(performance.now() - began)} ms`,
  )
  return `${stdout}${stderr}`.trim()
}

const { api: cars } = carsApi(() => memoryStore(), memoryBlobs())
const collections = Object.values(DECLARED).map((declared, at) =>
  defineUntyped({ name: `things${at}`, store: memoryStore(), ...declared }),
)
const odd = defineApi({ collections })

rmSync(run, { recursive: true, force: true })
for (const folder of ['oazapfts', 'ozc', 'rtk', 'sta', 'types'])
  mkdirSync(join(run, folder), { recursive: true })
/** The programs that call, each by the client of one generator. */
const CALLS = ['hey', 'orval', 'sta', 'fetch', 'oazapfts', 'kubb', 'rtk'].map(name => `${name}.ts`)
const SETTINGS = ['package.json', 'tsconfig.json', 'orval.config.cjs', 'kubb.config.mjs']
for (const name of [...SETTINGS, ...CALLS, 'rtk.config.cjs', 'rtk-base.ts'])
  cpSync(join(FOLDER, name), join(run, name))

for (const [name, api] of Object.entries({ cars, odd })) {
  const document = JSON.stringify(openApiDocument(api, { formats: ['json'] }))
  console.log(`${name}: ${document.length} bytes`)
  writeFileSync(join(run, `${name}.json`), document)
  // RTK Query gives `price` and `price[gte]` one name, so it needs the whole document, in which filters are objects.
  writeFileSync(join(run, `${name}-whole.json`), JSON.stringify(openApiDocument(api)))
  const plugins = ['typescript', 'sdk', 'client-fetch'].flatMap(each => ['-p', `@hey-api/${each}`])
  const file = `${name}.json`
  await ask(
    'openapi-ts',
    '-i',
    file,
    '-o',
    `hey/${name}`,
    ...plugins,
    '-p',
    '@tanstack/react-query',
  )
  await ask('openapi-typescript', file, '-o', `types/${name}.ts`, '--default-non-nullable=false')
  await ask('swagger-typescript-api', 'generate', '-p', file, '-o', 'sta', '-n', `${name}.ts`)
  await ask('oazapfts', file, `oazapfts/${name}.ts`)
  await ask('openapi-zod-client', file, '-o', `ozc/${name}.ts`)
}
await ask('orval', '--config', 'orval.config.cjs')
await ask('rtk-query-codegen-openapi', 'rtk.config.cjs')
await ask('kubb', 'generate', '--config', 'kubb.config.mjs')
const complaints = await ask('tsc', '-p', '.')
console.log(complaints === '' ? 'All of it compiles.' : complaints)

const server = createServer(cars.handler)
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
// A listening TCP server has an address with a port.
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const image = drawCar('red', 4).toString('base64')
for (const script of CALLS) {
  const answers = await ask(TSX, script, url, image)
  const expected = '[[5],6,412,"Ann","A car",true]'
  console.log(answers === expected ? `${script}: as expected` : `${script}: ${answers}`)
  if (answers !== expected) process.exitCode = 1
}
if (complaints !== '') process.exitCode = 1
server.closeAllConnections()
server.close()
rmSync(run, { recursive: true })
