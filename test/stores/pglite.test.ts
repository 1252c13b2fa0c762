// PGlite: a PostgreSQL within this process, which has one connection.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  type DatabaseConnection,
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { bundle } from '../bundle.ts'
import { newTable } from './several.ts'

/** `npm ci --prefix test/stores/databases` */
const packages = join(import.meta.dirname, 'databases')
const dist = join(packages, 'node_modules/@electric-sql/pglite/dist')
const program = join(import.meta.dirname, '../client/runtimes/node_modules/node22/bin/node')

test.skipIf(!existsSync(dist) || !existsSync(program))(
  'each third case of the contract holds on PGlite, by the dialect of Kysely 0.29',
  async () => {
    const script = bundle(join(import.meta.dirname, 'pglite.ts'), packages)
    const { stdout } = await promisify(execFile)(program, [script, 'third'])
    expect(JSON.parse(stdout)).toEqual({ passed: true, failed: [] })
  },
  120_000,
)

/** A PGlite, as far as it is used here. */
interface PGlite {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: never[] }>
  close(): Promise<void>
}

/** Gives the one connection to everybody at once, as dialects for Kysely 0.28 do. */
function dialectWithoutTurns(pglite: PGlite): Dialect {
  const connection: DatabaseConnection = {
    executeQuery: ({ sql, parameters }) => pglite.query(sql, parameters),
    streamQuery: () => {
      throw new TypeError('No store streams')
    },
  }
  const run = (text: string) => async () => void (await pglite.query(text))
  return {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: db => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => connection,
      beginTransaction: run('begin'),
      commitTransaction: run('commit'),
      rollbackTransaction: run('rollback'),
      releaseConnection: async () => {},
      destroy: async () => {},
    }),
  }
}

describe.skipIf(!existsSync(dist))('all work of PGlite takes its turn', () => {
  let pglite: PGlite
  let createPgConfig: (pglite: PGlite) => pg.PoolConfig

  beforeAll(async () => {
    // Its types are not there where it is not installed.
    const load = (file: string) => import(join(dist, file))
    ;({ createPgConfig } = await load('node-postgres/index.js'))
    pglite = await (await load('index.js')).PGlite.create()
  })
  afterAll(() => pglite?.close())

  const dialects: Record<string, () => Dialect> = {
    'a pool of pg': () => {
      const pool = new pg.Pool(createPgConfig(pglite))
      return new PostgresDialect({ pool: reuseStatements(pool) })
    },
    'a dialect without turns': () => dialectWithoutTurns(pglite),
  }

  describe.each(Object.entries(dialects))('%s', (_name, make) => {
    let db: Kysely<unknown>

    beforeAll(() => {
      db = new Kysely({ dialect: make() })
    })

    test('one create that fails undoes no other', async () => {
      const warned: string[] = []
      const listen = (warning: Error) => void warned.push(warning.message)
      process.on('warning', listen)
      const open = () => sqlStore({ db, table: newTable(), create: true })
      const schema = z.object({ name: z.string() })
      const cars = defineCollection({ name: 'cars', schema, store: open() })
      const options = defineCollection({
        name: 'options',
        schema: z.object({ car_id: z.string() }),
        store: open(),
        parents: { car_id: 'cars' },
      })
      const api = defineApi({ collections: { cars, options } })
      const { id } = await api.collection(cars).create({ name: 'A' })
      const gone = '019a0000-0000-7000-8000-000000000000'
      const writes = Array.from({ length: 50 }, (_, at) => [
        api.collection(options).create({ car_id: at === 20 ? gone : id }),
        api.collection(cars).patch(id, { name: `${at}` }),
        api.collection(cars).create({ name: 'B' }),
      ])
      const ended = await Promise.allSettled(writes.flat())
      const failures = ended.filter(({ status }) => status === 'rejected')
      expect(failures).toMatchObject([{ reason: { status: 400 } }])
      expect(await api.collection(options).count()).toBe(49)
      await expect(api.collection(cars).delete(id)).rejects.toMatchObject({ status: 409 })
      process.off('warning', listen)
      // There is nobody who could cancel a statement of this process.
      expect(warned).toEqual([])
    })

    test('a transaction that is undone takes nothing of others with it', async () => {
      const schema = z.object({ name: z.string() })
      const [cars, boats] = ['cars', 'boats'].map(name =>
        defineCollection({
          name,
          schema,
          store: sqlStore({ db, table: newTable(), create: true }),
        }),
      )
      if (!cars || !boats) throw new Error('Two names, two collections')
      const api = defineApi({ collections: [cars, boats] })
      await api.open()
      let undone: Promise<unknown> | undefined
      await new Promise<void>(begin => {
        undone = api.transaction(async tx => {
          await tx.collection('cars').create({ name: 'undone' })
          begin()
          await new Promise(resolve => setTimeout(resolve, 20))
          throw new RangeError('undone')
        })
      })
      const seen = api.collection('cars').count()
      const made = [api.collection('boats'), api.collection('cars')].map(each =>
        each.create({ name: 'A' }),
      )
      await expect(undone).rejects.toThrow(RangeError)
      await Promise.all(made)
      expect(await seen).toBe(0)
      expect([await api.collection('cars').count(), await api.collection('boats').count()]).toEqual(
        [1, 1],
      )
    })
  })
})
