// A shop: products with stock, orders with an owner and lines, and a checkout whose payment may be declined.

import { defineApi, defineCollection, HttpError, type Policies, type Store } from 'rest-conventions'
import { z } from 'zod'

/** A provider of payments. However often it is asked, it charges a key at most once. */
export interface Payments {
  charge(key: string, amount: number): Promise<Payment>
  /** What became of a key; `undefined` where it was never charged, and now never will be. */
  close(key: string): Promise<Payment | undefined>
}
export type Payment = 'paid' | 'declined'

const ADMIN = 'shop:admin'
const SHOP = { id: 'shop', scopes: [ADMIN] }
const LINE = { product_id: z.string(), count: z.int().min(1).max(100) }

/**
 * Builds the shop. The checkout is a transaction, and lines are visible through their orders: both need all stores in one
 * database, or in memory.
 * @param store gives the store of a collection: all of one database, or all in memory.
 */
export function buildShop(
  store: (collection: string) => Store,
  payments: Payments,
  policies: Policies = {},
) {
  const products = defineCollection({
    name: 'products',
    schema: z.object({
      name: z.string().min(1).max(200),
      price: z.number().nonnegative(),
      stock: z.int().nonnegative(),
      deleted_at: z.iso.datetime().optional(),
    }),
    store: store('products'),
    search: ['name'],
    operations: ['list', 'count', 'read', 'create', 'patch'],
    access: { list: 'public', count: 'public', read: 'public', search: 'public', default: [ADMIN] },
    fields: { deleted_at: 'readOnly' },
    visible: principal =>
      principal?.scopes?.includes(ADMIN) ? {} : { deleted_at: { exists: false } },
    actions: {
      /** Takes the product out of the shop. Orders of it stay. */
      retire: {
        on: 'item',
        output: 'item',
        run: ({ update }) => update({ deleted_at: new Date().toISOString() }),
      },
    },
  })

  const orders = defineCollection({
    name: 'orders',
    schema: z.object({
      owner_id: z.string(),
      status: z.enum(['pending', 'paid', 'declined']).default('pending'),
      total: z.number().default(0),
      note: z.string().max(1000).optional(), // for the shop alone
    }),
    store: store('orders'),
    indexes: [['status', 'created_at']],
    operations: ['list', 'count', 'read'],
    owner: { field: 'owner_id', except: [ADMIN] },
    fields: { note: 'writeOnly' },
    visible: principal =>
      principal?.scopes?.includes(ADMIN) ? {} : principal && { owner_id: principal.id },
    actions: {
      checkout: {
        on: 'collection', // POST /orders/checkout
        input: z.object({
          lines: z.array(z.object(LINE)).min(1).max(50),
          note: z.string().max(1000).optional(),
        }),
        output: 'item',
      },
    },
  })

  const lines = defineCollection({
    name: 'lines',
    schema: z.object({ ...LINE, order_id: z.string(), price: z.number() }),
    store: store('lines'),
    operations: ['list', 'count', 'read'],
    parents: { order_id: { collection: 'orders', onDelete: 'cascade' }, product_id: 'products' },
    visible: { through: 'order_id' },
  })

  const api = defineApi({
    ...policies,
    collections: { products, orders, lines },
    actions: {
      orders: {
        async checkout({ input, principal, collection, transaction }) {
          if (!principal) throw new HttpError(401, 'Who buys this?')
          // First: the stock and the order, together or not at all.
          const order = await transaction(async tx => {
            const order = await tx
              .collection('orders')
              .create({ owner_id: principal.id, note: input.note })
            let total = 0
            for (const { product_id, count } of input.lines) {
              const { price } = await tx
                .collection('products')
                .change(product_id, ({ name, stock }) => {
                  if (stock < count) throw new HttpError(409, `There are ${stock} of ${name} left`)
                  return { stock: stock - count }
                })
              await tx.collection('lines').create({ order_id: order.id, product_id, count, price })
              total += price * count
            }
            return tx.collection('orders').patch(order, { total })
          })
          // Then the payment, outside: what it does cannot be undone. The order's id is its key.
          await settle(order.id, await payments.charge(order.id, order.total))
          return collection('orders').read(order.id)
        },
      },
    },
  })

  /** Ends a pending order: it is paid, or gives its stock back. An order that has ended stays as it is. */
  async function settle(id: string, payment: Payment): Promise<void> {
    await api.transaction(
      async tx => {
        const order = await tx.collection('orders').read(id)
        if (order.status !== 'pending') return
        await tx.collection('orders').patch(order, { status: payment })
        if (payment === 'paid') return
        for await (const { product_id, count } of tx.collection('lines').list({ order_id: id })) {
          await tx
            .collection('products')
            .change(product_id, ({ stock }) => ({ stock: stock + count }))
        }
      },
      { principal: SHOP },
    )
  }

  /** Ends the orders that a crash has left pending, a minute after they were made. Run it now and then. */
  async function sweep(olderThan = 60_000) {
    const until = new Date(Date.now() - olderThan).toISOString()
    for await (const { id } of api
      .collection(orders)
      .list({ status: 'pending', until }, { principal: SHOP })) {
      await settle(id, (await payments.close(id)) ?? 'declined')
    }
  }

  return { api, products, orders, lines, sweep }
}
