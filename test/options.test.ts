// Wrong options of schemes, stores, limits and harden().

import { createServer } from 'node:http'
import { S3Client } from '@aws-sdk/client-s3'
import { SqliteAdapter } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { buildLimits } from '../src/http/limits.ts'
import {
  basic,
  bearerJwt,
  blob,
  defineApi,
  defineCollection,
  fileBlobs,
  introspection,
  memoryBlobs,
  memoryStore,
} from '../src/index.ts'
import { findApiDefinition } from '../src/model/definitions.ts'
import { harden } from '../src/node/index.ts'
import { s3Blobs } from '../src/s3/index.ts'
import { createTableSql, sqlStore } from '../src/sql/index.ts'

const client = { id: 'a', secret: 'b' }
const endpoint = 'https://a.example/'
const issuer = 'https://a.example'
const keys = [{ kty: 'OKP' }]
const { shape } = defineCollection({
  name: 'models',
  schema: z.object({ name: z.string() }),
  store: memoryStore(),
})
const make: Record<string, (options: never) => unknown> = {
  basic,
  bearerJwt,
  introspection,
  blob,
  fileBlobs: ({ folder }: { folder: string }) => fileBlobs(folder),
  harden: options => harden(createServer(), options),
  limits: limits => defineApi({ collections: [], limits }),
  memoryStore,
  s3Blobs,
  sqlStore,
  createTableSql: options => createTableSql(shape, options),
}
const db = { getExecutor: () => ({ adapter: new SqliteAdapter() }) }
const s3 = { client: { send: () => undefined }, bucket: 'photos' }
const jwt = { issuer, audience: 'cars', keys }

test.each<[string, object, RegExp]>([
  ['basic', {}, /^basic: verify must be a function, not undefined$/],
  [
    'basic',
    { verify: () => undefined, realms: 'a' },
    /unknown option "realms"; did you mean "realm"/,
  ],
  ['bearerJwt', { audience: 'a', keys }, /^bearerJwt: issuer must be a string that is not empty/],
  ['bearerJwt', { ...jwt, audience: [] }, /audience must be an audience or a list of them/],
  ['bearerJwt', { ...jwt, jwksUri: 'https://a.example/' }, /either jwksUri or keys/],
  ['bearerJwt', { ...jwt, keys: undefined }, /either jwksUri or keys/],
  ['bearerJwt', { issuer, audience: 'a', jwksUri: 'ftp://a' }, /jwksUri must be an http or https/],
  ['bearerJwt', { ...jwt, keys: [{ kty: 'oct' }] }, /keys must be public keys/],
  [
    'bearerJwt',
    { ...jwt, algorithms: ['HS256'] },
    /algorithms\[0\] must be "RS256", .* not "HS256"/,
  ],
  ['bearerJwt', { ...jwt, tolerance: -1 }, /tolerance must be a number of seconds from 0, not -1/],
  ['bearerJwt', { ...jwt, tolerence: 5 }, /unknown option "tolerence"; did you mean "tolerance"/],
  ['introspection', { endpoint: 'here', client }, /endpoint must be an http or https URL/],
  ['introspection', { endpoint: 'ftp://a/b', client }, /endpoint must be an http or https URL/],
  ['introspection', { endpoint }, /client must be an object, not undefined/],
  ['introspection', { endpoint, client: { id: 'a' } }, /client: secret must be a string/],
  [
    'introspection',
    { endpoint, client, cache: -1 },
    /cache must be a number of seconds from 0, not -1/,
  ],
  // Node's timers take whole milliseconds: with half of one every token would be answered 503.
  [
    'introspection',
    { endpoint, client, timeout: 0.5 },
    /timeout must be a whole number of milliseconds from 1/,
  ],
  ['introspection', { endpoint, client, audience: '' }, /audience must be an audience/],
  [
    'blob',
    { accept: 'image/*' },
    /^blob: accept must be an array, each a media type, such as image/,
  ],
  ['blob', { accept: ['png'] }, /accept\[0\] must be a media type, such as image\/\*, not "png"$/],
  ['blob', { maxSize: 1 }, /^blob: unknown option "maxSize"\. Options: accept, inlineBelow$/],
  ['blob', { inlineBelow: -1 }, /^blob: inlineBelow must be a number of bytes from 0, not -1$/],
  ['fileBlobs', { folder: '' }, /^fileBlobs: folder must be a string that is not empty, not ""$/],
  ['fileBlobs', {}, /^fileBlobs: folder must be a string that is not empty, not undefined$/],
  [
    'harden',
    { timeout: 0 },
    /^harden: timeout must be a whole number of milliseconds from 1, not 0$/,
  ],
  ['harden', { maxConnections: 1.5 }, /maxConnections must be a whole number from 1, not 1\.5/],
  [
    'harden',
    { headerTimeout: 1000 },
    /unknown option "headerTimeout"; did you mean "headersTimeout"/,
  ],
  ['limits', { body: '1mb' }, /^limits: body must be a whole number of bytes from 1, not "1mb"$/],
  ['limits', { bodies: 1 }, /^limits: unknown option "bodies"/],
  ['memoryStore', { clock: 0 }, /^memoryStore: clock must be a function, not 0$/],
  ['memoryStore', { clok: 1 }, /unknown option "clok"; did you mean "clock"/],
  ['s3Blobs', { ...s3, bucket: '' }, /bucket must be a string that is not empty, not ""/],
  [
    's3Blobs',
    { ...s3, partSize: 1 },
    /partSize must be a whole number of bytes from 5242880, not 1/,
  ],
  ['s3Blobs', { ...s3, client: {} }, /client must be a client of @aws-sdk\/client-s3/],
  [
    'sqlStore',
    {},
    /^sqlStore: db must be an instance of Kysely, such as new Kysely\(.+\), not undefined$/,
  ],
  ['sqlStore', { db, creates: true }, /unknown option "creates"; did you mean "create"/],
  [
    'sqlStore',
    { db, database: 'oracle' },
    /database must be "sqlite", "postgres", "cockroach" or "yugabyte"/,
  ],
  [
    'sqlStore',
    { db, timeout: '5s' },
    /timeout must be a whole number of milliseconds from 1, not "5s"/,
  ],
  ['sqlStore', { db, version: true }, /version must be the name of a column, or false, not true/],
  ['createTableSql', { database: 'postgresql' }, /database must be .* not "postgresql"$/],
  ['createTableSql', { tabel: 'x' }, /unknown option "tabel"/],
  ['createTableSql', { table: '' }, /^createTableSql: table must be a string that is not empty/],
  [
    'createTableSql',
    { columns: { name: { nmae: 'a' } } },
    /^models, the column of name: unknown option/,
  ],
  [
    'createTableSql',
    { columns: { name: { type: 'text' } } },
    /type must be "jsonb", .*, not "text"/,
  ],
])('%s %o', (name, options, message) => {
  // What JavaScript lets through, and the types do not.
  const define = () => make[name]?.(options as never)
  expect(define).toThrow(TypeError)
  expect(define).toThrow(message)
})

test('createTableSql needs the shape, not the collection', () => {
  const wrong = () => Reflect.apply(createTableSql, null, [{ name: 'models' }])
  expect(wrong).toThrow(TypeError)
  expect(wrong).toThrow(/takes the shape of a collection: models\.shape/)
})

test('options may be undefined', () => {
  const none = undefined
  const common = { realm: none, principal: none, cache: none }
  const photo = blob({ accept: none, inlineBelow: none })
  const dates = { name: { name: none, json: none, type: none } }
  const layout = { table: none, columns: dates, version: none }
  const action = {
    on: 'item' as const,
    method: none,
    input: none,
    output: none,
    description: none,
    run: () => none,
  }
  const made = [
    basic({ verify: () => ({ id: 'a', scopes: none }), realm: none }),
    bearerJwt({
      ...common,
      issuer,
      audience: 'a',
      jwksUri: none,
      keys,
      algorithms: none,
      typ: none,
    }),
    introspection({ ...common, endpoint, client, issuer: none, audience: none, timeout: none }),
    memoryStore({ clock: none }),
    s3Blobs({ ...s3, client: new S3Client({ region: 'a' }), prefix: none, partSize: none }),
    createTableSql(shape, { ...layout, database: none }),
    defineApi({
      rateLimit: {
        policies: [{ name: none, on: none, limit: 1, window: 1 }],
        whenDown: none,
        timeout: none,
        reset: none,
      },
      collections: [
        defineCollection({
          name: 'photos',
          schema: z.object({ name: z.string(), photo }),
          store: memoryStore(),
          blobs: memoryBlobs(),
          actions: { look: action },
        }),
      ],
    }),
  ]
  expect(made).not.toContain(none)
})

test('an undefined option has its default', async () => {
  const times = {
    headersTimeout: undefined,
    requestTimeout: undefined,
    keepAliveTimeout: undefined,
    timeout: undefined,
    maxConnections: undefined,
  }
  const [configured, plain] = [harden(createServer(), times), harden(createServer())]
  for (const name of ['headersTimeout', 'requestTimeout', 'keepAliveTimeout', 'timeout'] as const)
    expect([name, configured[name]]).toEqual([name, plain[name]])
  expect(configured.maxConnections).toBe(plain.maxConnections)

  const limits = { body: undefined, target: undefined, headers: 50 }
  const api = defineApi({
    collections: [
      defineCollection({ name: 'a', schema: z.object({ b: z.string() }), store: memoryStore() }),
    ],
    limits,
  })
  const definition = findApiDefinition(api)
  expect(definition.limits).toEqual(buildLimits({ headers: 50 }))
  expect(definition.limits.body).toBe(1024 * 1024)
})
