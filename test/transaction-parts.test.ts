// What is a part of a transaction besides calls of programs, on each store: hooks, actions, arrays, steps of a batch,
// dry runs, and the calls of the system.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  type HookContext,
  memoryStore,
  type Store,
} from '../src/index.ts'
import { FILTER_OPERATIONS, OPERATIONS } from '../src/model/types/operation.ts'
import { usePostgres } from './stores/postgres.ts'
import { TRANSACTIONAL } from './stores/transactional.ts'

usePostgres()

type Work = (context: HookContext) => unknown

const EACH = 50
const ALL = [...OPERATIONS, ...FILTER_OPERATIONS]

/** Accounts, and orders whose hooks do what a test gives them, in one transaction with the order. */
async function bank(make: () => Store) {
  const works: { [name in 'before' | 'after' | 'act' | 'beforePlain']?: Work | undefined } = {}
  const accounts = defineCollection({
    name: 'accounts',
    schema: z.object({ balance: z.int().min(0), code: z.string().optional() }),
    id: 'integer',
    unique: ['code'],
    store: make(),
    actions: {
      pay: {
        on: 'collection',
        input: z.object({ from: z.int(), to: z.int(), amount: z.int() }),
        transaction: true,
        async run({ input: { from, to, amount }, collection }) {
          await collection().change(to, ({ balance }) => ({ balance: Number(balance) + amount }))
          await collection().change(from, ({ balance }) => ({ balance: Number(balance) - amount }))
        },
      },
      act: { on: 'collection', transaction: true, run: context => works.act?.(context) as never },
    },
  })
  const text = z.object({ text: z.string() })
  const orders = defineCollection({
    name: 'orders',
    schema: text,
    id: 'integer',
    store: make(),
    operations: [...ALL],
    hooks: {
      transaction: true,
      before: event => works.before?.(event) as never,
      after: event => works.after?.(event) as never,
    },
  })
  const plain = defineCollection({
    name: 'plain',
    schema: text,
    id: 'integer',
    store: make(),
    hooks: { before: event => works.beforePlain?.(event) as never },
  })
  const failures: unknown[] = []
  const api = defineApi({
    collections: { accounts, orders, plain },
    batch: true,
    async onError(error) {
      failures.push(error)
      await api.collection(plain).create({ text: 'a failure' })
    },
  })
  const [a, b] = [
    await api.collection(accounts).create({ balance: EACH }),
    await api.collection(accounts).create({ balance: EACH }),
  ]
  const order = await api.collection(orders).create({ text: 'first' })
  const send = async (
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await api.fetch(
      new Request(`http://bank.example${path}`, {
        method,
        body: body ? JSON.stringify(body) : null,
        headers: { 'content-type': 'application/json', ...headers },
      }),
    )
    const answer = await response.text()
    return { status: response.status, json: answer === '' ? undefined : JSON.parse(answer) }
  }
  const counts = async () => ({
    balances: (await api.collection(accounts).list().toArray()).map(({ balance }) => balance),
    orders: await api.collection(orders).list().toArray(),
  })
  return {
    api,
    accounts,
    orders,
    plain,
    works,
    failures,
    send,
    counts,
    a: a.id,
    b: b.id,
    order: order.id,
  }
}

type Bank = Awaited<ReturnType<typeof bank>>

/** Requests of which a hook of orders is a part, whichever it is. */
function withHooks({ order, send }: Bank): Readonly<Record<string, () => ReturnType<typeof send>>> {
  const item = `/orders/${order}`
  const text = { text: 'another' }
  return {
    POST: () => send('POST', '/orders', text),
    'POST of an array': () => send('POST', '/orders', [text, { text: 'a second' }]),
    PATCH: () => send('PATCH', item, text),
    PUT: () => send('PUT', item, text),
    'PATCH by a filter': () => send('PATCH', '/orders?text=first', text),
    'DELETE by a filter': () =>
      send('DELETE', '/orders?text=first', undefined, { prefer: 'max-affected=9' }),
    DELETE: () => send('DELETE', item),
    batch: () => send('POST', '/batch', [{ method: 'POST', path: '/orders', body: text }]),
  }
}

describe.each(Object.entries(TRANSACTIONAL))('%s', (_name, open) => {
  it('hooks in one transaction: what they catch, forget or call outside undoes the change', async () => {
    const made = await bank(await open())
    const { api, accounts, works, counts, failures, a, b } = made
    const before = await counts()
    const bad = { from: a, to: b, amount: 1000 }
    const parts: Readonly<Record<string, readonly [Work, number]>> = {
      'an action that fails': [
        ({ collection }) =>
          collection(accounts)
            .pay(bad)
            .catch(() => undefined),
        500,
      ],
      'a nested transaction that fails': [
        ({ transaction }) =>
          transaction(async tx => {
            await tx.collection(accounts).change(b, ({ balance }) => ({ balance: balance + 1000 }))
            await tx.collection(accounts).patch(a, { balance: -1 })
          }).catch(() => undefined),
        500,
      ],
      'a call that nobody awaits': [
        ({ collection }) => {
          void collection(accounts).change(a, async () => {
            await new Promise(resolve => setTimeout(resolve, 100))
            return { balance: 1 }
          })
        },
        500,
      ],
      'a call on the api': [() => api.collection(accounts).patch(a, { balance: 1 }), 500],
    }
    for (const [part, [work, status]] of Object.entries(parts)) {
      for (const [name, send] of Object.entries(withHooks(made))) {
        for (const hook of ['before', 'after'] as const) {
          works[hook] = work
          const answer = await send()
          const [error] = answer.json.errors
          expect([part, name, hook, error.code]).toEqual([part, name, hook, status])
          delete works[hook]
        }
      }
    }
    expect(await counts()).toEqual(before)
    expect(failures).toHaveLength(64)
    // Two of the four are mistakes of the program.
    expect(failures.filter(error => error instanceof TypeError)).toHaveLength(32)
    await api.close()
  })

  it('hooks without one are parts of the transaction of their call', async () => {
    const { api, accounts, plain, works, counts, send, a, b } = await bank(await open())
    const before = await counts()
    works.beforePlain = ({ collection }) =>
      collection(accounts)
        .pay({ from: a, to: b, amount: 1000 })
        .catch(() => undefined)
    expect((await send('POST', '/plain', { text: 'alone' })).status).toBe(201)
    const caught = api.transaction(tx => tx.collection(plain).create({ text: 'within' }))
    await expect(caught).rejects.toMatchObject({ status: 400 })
    const batch = await send('POST', '/batch', [
      { method: 'POST', path: '/accounts', body: { balance: 3 } },
      { method: 'POST', path: '/plain', body: { text: 'a step' } },
    ])
    expect(batch).toMatchObject({ status: 500, json: { errors: [{ type: 'internal' }] } })
    expect(await counts()).toEqual(before)
    // What `onError` has written stands beside it.
    expect(await api.collection(plain).count({ text: { ne: 'a failure' } })).toBe(1)
    await api.close()
  })

  it('an array that fails behind a stored set undoes the transaction; one that stores nothing does not', async () => {
    const { api, accounts } = await bank(await open())
    const array = (length: number, twice: number) =>
      Array.from({ length }, (_, at) => ({ balance: 1, code: `c${at === twice ? at - 1 : at}` }))
    await api.transaction(async tx => {
      const refused = tx.collection(accounts).create(array(20, 15))
      await expect(refused).rejects.toMatchObject({ status: 409 })
      await tx.collection(accounts).create(array(2, 9))
    })
    expect(await api.collection(accounts).count()).toBe(4)
    const caught = api.transaction(async tx => {
      const rest = array(600, 550).slice(2)
      await tx
        .collection(accounts)
        .create(rest)
        .catch(() => undefined)
    })
    await expect(caught).rejects.toMatchObject({ status: 409, errors: [{ type: 'not_unique' }] })
    expect(await api.collection(accounts).count()).toBe(4)
    await api.close()
  })

  it('a dry run is answered as the write would be', async () => {
    const { api, accounts, works, counts, send, a, b } = await bank(await open())
    const before = await counts()
    const acts: readonly (readonly [Work, number])[] = [
      [({ collection }) => collection(accounts).pay({ from: a, to: b, amount: 1 }), 200],
      [
        ({ collection }) =>
          collection(accounts)
            .pay({ from: a, to: b, amount: 1000 })
            .catch(() => undefined),
        400,
      ],
      [
        ({ collection }) => {
          void collection(accounts).change(a, async () => {
            await new Promise(resolve => setTimeout(resolve, 20))
            return { balance: 1 }
          })
        },
        500,
      ],
      [() => api.collection(accounts).count(), 500],
    ]
    const steps = [{ method: 'POST', path: '/accounts/act' }]
    for (const [act, status] of acts) {
      works.act = act
      const prefer = { prefer: 'tx=rollback, return=representation' }
      expect((await send('POST', '/accounts/act', {}, prefer)).status).toBe(status)
      expect((await send('POST', '/batch', steps, prefer)).status).toBe(status)
      expect(await counts()).toEqual(before)
      if (status === 200) continue
      expect((await send('POST', '/accounts/act', {})).status).toBe(status)
      expect((await send('POST', '/batch', steps)).status).toBe(status)
    }
    expect(await counts()).toEqual(before)
    await expect(
      api.transaction(tx => tx.collection(accounts).create({ balance: 1 }, { dryRun: true })),
    ).rejects.toThrow('a dry run is no part of a transaction')
    await api.close()
  })

  it('a key of work that a caught error has undone is free', async () => {
    const { api, accounts, works, counts, send, a, b } = await bank(await open())
    const pay = (amount: number) => {
      works.act = ({ collection }) =>
        collection(accounts)
          .pay({ from: a, to: b, amount })
          .catch(() => undefined)
      return send('POST', '/accounts/act', {}, { 'idempotency-key': 'one' })
    }
    expect([(await pay(1000)).status, (await pay(1)).status, (await pay(1)).status]).toEqual([
      400, 303, 303,
    ])
    expect((await counts()).balances).toEqual([EACH - 1, EACH + 1])
    await api.close()
  })

  it('onError and what the work has left may call the api once it has ended', async () => {
    const { api, accounts, plain, works, send } = await bank(await open())
    const ended = new Promise<number>((resolve, reject) => {
      works.act = () => {
        setTimeout(() => api.collection(accounts).count().then(resolve, reject), 50)
        throw new Error('declined')
      }
    })
    expect((await send('POST', '/accounts/act', {})).status).toBe(500)
    expect(await ended).toBe(2)
    expect(await api.collection(plain).list().toArray()).toMatchObject([{ text: 'a failure' }])
    await api.close()
  })

  it('one that waits too long for its turn is a 503 before its work begins', async () => {
    const { api, accounts, orders, plain, works } = await bank(await open())
    const hasty = defineApi({
      collections: { accounts, orders, plain },
      limits: { workTime: 100 },
      batch: true,
      onError: () => undefined,
    })
    let ran = 0
    works.act = works.before = () => {
      ran++
    }
    let end = () => {}
    const held = new Promise<void>(resolve => {
      end = resolve
    })
    // As many as PostgreSQL runs at the same time.
    const holders = Array.from({ length: 4 }, () => api.transaction(() => held))
    const post = async (path: string, body: object) => {
      const { status, headers } = await hasty.fetch(
        new Request(`http://bank.example${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      )
      return [status, headers.get('retry-after')]
    }
    const steps = [{ method: 'POST', path: '/accounts/act' }]
    const answers = await Promise.all([
      post('/accounts/act', {}),
      post('/orders', { text: 'late' }),
      post('/orders', [{ text: 'late' }]),
      post('/batch', steps),
    ])
    expect(answers).toEqual(Array(4).fill([503, expect.stringMatching(/^\d+$/)]))
    end()
    await Promise.all(holders)
    await new Promise(resolve => setTimeout(resolve, 50))
    expect([ran, await api.collection(orders).count()]).toEqual([0, 1])
    await api.close()
  })

  it('writers that meet at one item with such hooks wait in line: each runs twice at most', async () => {
    const { api, orders, works, order } = await bank(await open())
    const writers = 30
    let runs = 0
    works.before = () => {
      runs++
    }
    const own = api.collection(orders)
    await Promise.all(
      Array.from({ length: writers }, (_, at) =>
        own.patch(order, { text: `${at}` }, { unconditional: true }),
      ),
    )
    // On PostgreSQL one that meets another in the database runs again, too.
    expect(runs).toBeLessThan(3 * writers)
    await api.close()
  })

  it.each([
    ['PATCH', { text: 'another' }],
    ['DELETE', undefined],
  ])(
    'a hook before %s that changes the same item: a TypeError, and no endless attempts',
    async (method, body) => {
      const { works, failures, send, counts, order } = await bank(await open())
      let runs = 0
      let isInside = false
      works.before = async ({ collection }) => {
        if (isInside) return
        runs++
        isInside = true
        await collection().change(order, () => ({ text: 'of the hook' }))
        isInside = false
      }
      expect((await send(method, `/orders/${order}`, body)).status).toBe(500)
      // The second locks the item: then nobody else can be the cause.
      expect(runs).toBe(2)
      expect(String(failures)).toMatch(
        /^TypeError: orders: a hook before \w+ wrote its own item in the same transaction/,
      )
      works.before = undefined
      expect((await counts()).orders).toMatchObject([{ text: 'first' }])
    },
  )

  it('asSystem() is a part of the transaction within, and outside of it without', async () => {
    const makeStore = await open()
    const notes = defineCollection({
      name: 'notes',
      schema: z.object({ text: z.string() }),
      id: 'integer',
      store: makeStore(),
      visible: () => undefined,
      actions: {
        fail: {
          on: 'collection',
          transaction: true,
          async run({ collection }) {
            await collection().create({ text: 'half' })
            throw new Error('declined')
          },
        },
      },
    })
    const api = defineApi({ collections: { notes } })
    const all = api.asSystem().collection(notes)
    await api.transaction(async tx => {
      const { id } = await tx.asSystem().collection(notes).create({ text: 'one' })
      expect(await tx.collection(notes).count()).toBe(0)
      expect(await tx.asSystem().collection(notes).read(id)).toMatchObject({ text: 'one' })
      const outside = [() => all.read(id), () => api.asSystem().transaction(async () => undefined)]
      for (const call of outside)
        await expect(call()).rejects.toThrow(/is outside of the transaction that runs here/)
    })
    const forgotten = api.transaction(async tx => {
      await tx.asSystem().collection(notes).create({ text: 'two' })
      void tx.asSystem().collection(notes).list().toArray()
    })
    await expect(forgotten).rejects.toThrow('not awaited: notes.list')
    const caught = api.transaction(async tx => {
      const own = tx.asSystem().collection(notes)
      await own.create({ text: 'two' })
      await own.fail().catch(() => undefined)
    })
    await expect(caught).rejects.toThrow('declined')
    expect(await all.list().toArray()).toMatchObject([{ text: 'one' }])
    await api.close()
  })
})

it('a signal that many transactions share keeps nothing of them', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const ended: WeakRef<AbortSignal>[] = []
  const rows = defineCollection({
    name: 'rows',
    schema: z.object({ text: z.string() }),
    store: memoryStore(),
    hooks: {
      before({ signal }) {
        ended.push(new WeakRef(signal))
      },
    },
  })
  const api = defineApi({ collections: { rows } })
  const { signal } = new AbortController()
  for (let at = 0; at < 20; at++)
    await api.transaction(tx => tx.collection(rows).create({ text: 'one' }), { signal })
  await new Promise(resolve => setTimeout(resolve, 10))
  collect()
  expect(ended.filter(each => each.deref() !== undefined).length).toBeLessThan(3)
  expect(signal.aborted).toBe(false)
  await api.close()
})
