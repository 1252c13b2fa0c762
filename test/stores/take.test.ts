// Items that are handed out to jobs, each to one: `take` of a collection with `lease`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  ConflictError,
  defineApi,
  defineCollection,
  memoryStore,
  onPoison,
  type PoisonEvent,
} from '../../src/index.ts'
import { sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { fillOutbox, openJobs, openOutbox } from './jobs.ts'
import { openPostgres, postgres, usePostgres } from './postgres.ts'
import { newFile, openDatabase } from './sqlite.ts'

usePostgres()

/** A clock that stands unless a test moves it. */
let now = Date.now()
const clock = () => now
const pass = (seconds: number) => {
  now += seconds * 1000
}

let tables = 0
const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore({ clock }),
  SQLite: async () => sqlStore({ db: await openDatabase(), create: true, clock }),
  'SQLite without versions': async () => {
    const db = await openDatabase()
    return sqlStore({ db, create: true, clock, version: false })
  },
  PostgreSQL: async () =>
    sqlStore({ db: openPostgres(), table: `take_${++tables}`, create: true, clock }),
  'PostgreSQL with timestamptz': async () => {
    const columns = { taken_until: { type: 'timestamptz(3)' } } as const
    return sqlStore({ db: openPostgres(), table: `take_${++tables}`, create: true, clock, columns })
  },
}

test('a copy of a store, whose writes may differ, hands out no items', () => {
  const open = () => openOutbox({ ...memoryStore() })
  expect(open).toThrow('outbox: lease needs a store that hands out items')
})

describe.each(Object.entries(STORES))('%s', (_name, makeStore) => {
  const open = async (...texts: string[]) => {
    const { api, outbox } = openOutbox(await makeStore())
    for (const text of texts) await outbox.create({ text })
    return { api, outbox }
  }

  test('each item is handed out to one loop, and what is deleted is gone', async () => {
    const { api, outbox } = await open(...'abcdefgh')
    const seen: string[] = []
    const work = async () => {
      for await (const mail of outbox.take()) {
        seen.push(mail.text)
        await outbox.delete(mail)
      }
    }
    await Promise.all([work(), work(), work()])
    expect(seen.sort().join('')).toBe('abcdefgh')
    expect(await outbox.count()).toBe(0)
    await api.close()
  })

  test('limit ends the loop; what it has not done comes again when its lease ends', async () => {
    const { api, outbox } = await open(...'abc')
    const read = async (limit?: number) => {
      const seen: string[] = []
      for await (const { text } of outbox.take({ limit, lease: 10 })) seen.push(text)
      return seen.join('')
    }
    expect([await read(2), await read(), await read()]).toEqual(['ab', 'c', ''])
    pass(11)
    expect(await read()).toBe('abc')
    await api.close()
  })

  test('an error or a break in the body gives the item back, behind the others', async () => {
    const { api, outbox } = await open(...'ab')
    const fails = async () => {
      for await (const { text } of outbox.take()) throw new Error(text)
    }
    await expect(fails()).rejects.toThrow('a')
    await expect(fails()).rejects.toThrow('b')
    pass(1)
    await expect(fails()).rejects.toThrow('a')
    for await (const { text } of outbox.take()) {
      expect(text).toBe('b')
      break
    }
    const left = await outbox.list().toArray()
    expect(left.map(({ text, attempts }) => [text, attempts])).toEqual([
      ['a', 2],
      ['b', 2],
    ])
    await api.close()
  })

  test('who has lost the lease gets a 409, and the new owner keeps the item', async () => {
    const { api, outbox } = await open('a')
    for await (const mine of outbox.take({ lease: 3600 })) {
      pass(3601)
      for await (const theirs of outbox.take({ lease: 3600 })) {
        expect(theirs.id).toBe(mine.id)
        await expect(outbox.delete(mine)).rejects.toThrow(ConflictError)
        await expect(outbox.patch(mine, { text: 'b' })).rejects.toMatchObject({ status: 409 })
        const changed = await outbox.patch(theirs, { text: 'c' })
        await outbox.delete(changed)
      }
    }
    expect(await outbox.count()).toBe(0)
    await api.close()
  })

  test('maxAttempts leaves an item out, and an event names it once', async () => {
    const { api, outbox } = await open(...'ab')
    const named: PoisonEvent[] = []
    const stop = onPoison(event => named.push(event))
    const seen: string[] = []
    for (let round = 0; round < 5; round++) {
      for await (const mail of outbox.take({ maxAttempts: 2, lease: 10 })) {
        seen.push(mail.text)
        if (mail.text === 'b') await outbox.delete(mail)
      }
      pass(11)
    }
    stop()
    expect(seen.join('')).toBe('aba')
    expect(named).toMatchObject([{ collection: 'outbox', item: { text: 'a', attempts: 3 } }])
    await outbox.patch(named[0]?.item.id as number, { attempts: 0 })
    for await (const { text } of outbox.take({ maxAttempts: 2 })) expect(text).toBe('a')
    await api.close()
  })

  test('neither updated_at nor hooks see it; a write within the loop keeps the lease', async () => {
    const { api, outbox } = await open('a')
    const before = await outbox.list().first()
    for await (const mail of outbox.take({ lease: 3600 })) {
      expect(mail.updated_at).toBe(before?.updated_at)
      const half = await outbox.patch(mail, { text: 'half' })
      expect((await outbox.patch(half, { text: 'whole' })).taken_until).toBe(mail.taken_until)
      for await (const other of outbox.take()) throw new Error(`also ${other.text}`)
    }
    await api.close()
  })
})

test.each([
  ['SQLite', async () => newFile()],
  ['PostgreSQL', async () => postgres().url],
])(
  '%s: the lease is renewed while the body runs, also beside its writes',
  async (_name, address) => {
    const db = await openJobs(await address())
    const { api, outbox } = openOutbox(
      sqlStore({ db, table: 'renewed_outbox', create: true, clock }),
    )
    const { id } = await outbox.create({ text: '0' })
    let steals = 0
    for await (const mail of outbox.take({ lease: 1 })) {
      let last = mail
      for (let at = 1; at <= 4; at++) {
        const before = (await outbox.read(id)).taken_until
        pass(0.9)
        // Each renewal begins the lease anew, by the clock of the store.
        while ((await outbox.read(id)).taken_until === before)
          await new Promise(resolve => setTimeout(resolve, 20))
        for await (const stolen of outbox.take({ limit: 1 })) steals += stolen.id
        last = await outbox.patch(last, { text: String(at) })
      }
      await api.transaction(tx => tx.asSystem().collection('outbox').delete(last))
    }
    expect([steals, await outbox.count({ id })]).toEqual([0, 0])
    await api.close()
    await db.destroy()
  },
)

const started = new Set<ReturnType<typeof spawn>>()
afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
})

test('PostgreSQL: of two processes one is killed; each mail is done, and once more the one that it held', async () => {
  const address = postgres().url
  const db = await openJobs(address)
  const { api } = openOutbox(sqlStore({ db, table: 'jobs_outbox', create: true }))
  await api.open()
  await fillOutbox(db, 120)
  const begun: string[] = []
  const file = fileURLToPath(new URL('jobs.ts', import.meta.url))
  /** @param whenBegun runs as the process begins a mail. */
  const run = (env: object, whenBegun: (process: ReturnType<typeof spawn>) => void) => {
    const child = spawn(process.execPath, ['--import', 'tsx', file], {
      env: { ...process.env, JOBS: address, LEASE: '4', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    started.add(child)
    createInterface({ input: child.stdout }).on('line', line => {
      if (!line.startsWith('+')) return
      begun.push(line)
      whenBegun(child)
    })
    return once(child, 'close')
  }
  // The first one holds its 20th mail, and is killed once the other one has begun all the rest.
  const others: Promise<unknown[]>[] = []
  const killed = run({ HOLD: '20' }, first => {
    if (begun.length === 20)
      others.push(
        run({}, () => {
          if (begun.length === 120) first.kill('SIGKILL')
        }),
      )
  })
  expect([await killed, await Promise.all(others)]).toEqual([[null, 'SIGKILL'], [[0, null]]])
  // The mail that was held is begun once more, after its lease: no other one is.
  expect([begun.length, new Set(begun).size, begun.at(-1)]).toEqual([121, 120, begun[19]])
  await api.close()
  await db.destroy()
}, 120_000)

describe('a declaration and a call that cannot be are a TypeError', () => {
  const schema = z.object({
    text: z.string(),
    until: z.iso.datetime().optional(),
    due: z.iso.datetime(),
    tries: z.int().default(0),
  })
  const define = (options: object, store: Store = memoryStore()) =>
    defineCollection({ name: 'mails', schema, store, ...options })

  test.each([
    ['a lease that is no field', { lease: 'none' }, 'lease names no field'],
    ['a lease that is no date-time', { lease: 'text' }, 'lease must be a date-time'],
    ['a lease that each item has', { lease: 'due' }, 'lease must be a date-time that is optional'],
    ['attempts that are no number', { lease: 'until', attempts: 'text' }, 'attempts must be'],
    ['attempts without a lease', { attempts: 'tries' }, 'Add lease'],
    [
      'an action of that name',
      { lease: 'until', actions: { take: { on: 'collection', run: () => {} } } },
      'Rename the action take',
    ],
  ])('%s', (_what, options, message) => {
    expect(() => define(options)).toThrow(message)
    expect(() => define(options)).toThrow(TypeError)
  })

  test('a store that hands out nothing', () => {
    const { take: _take, ...store } = memoryStore()
    expect(() => define({ lease: 'until' }, store)).toThrow('lease needs a store')
  })

  test('a call in a transaction, as somebody, or with maxAttempts alone', async () => {
    const mails = defineCollection({ name: 'mails', schema, store: memoryStore(), lease: 'until' })
    const api = defineApi({ collections: { mails } })
    expect(() => api.collection(mails).take()).toThrow('asSystem()')
    const system = api.asSystem()
    expect(() => system.collection(mails).take({ maxAttempts: 3 })).toThrow('attempts')
    expect(() => system.collection(mails).take({ lease: 0 })).toThrow('lease')
    const inside = api.transaction(async tx => tx.asSystem().collection(mails).take())
    await expect(inside).rejects.toThrow('mails.take cannot run in a transaction')
    const outside = api.transaction(async () => system.collection(mails).take())
    await expect(outside).rejects.toThrow('outside of the transaction')
    const ended = AbortSignal.abort(new Error('stop'))
    const stopped = async () => {
      for await (const _ of system.collection(mails).take({ signal: ended })) return
    }
    await expect(stopped()).rejects.toThrow('stop')
  })
})
