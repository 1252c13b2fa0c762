// Calls in and around a transaction, on each store: nested ones that fail, those outside of it, forgotten ones.
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import * as library from '../src/index.ts'
import type { Store } from '../src/store/store.ts'
import { usePostgres } from './stores/postgres.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'

usePostgres()

const EACH = 50
const OUTSIDE = /is outside of the transaction .* call tx\.collection\(\)/

/** A promise, and the function that resolves it. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, opened }
}

/** What a call throws. */
async function failureOf(call: unknown): Promise<Error> {
  try {
    await call
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('The call has succeeded')
}

/** A bank whose transfers first give and then take: one that fails has given. */
async function bank(
  make: (name?: string) => Store,
  { defineApi, defineCollection }: Pick<typeof library, 'defineApi' | 'defineCollection'> = library,
  workTime = 20_000,
) {
  const transfer = z.object({ from: z.int(), to: z.int(), amount: z.int() })
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ balance: z.int().min(0), note: z.string().optional() }),
    id: 'integer',
    search: ['note'],
    store: make(),
    actions: {
      /** A transaction by its declaration. */
      pay: {
        on: 'collection',
        input: transfer,
        transaction: true,
        async run({ input: { from, to, amount }, collection }) {
          await collection().change(to, ({ balance }) => ({ balance: Number(balance) + amount }))
          await collection().change(from, ({ balance }) => ({ balance: Number(balance) - amount }))
        },
      },
      /** A transaction by its work. */
      move: {
        on: 'collection',
        input: transfer,
        run: ({ input: { from, to, amount }, transaction }) =>
          transaction(async tx => {
            const own = tx.collection()
            await own.change(to, ({ balance }) => ({ balance: Number(balance) + amount }))
            await own.change(from, ({ balance }) => ({ balance: Number(balance) - amount }))
          }),
      },
      /** Pays, and catches what is refused: within a transaction of its own. */
      payAll: {
        on: 'collection',
        input: z.object({ all: z.array(transfer) }),
        transaction: true,
        async run({ input, collection }) {
          for (const each of input.all)
            await Object(collection())
              .pay(each)
              .catch(() => undefined)
        },
      },
      /** Calls the api itself. */
      stray: { on: 'collection', transaction: true, run: () => stray() },
      /** Calls beside its own transaction. */
      beside: {
        on: 'collection',
        run: ({ transaction, collection }) =>
          transaction(() => collection().create({ balance: 1 })),
      },
      show: { on: 'item', method: 'GET', run: ({ item }) => item },
    },
  })
  const entries = defineCollection({
    name: 'entries',
    schema: z.object({ account_id: z.int(), text: z.string() }),
    id: 'integer',
    parents: { account_id: { collection: 'accounts', onDelete: 'cascade' } },
    store: make(),
  })
  const owners = defineCollection({
    name: 'owners',
    schema: z.object({ id: z.string(), name: z.string() }),
    putCreates: true,
    store: make(),
  })
  const errors: unknown[] = []
  const api = defineApi({
    collections: { accounts, entries, owners },
    limits: { workTime },
    onError: error => {
      errors.push(error)
    },
  })
  const stray = (): Promise<unknown> => api.collection(accounts).create({ balance: 1 })
  for (let at = 0; at < 3; at++) await api.collection(accounts).create({ balance: EACH })
  const [a, b, c] = (await api.collection(accounts).list().toArray()).map(({ id }) => id)
  if (a === undefined || b === undefined || c === undefined) throw new Error('three accounts')
  const balances = async () =>
    (await api.collection(accounts).list().toArray()).map(({ balance }) => balance)
  const post = (path: string, body: object) =>
    api.fetch(
      new Request(`http://bank.example${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    )
  return { api, accounts, entries, owners, balances, post, errors, a, b, c }
}

describe.each(Object.entries(TRANSACTIONAL))('%s', (name, open) => {
  const opened = async () => bank(await open())

  describe('nested work that fails', () => {
    it('undoes the transaction, though the program catches it: the first error is thrown', async () => {
      const { api, accounts, balances, a, b } = await opened()
      for (const nested of ['pay', 'move'] as const) {
        const caught = api.transaction(async tx => {
          await tx.collection(accounts)[nested]({ from: a, to: b, amount: 3 })
          for (const amount of [1000, 2000]) {
            const refused = tx.collection(accounts)[nested]({ from: a, to: b, amount })
            await expect(refused).rejects.toMatchObject({ status: 400 })
          }
          const unknown = tx.collection(accounts)[nested]({ from: 999, to: b, amount: 1 })
          await expect(unknown).rejects.toMatchObject({ status: 404 })
          return 'done'
        })
        await expect(caught).rejects.toMatchObject({
          status: 400,
          message: expect.stringContaining('balance'),
        })
        expect(await balances()).toEqual([EACH, EACH, EACH])
      }
      await api.close()
    })

    it('undoes an action, too, and what the work throws itself comes first', async () => {
      const { api, accounts, balances, post, a, b } = await opened()
      const good = { from: a, to: b, amount: 3 }
      const bad = { from: a, to: b, amount: 1000 }
      expect((await post('/accounts/payAll', { all: [good, bad, good] })).status).toBe(400)
      expect(await balances()).toEqual([EACH, EACH, EACH])
      expect((await post('/accounts/payAll', { all: [good, good] })).status).toBe(303)
      expect(await balances()).toEqual([EACH - 6, EACH + 6, EACH])
      const other = new library.HttpError(402, 'Declined')
      const thrown = api.transaction(async tx => {
        await tx
          .collection(accounts)
          .pay(bad)
          .catch(() => undefined)
        throw other
      })
      await expect(thrown).rejects.toBe(other)
      expect(await balances()).toEqual([EACH - 6, EACH + 6, EACH])
      await api.close()
    })

    it('may be caught inside; a single call that fails undoes nothing but itself', async () => {
      const { api, accounts, owners, balances, a } = await opened()
      await api.transaction(async tx => {
        const own = tx.collection(accounts)
        await expect(own.patch(a, { balance: -1 })).rejects.toMatchObject({ status: 400 })
        await expect(own.delete(999)).rejects.toMatchObject({ status: 404 })
        await own.patch(a, { balance: 1 })
        // Both find nothing: the second one then replaces what the first has created.
        const names = tx.collection(owners)
        await Promise.all([
          names.replace('x', { id: 'x', name: 'X' }),
          names.replace('x', { id: 'x', name: 'Y' }),
        ])
      })
      expect(await balances()).toEqual([1, EACH, EACH])
      expect(await api.collection(owners).count()).toBe(1)
      await api.close()
    })
  })

  describe('a call on the api itself', () => {
    it('is refused at once, whichever it is; the transaction goes on', async () => {
      const { api, accounts, balances, a, b } = await opened()
      const own = api.collection(accounts)
      const list = own.list({ limit: 1 })
      const iterate = async (each: AsyncIterable<unknown>) => {
        for await (const _item of each) return
      }
      const item = await own.read(a)
      const calls: Readonly<Record<string, () => unknown>> = {
        create: () => own.create({ balance: 1 }),
        replace: () => own.replace(a, { balance: 1 }),
        patch: () => own.patch(item, { balance: 1 }),
        delete: () => own.delete(a),
        change: () => own.change(a, () => ({ balance: 1 })),
        patchMany: () => own.patchMany({ balance: EACH }, { balance: 1 }),
        deleteMany: () => own.deleteMany({ balance: EACH }, { maxAffected: 9 }),
        read: () => own.read(a),
        list: () => iterate(own.list()),
        'list, made before': () => iterate(list),
        toArray: () => own.list().toArray(),
        page: () => own.list().page(),
        first: () => own.list().first(),
        count: () => own.count(),
        search: () => own.search('x').toArray(),
        'an action': () => own.pay({ from: a, to: b, amount: 1 }),
        'an action on an item': () => own.show(a),
        transaction: () => api.transaction(async () => undefined),
      }
      for (const [called, call] of Object.entries(calls)) {
        await api.transaction(async tx => {
          await tx.collection(accounts).change(b, ({ balance }) => ({ balance: balance + 1 }))
          const error = await failureOf(call())
          expect([called, error]).toEqual([called, expect.any(TypeError)])
          expect(error.message).toMatch(OUTSIDE)
        })
      }
      expect(await balances()).toEqual([EACH, EACH + Object.keys(calls).length, EACH])
      await api.close()
    })

    it('is refused in a request, too: of api.fetch, and in an action', async () => {
      const { api, accounts, balances, post, errors } = await opened()
      await api.transaction(async tx => {
        await tx.collection(accounts).create({ balance: 2 })
        expect((await post('/accounts', { balance: 1 })).status).toBe(500)
        expect((await api.fetch(new Request('http://bank.example/accounts'))).status).toBe(500)
      })
      expect((await post('/accounts/stray', {})).status).toBe(500)
      expect((await post('/accounts/beside', {})).status).toBe(500)
      expect(errors).toEqual(Array(4).fill(expect.any(TypeError)))
      expect(String(errors)).toMatch(OUTSIDE)
      expect(await balances()).toEqual([EACH, EACH, EACH, 2])
      await api.close()
    })

    it('is as ever where no transaction runs around it: beside, after, in another database', async () => {
      const { api, accounts, balances, post, a } = await opened()
      const elsewhere = TRANSACTIONAL[name === 'memory' ? 'SQLite' : 'memory']
      const makeStore = await elsewhere?.()
      if (!makeStore) throw new Error('another database')
      const logs = library.defineCollection({
        name: 'logs',
        schema: z.object({ text: z.string() }),
        store: makeStore(),
      })
      const other = library.defineApi({ collections: { logs } })
      const [begun, gone] = [gate(), gate()]
      const late = gate()
      let later: Promise<unknown> | undefined
      const running = api.transaction(async tx => {
        await tx.collection(accounts).patch(a, { balance: 1 })
        await other.collection('logs').create({ text: 'one' })
        await other.transaction(async inner => {
          await inner.collection('logs').create({ text: 'two' })
          const outside = api.collection(accounts).count()
          await expect(outside).rejects.toThrow(OUTSIDE)
        })
        later = late.opened.then(() => api.collection(accounts).create({ balance: 3 }))
        begun.open()
        await gone.opened
      })
      await begun.opened
      // Its async context is its own. Where the store has one line it waits for the transaction.
      const beside = post('/accounts', { balance: 2 })
      gone.open()
      await running
      expect((await beside).status).toBe(201)
      late.open()
      await later
      expect((await balances()).toSorted()).toEqual([1, 2, 3, EACH, EACH])
      expect(await other.collection('logs').count()).toBe(2)
      await Promise.all([api.close(), other.close()])
    })
  })

  describe('a call that nobody awaits', () => {
    it('undoes the transaction, which names it', async () => {
      const { api, accounts, entries, balances, a, b } = await opened()
      await api.transaction(async tx => {
        for (let at = 0; at < 300; at++)
          await tx.collection(entries).create({ account_id: a, text: `${at}` })
      })
      const late = gate()
      const forgotten: Readonly<
        Record<string, Parameters<typeof api.transaction>[0] & ((tx: never) => unknown)>
      > = {
        'accounts.delete': async tx => {
          void tx.collection('accounts').delete(a)
        },
        'accounts.change': async tx => {
          void tx.collection('accounts').change(a, async () => {
            await late.opened
            return { balance: 1 }
          })
          await tx.collection('accounts').patch(b, { balance: 1 })
        },
        'accounts.move': async tx => {
          void Object(tx.collection('accounts')).move({ from: b, to: a, amount: 1 })
        },
        'entries.list': async tx => {
          void tx.collection('entries').list().toArray()
        },
      }
      for (const [names, work] of Object.entries(forgotten)) {
        const error = await failureOf(api.transaction(work))
        expect(error).toBeInstanceOf(TypeError)
        expect(error.message).toContain(`not awaited: ${names}`)
        expect(await balances()).toEqual([EACH, EACH, EACH])
        expect(await api.collection(entries).count()).toBe(300)
      }
      late.open()
      await new Promise(resolve => setTimeout(resolve, 50))
      expect(await balances()).toEqual([EACH, EACH, EACH])
      // A list that is left counts only while it reads.
      const read = await api.transaction(async tx => {
        const items = tx.collection(entries).list()[Symbol.asyncIterator]()
        tx.collection(accounts).list()
        await tx.collection(accounts).patch(a, { balance: 1 })
        const entry = (await items.next()).value
        const list = tx.collection(entries).list({ limit: 1 })
        expect([(await list.page()).items[0], await list.first()]).toEqual([entry, entry])
        expect(await tx.collection(accounts).search('x').toArray()).toEqual([])
        return entry
      })
      expect(read).toMatchObject({ text: '0' })
      expect(await balances()).toEqual([1, EACH, EACH])
      await api.close()
    })

    it('a cascade beside a change of what it deletes is done, or undoes the transaction', async () => {
      const { api, accounts, entries, a, b } = await opened()
      const fill = (account_id: number) =>
        api.transaction(async tx => {
          for (let at = 0; at < 250; at++)
            await tx.collection(entries).create({ account_id, text: `${at}` })
        })
      await fill(a)
      const [first] = await api.collection(entries).list({ limit: 1 }).toArray()
      // The deletion begins with the last one.
      await api.transaction(async tx => {
        const deleted = tx.collection(accounts).delete(a)
        await tx.collection(entries).patch(first?.id ?? 0, { text: 'changed' })
        await deleted
      })
      expect(await api.collection(entries).count()).toBe(0)
      expect(await api.collection(accounts).count()).toBe(2)
      await fill(b)
      const item = await api.collection(accounts).read(b)
      const caught = api.transaction(async tx => {
        const deleted = tx
          .collection(accounts)
          .delete(item)
          .catch(error => error)
        await tx.collection(accounts).patch(b, { note: 'changed' })
        expect(await deleted).toBeInstanceOf(Error)
      })
      await expect(caught).rejects.toMatchObject({ status: 409 })
      expect(await api.collection(entries).count()).toBe(250)
      expect(await api.collection(accounts).read(b)).toEqual(item)
      // Ended in the middle of it, between two sets of items.
      const filled = name === 'PostgreSQL' ? 3 : 10
      for (let more = 1; more < filled; more++) await fill(b)
      const stopped = api.transaction(async tx => {
        const stop = new AbortController()
        const { signal } = stop
        const deleted = tx
          .collection(accounts)
          .delete(b, { signal })
          .catch(error => error)
        while ((await tx.collection(entries).count()) === filled * 250)
          await new Promise(resolve => setImmediate(resolve))
        stop.abort(new Error('stopped'))
        await deleted
      })
      await expect(stopped).rejects.toThrow('stopped')
      expect(await api.collection(entries).count()).toBe(filled * 250)
      expect(await api.collection(accounts).read(b)).toEqual(item)
      await api.close()
    })
  })

  it('a request that is over writes nothing afterwards', async () => {
    const { api, accounts, entries, balances, a } = await opened()
    const hasty = library.defineApi({
      collections: { accounts, entries },
      limits: { workTime: 100 },
    })
    const [begun, gone] = [gate(), gate()]
    const running = api.transaction(async tx => {
      await tx.collection(accounts).patch(a, { balance: 1 })
      begun.open()
      await gone.opened
    })
    await begun.opened
    const answer = await hasty.fetch(
      new Request(`http://bank.example/accounts/${a}`, {
        method: 'PATCH',
        body: JSON.stringify({ balance: 2 }),
        headers: { 'content-type': 'application/merge-patch+json' },
      }),
    )
    expect(answer.status).toBe(503)
    gone.open()
    await running
    await api.collection(accounts).patch(a, { note: 'after' })
    expect(await balances()).toEqual([1, EACH, EACH])
    await api.close()
  })
})

describe('in other runtimes', () => {
  const { getBuiltinModule } = process
  afterEach(() => {
    Object.assign(process, { getBuiltinModule })
    vi.resetModules()
  })

  /** Opens a bank in a runtime that has these modules, or cannot be asked for them. */
  const openIn = async (name: string, modules: object | undefined, workTime?: number) => {
    vi.resetModules()
    Object.assign(process, { getBuiltinModule: modules && (() => modules) })
    const fresh = await import('../src/index.ts')
    const stores = await import('./stores/transactional.ts')
    const make = await stores.TRANSACTIONAL[name]?.()
    if (!make) throw new Error(name)
    return bank(make, fresh, workTime)
  }

  it.each(['memory', 'SQLite'])(
    'without AsyncLocalStorage a call beside ends with the transaction and writes nothing: %s',
    async name => {
      const { api, accounts, balances, post, a } = await openIn(name, undefined, 300)
      expect((await post('/accounts/beside', {})).status).toBe(503)
      await api.collection(accounts).patch(a, { balance: 1 })
      expect(await balances()).toEqual([1, EACH, EACH])
      await api.close()
    },
  )

  it('a storage that cannot be disabled refuses calls, too, and only within a transaction', async () => {
    class Storage<T> extends AsyncLocalStorage<T> {
      override disable() {
        throw new Error('not implemented')
      }
    }
    const { api, accounts, balances } = await openIn('memory', { AsyncLocalStorage: Storage })
    await api.transaction(async () => {
      await expect(api.collection(accounts).create({ balance: 1 })).rejects.toThrow(OUTSIDE)
    })
    await api.collection(accounts).create({ balance: 1 })
    expect(await balances()).toEqual([EACH, EACH, EACH, 1])
    await api.close()
  })
})
