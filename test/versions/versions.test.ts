// What the versions of an api share: a hook or action of one calls the collections of all.
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  type Hooks,
  memoryStore,
  type OperationEvent,
  type Principal,
  type Scheme,
} from '../../src/index.ts'
import { usePostgres } from '../stores/postgres.ts'
import { TRANSACTIONAL } from '../stores/transactional.ts'
import { tryVersions } from './worlds.ts'

usePostgres()

test.each(Object.entries(TRANSACTIONAL))(
  'random requests through both versions: each write has its row in the audit, %s',
  async (_name, open) => {
    const openStore = await open()
    const { statuses, writes, rows, failures } = await tryVersions(200, () => openStore(), 7)
    expect(failures).toEqual([])
    expect(Object.keys(statuses).filter(status => Number(status) >= 500)).toEqual([])
    expect(writes).toBeGreaterThan(50)
    expect(rows).toBe(writes)
  },
  60_000,
)

const scheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers: { authorization } }) =>
    authorization ? { id: authorization.slice(5), scopes: [] } : undefined,
}

const Car = z.object({ color: z.string() })

/** Two versions of cars on one store; the hooks are those of both. */
function openCars(hooks: (open: () => ReturnType<typeof declare>) => Hooks) {
  const failures: string[] = []
  const declared = declare(() => hooks(() => declared))
  const api = defineApi({
    schemes: [scheme],
    access: { default: 'public' },
    onError: error => void failures.push(String(error)),
    versions: [
      { version: 1, collections: [declared.old, declared.plain] },
      { version: 2, collections: [declared.cars, declared.audit] },
    ],
  })
  const post = async (path: string) => {
    const headers = { 'content-type': 'application/json', authorization: 'Test ann' }
    const init = { method: 'POST', headers, body: '{"color":"red"}' }
    return (await api.fetch(new Request(`http://api.test${path}`, init))).status
  }
  return { ...declared, api, failures, post }
}

function declare(hooks: () => Hooks) {
  const store = memoryStore()
  const each = { name: 'cars', store, hooks: hooks() } as const
  return {
    old: defineCollection({ ...each, schema: Car }),
    cars: defineCollection({
      ...each,
      schema: Car.extend({ doors: z.int().default(5) }),
      actions: { honk: { on: 'item', run: () => undefined } },
    }),
    /** Of the first version alone. */
    plain: defineCollection({ name: 'plain', schema: Car, store: memoryStore() }),
    /** Of the second version alone, with a policy and hooks of its own. */
    audit: defineCollection({
      name: 'audit',
      schema: z.object({ what: z.string(), by: z.string().default('?') }),
      store: memoryStore(),
      visible: principal => principal && { by: principal.id },
      fields: {
        by: { readOnly: ({ principal }: { principal: Principal | undefined }) => principal?.id },
      },
      hooks: { before: { create: ({ value }) => ({ ...value, what: `! ${value.what}` }) } },
    }),
  }
}

describe('a collection that another version has', () => {
  const write = (wanted: 'audit' | 'declaration') => (open: () => ReturnType<typeof declare>) => {
    return async ({ collection, operation: what }: OperationEvent) => {
      const { audit } = open()
      // A name alone says nothing of the types.
      await collection(wanted === 'audit' ? ('audit' as never as typeof audit) : audit).create({
        what,
      })
    }
  }
  const within =
    (open: () => ReturnType<typeof declare>) =>
    ({ transaction }: OperationEvent) =>
      transaction(async tx => {
        await tx.collection(open().audit).create({ what: 'create' })
      })

  it.each<[string, Parameters<typeof openCars>[0]]>([
    ['by its declaration, before', open => ({ before: write('declaration')(open) })],
    ['by its declaration, after', open => ({ after: write('declaration')(open) })],
    ['by its name, after', open => ({ after: write('audit')(open) })],
    ['in the transaction', open => ({ transaction: true, after: write('declaration')(open) })],
    [
      'by its name in the transaction',
      open => ({ transaction: true, after: write('audit')(open) }),
    ],
    ['in a transaction of the hook', open => ({ after: within(open) })],
    ['in a part of the transaction', open => ({ transaction: true, before: within(open) })],
  ])('a hook finds it %s, with its policies and hooks', async (_name, hooks) => {
    const { api, audit, failures, post } = openCars(hooks)
    expect([await post('/v1/cars'), await post('/v2/cars'), failures]).toEqual([201, 201, []])
    const rows = api.versions.v2.collection(audit).list({}, { principal: { id: 'ann' } })
    const row = { what: '! create', by: 'ann' }
    expect(await rows.toArray()).toMatchObject([row, row])
    const others = api.versions.v2.collection(audit).list({}, { principal: { id: 'bob' } })
    expect(await others.toArray()).toEqual([])
  })

  it('of two with one name a hook finds the one that it names, and by the name its own', async () => {
    const found: boolean[] = []
    const { api, post, old, cars } = openCars(open => ({
      before: ({ collection }) => {
        for (const each of [open().old, open().cars, 'cars' as const])
          found.push('honk' in collection(each))
      },
    }))
    expect([await post('/v1/cars'), await post('/v2/cars')]).toEqual([201, 201])
    expect(found).toEqual([false, true, false, false, true, true])
    // So do programs.
    for (const { collection } of [api.versions.v1, api.versions.v2])
      expect(['honk' in collection(old), 'honk' in collection(cars)]).toEqual([false, true])
  })

  it('a version that has the declaration too calls its own', async () => {
    const audit = defineCollection({
      name: 'audit',
      schema: z.object({ what: z.string() }),
      store: memoryStore(),
    })
    const cars = defineCollection({
      name: 'cars',
      schema: Car,
      store: memoryStore(),
      hooks: { after: ({ collection }) => collection(audit).create({ what: 'x' }) },
    })
    const ran: number[] = []
    const hooks = (version: number) => ({ audit: { after: () => ran.push(version) } })
    const api = defineApi({
      versions: [1, 2, 3].map(version => ({
        version,
        collections: version === 3 ? { cars } : { cars, audit },
        hooks: version === 3 ? {} : hooks(version),
      })),
    })
    const versions: Readonly<Record<string, typeof api>> = Object(api.versions)
    for (const name of ['v1', 'v2', 'v3'])
      await versions[name]?.collection(cars).create({ color: '' })
    expect(ran).toEqual([1, 2, 2])
  })

  it('the transaction of a program takes it too, and one may be of its database', async () => {
    const { api, audit, plain } = openCars(() => ({}))
    const by = { principal: { id: 'ann' } }
    await api.versions.v1.transaction(async tx => {
      await tx.collection(plain).create({ color: '' })
      await tx.collection(audit).create({ what: 'x' })
    }, by)
    await api.versions.v1.transaction(tx => tx.collection(audit).create({ what: 'y' }), {
      ...by,
      of: audit,
    })
    expect(await api.versions.v1.collection(audit).count({}, by)).toBe(2)
    const unknown = api.versions.v1.transaction(async () => 1, { of: 'carz' })
    await expect(unknown).rejects.toThrow('There is no collection "carz"')
  })
})

describe('a collection that no version has', () => {
  const stranger = defineCollection({ name: 'cars', schema: Car, store: memoryStore() })
  const message = 'There is no collection "nowhere". Collections: '

  it.each<[string, number, boolean, (call: (event: OperationEvent) => unknown) => Hooks]>([
    ['after', 201, true, call => ({ after: call })],
    ['before', 500, false, call => ({ before: call })],
    ['after, in the transaction', 500, false, call => ({ transaction: true, after: call })],
    ['before, in the transaction', 500, false, call => ({ transaction: true, before: call })],
  ])(
    'a hook %s that names it: %d, and onError hears of it',
    async (_name, status, isDone, make) => {
      for (const [wanted, expected] of [
        ['nowhere', message],
        [stranger, 'This api has another collection "cars" than this one'],
      ] as const) {
        const { api, failures, plain, old, post } = openCars(() =>
          make(({ collection, operation }) =>
            operation === 'create'
              ? collection(wanted as typeof stranger).create({ color: '' })
              : undefined,
          ),
        )
        expect(await post('/v1/cars')).toBe(status)
        expect(failures).toEqual([expect.stringContaining(expected)])
        expect(await api.versions.v1.collection(old).count()).toBe(isDone ? 1 : 0)
        expect(await api.versions.v1.collection(plain).count()).toBe(0)
      }
    },
  )
})
