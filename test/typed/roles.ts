// Roles of fields: what a program may give, and what a client may.
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { defineApi, defineCollection, type Store } from '../../src/index.ts'

declare const store: Store
const orders = defineCollection({
  name: 'orders',
  schema: z.object({
    owner_id: z.string(),
    status: z.enum(['pending', 'paid']).default('pending'),
    by: z.string(),
    sku: z.string(),
    pin: z.string(),
    note: z.string().optional(),
    memo: z.string().default(''),
    pay: z.number().nullable(),
  }),
  store,
  owner: { field: 'owner_id', except: ['orders:admin'] },
  fields: {
    status: 'readOnly',
    by: { readOnly: ({ principal }) => principal?.id },
    sku: 'immutable',
    pin: 'writeOnly',
    memo: { read: ['staff'], write: ['staff'] },
    pay: { write: { any: ['staff', 'boss'] } },
  },
})
const api = defineApi({ collections: { orders } })

export async function program() {
  const calls = api.collection(orders)
  const order = await calls.create({ sku: 'a', pin: '1', pay: 1 })
  await calls.count({ memo: 'x' })
  order.memo.trim()
  await calls.create({ sku: 'a', pin: '1', pay: 1, owner_id: 'ann', status: 'paid', by: 'x' })
  // @ts-expect-error it needs a value, or null
  await calls.create({ sku: 'a', pin: '1' })
  await calls.patch(order, { status: 'paid', owner_id: 'bob', pin: '2' })
  // @ts-expect-error immutable
  await calls.patch(order, { sku: 'b' })
  // @ts-expect-error write-only
  order.pin.trim()
  // @ts-expect-error write-only
  await calls.count({ pin: '1' })
  return order.owner_id.trim() + order.status
}

export async function client() {
  const calls = createClient<typeof api>('').orders
  const order = await calls.create({ sku: 'a', pin: '1', pay: 1, note: 'x' })
  await calls.patch(order, { memo: 'x', pay: 2 })
  order.memo?.trim()
  // @ts-expect-error only some principals read it
  order.memo.trim()
  // @ts-expect-error read-only
  await calls.create({ sku: 'a', pin: '1', pay: 1, status: 'paid' })
  // @ts-expect-error the owner is read-only
  await calls.create({ sku: 'a', pin: '1', pay: 1, owner_id: 'bob' })
  // @ts-expect-error read-only
  await calls.patch(order, { status: 'paid' })
  // @ts-expect-error read-only
  await calls.patch(order, { by: 'x' })
  // @ts-expect-error immutable
  await calls.patch(order, { sku: 'b' })
  return order.by + order.status
}

export const wrong = [
  // @ts-expect-error no such field
  () => defineCollection({ name: 'x', schema: orders.schema, store, owner: 'owner' }),
  () => {
    const { schema } = orders
    // @ts-expect-error no such field
    defineCollection({ name: 'x', schema, store, fields: { sttus: 'readOnly' } })
    // @ts-expect-error no such role
    defineCollection({ name: 'x', schema, store, fields: { sku: 'secret' } })
    // @ts-expect-error no rule
    defineCollection({ name: 'x', schema, store, fields: { sku: {} } })
    // @ts-expect-error a rule is a list, or { any: [...] }
    defineCollection({ name: 'x', schema, store, fields: { sku: { read: 'staff' } } })
    // @ts-expect-error no such rule
    defineCollection({ name: 'x', schema, store, fields: { sku: { raed: ['staff'] } } })
  },
]
