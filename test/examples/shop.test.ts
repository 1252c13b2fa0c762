// examples/shop.ts: nothing is sold twice, nothing is charged twice, nothing is left half done.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { buildShop, type Payment, type Payments } from '../../examples/shop.ts'
import { bundle } from '../bundle.ts'
import { postgres, usePostgres } from '../stores/postgres.ts'
import { newFile } from '../stores/sqlite.ts'
import { customers, storesAt } from './shop-server.ts'

usePostgres()

const ADMIN = { id: 'admin', scopes: ['shop:admin'] }
const STOCK = 100
const CHECKOUTS = 200

/** A provider of payments that keeps what it did. */
class Provider implements Payments {
  readonly payments = new Map<string, Payment>()
  readonly closed = new Set<string>()
  declines = (_amount: number) => false
  onCharge = () => {}

  async charge(key: string, amount: number): Promise<Payment> {
    const known = this.payments.get(key)
    if (known) return known
    const payment = this.closed.has(key) || this.declines(amount) ? 'declined' : 'paid'
    this.payments.set(key, payment)
    this.onCharge()
    return payment
  }

  async close(key: string): Promise<Payment | undefined> {
    this.closed.add(key)
    return this.payments.get(key)
  }

  get paid(): string[] {
    return [...this.payments].filter(([, payment]) => payment === 'paid').map(([key]) => key)
  }
}

type Send = (request: Request) => Promise<Response>

function checkout(send: Send, root: string, customer: string, product_id: string, count = 1) {
  const headers = { authorization: `Customer ${customer}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ lines: [{ product_id, count }], note: `for ${customer}` })
  return send(new Request(`${root}/orders/checkout`, { method: 'POST', headers, body }))
}

/** What the shop says at the end, compared with what the provider did. */
async function expectWhole(shop: ReturnType<typeof buildShop>, provider: Provider, stock: number) {
  const principal = ADMIN
  const products = await shop.api.collection('products').list({}, { principal }).toArray()
  const orders = await shop.api.collection('orders').list({}, { principal }).toArray()
  const lines = await shop.api.collection('lines').list({}, { principal }).toArray()
  expect(products.map(each => each.stock)).toEqual([stock])
  expect(orders.filter(({ status }) => status === 'pending')).toEqual([])
  const paid = orders.filter(({ status }) => status === 'paid').map(({ id }) => id)
  expect(paid.sort()).toEqual(provider.paid.sort())
  expect(paid.length).toBe(STOCK - stock)
  expect(new Set(lines.map(({ order_id }) => order_id))).toEqual(
    new Set(orders.map(({ id }) => id)),
  )
}

const ADDRESSES: Readonly<Record<string, () => string>> = {
  memory: () => 'memory',
  SQLite: newFile,
  PostgreSQL: () => postgres().url,
}

async function openShop(address: string, provider: Payments, prefix?: string) {
  const limits = { workTime: 30_000 }
  const shop = buildShop(await storesAt(address, prefix), provider, {
    schemes: [customers],
    limits,
  })
  return { ...shop, send: ((request: Request) => shop.api.fetch(request)) satisfies Send }
}

describe.each(Object.entries(ADDRESSES))('%s', (_name, addressOf) => {
  test(`of ${CHECKOUTS} checkouts at once of a stock of ${STOCK} exactly ${STOCK} are paid`, async () => {
    const provider = new Provider()
    const shop = await openShop(addressOf(), provider)
    const { id } = await shop.api
      .collection('products')
      .create({ name: 'Lamp', price: 9, stock: STOCK })
    const answers = await Promise.all(
      Array.from({ length: CHECKOUTS }, (_, at) =>
        checkout(shop.send, 'https://shop.example', `c${at}`, id),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(STOCK).fill(200), ...Array(CHECKOUTS - STOCK).fill(409)])
    await expectWhole(shop, provider, 0)
    // A customer sees its own order and lines, and nobody reads the note.
    const headers = { authorization: 'Customer c0' }
    const get = async (path: string) => {
      const answer = await shop.send(new Request(`https://shop.example${path}`, { headers }))
      return (await answer.json()) as unknown[]
    }
    const paid = answers[0]?.status === 200 ? 1 : 0
    expect(await get('/orders')).toHaveLength(paid)
    expect(await get('/lines')).toHaveLength(paid)
    expect(JSON.stringify(await get('/orders'))).not.toContain('for c0')
    await shop.api.close()
  })
})

test('a declined payment returns the stock; a retired product is not sold', async () => {
  const provider = new Provider()
  provider.declines = amount => amount > 50
  const shop = await openShop('memory', provider)
  const products = shop.api.collection('products')
  const { id } = await products.create({ name: 'Lamp', price: 9, stock: STOCK })
  const declined = await checkout(shop.send, 'https://shop.example', 'ann', id, 6)
  expect([declined.status, await declined.json()]).toMatchObject([
    200,
    { status: 'declined', total: 54 },
  ])
  await expectWhole(shop, provider, STOCK)
  await products.retire(id, { principal: ADMIN })
  const gone = await checkout(shop.send, 'https://shop.example', 'ann', id)
  expect([gone.status, provider.payments.size]).toEqual([404, 1])
})

const children = new Set<ChildProcess>()
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function startShop(address: string, payments: string) {
  const file = bundle(join(import.meta.dirname, 'shop-server.ts'))
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, SHOP: address, PAYMENTS: payments },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  const [port] = await once(child.stdout, 'data')
  return { child, root: `http://localhost:${String(port).trim()}` }
}

test.each(['SQLite', 'PostgreSQL'] as const)(
  '%s: a shop killed in the middle of checkouts loses no stock and no payment',
  async name => {
    const address = ADDRESSES[name]?.() ?? ''
    const provider = new Provider()
    const server = createServer(async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://payments')
      const [, verb, key = ''] = pathname.split('/')
      const amount = Number(searchParams.get('amount'))
      const payment =
        verb === 'charge' ? await provider.charge(key, amount) : await provider.close(key)
      response.end(JSON.stringify({ payment }))
    }).listen(0)
    const payments = `http://localhost:${Object(server.address()).port}/`
    const shop = await openShop(address, provider, 'killed')
    const { id } = await shop.api
      .collection('products')
      .create({ name: 'Lamp', price: 9, stock: STOCK })

    const first = await startShop(address, payments)
    const killed = once(first.child, 'exit')
    provider.onCharge = () => {
      if (provider.payments.size === 20) first.child.kill('SIGKILL')
    }
    const buy = (root: string, at: number) =>
      checkout(fetch, root, `c${at}`, id).catch(() => undefined)
    await Promise.all(Array.from({ length: CHECKOUTS }, (_, at) => buy(first.root, at)))
    await killed

    // The next one begins with a sweep.
    const second = await startShop(address, payments)
    for (let at = 0; at < STOCK; at += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, nth) => buy(second.root, CHECKOUTS + at + nth)),
      )
    }
    await expectWhole(shop, provider, 0)
    second.child.kill('SIGKILL')
    server.close()
    await shop.api.close()
  },
  120_000,
)
