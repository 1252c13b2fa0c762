// What transactions beside each other must not do, on each store: write skew, phantoms; with keys, hooks and versions.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection, HttpError } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { usePostgres } from './postgres.ts'
import { TRANSACTIONAL } from './transactional.ts'

usePostgres()

const ROUNDS = 5
const TOO_MANY = new HttpError(409, 'Two shifts are taken')

/** A hospital: somebody must stay on call, and at most two may have a shift on one day. */
function hospital(make: () => Store, ordered = true) {
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ text: z.string() }),
    store: make(),
  })
  const doctors = defineCollection({
    name: 'doctors',
    schema: z.object({ name: z.string(), on_call: z.boolean() }),
    store: make(),
    actions: {
      leave: {
        on: 'item',
        transaction: true,
        async run({ update, collection }) {
          // Read by a list, written as an item: no two transactions write the same.
          if ((await collection().count({ on_call: true })) < 2) throw TOO_MANY
          await update({ on_call: false })
          await collection(notes).create({ text: 'left' })
        },
      },
    },
    hooks: {
      after: {
        async patch({ collection, id }) {
          await collection(notes).create({ text: `patched ${id}` })
        },
      },
    },
  })
  const shifts = defineCollection({
    name: 'shifts',
    schema: z.object({ day: z.string(), doctor: z.string() }),
    store: make(),
    indexes: ['day'],
    ordered,
  })
  return {
    api: defineApi({ collections: { doctors, shifts, notes } }),
    doctors,
    shifts,
    notes,
  }
}

describe.each(Object.entries(TRANSACTIONAL))('%s', (_name, open) => {
  it('no write skew: of two who leave after they counted two, one leaves', async () => {
    const { api, doctors, notes } = hospital(await open())
    const all = api.collection(doctors)
    const staff = [
      await all.create({ name: 'a', on_call: true }),
      await all.create({ name: 'b', on_call: true }),
    ]
    for (let round = 0; round < ROUNDS; round++) {
      for (const { id } of staff) await all.patch(id, { on_call: true })
      const leaving = staff.map(({ id }) =>
        api.transaction(async tx => {
          const others = await tx.collection(doctors).list({ on_call: true }).toArray()
          if (others.length < 2) throw TOO_MANY
          await tx.collection(doctors).patch(id, { on_call: false })
        }),
      )
      const results = await Promise.allSettled(leaving)
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect(await all.count({ on_call: true })).toBe(1)
    }
    // The notes of the hook: two for each round's return, one for the doctor who left; none of who was refused.
    expect(await api.collection(notes).count()).toBe(ROUNDS * 3)
    await api.close()
  })

  it.each([
    ['ordered', true],
    // Their creates do not wait for each other.
    ['not ordered', false],
  ])(
    'no phantoms: of six who take a shift after they counted, two get one; %s',
    async (_, ordered) => {
      const { api, shifts } = hospital(await open(), ordered)
      for (let round = 0; round < ROUNDS; round++) {
        const day = `day ${round}`
        const taking = Array.from({ length: 6 }, (_, at) =>
          api.transaction(async tx => {
            if ((await tx.collection(shifts).count({ day })) >= 2) throw TOO_MANY
            await tx.collection(shifts).create({ day, doctor: `d${at}` })
          }),
        )
        const results = await Promise.allSettled(taking)
        const refused = results.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
        expect(refused).toEqual(Array(4).fill(TOO_MANY))
        expect(await api.collection(shifts).count({ day })).toBe(2)
      }
      await api.close()
    },
  )

  it('what a transaction counted stays counted to its end', async () => {
    const { api, shifts } = hospital(await open())
    const day = 'monday'
    // Begun outside of the transaction: within it the call would be refused.
    let go = () => {}
    const begun = new Promise<void>(resolve => {
      go = resolve
    })
    const beside = begun.then(() => api.collection(shifts).create({ day, doctor: 'beside' }))
    const counts = await api.transaction(async tx => {
      const first = await tx.collection(shifts).count({ day })
      go()
      // Where it need not wait for this transaction, it is there by now.
      await Promise.race([beside, new Promise(resolve => setTimeout(resolve, 50))])
      const again = await tx.collection(shifts).count({ day })
      const listed = await tx.collection(shifts).list({ day }).toArray()
      return [first, again, listed.length]
    })
    expect(counts).toEqual([0, 0, 0])
    await beside
    expect(await api.collection(shifts).count({ day })).toBe(1)
    await api.close()
  })

  it('actions that race, each with its key sent three times: one leaves, once', async () => {
    const { api, doctors, notes } = hospital(await open())
    const all = api.collection(doctors)
    const staff = [
      await all.create({ name: 'a', on_call: true }),
      await all.create({ name: 'b', on_call: true }),
    ]
    const leave = async (id: string, key: string) => {
      const headers = { 'idempotency-key': key }
      const request = new Request(`http://a.example/doctors/${id}/leave`, {
        method: 'POST',
        headers,
      })
      return (await api.fetch(request)).status
    }
    const sent = staff.flatMap(({ id }) => [1, 2, 3].map(() => ({ id, key: `key ${id}` })))
    const statuses = await Promise.all(sent.map(({ id, key }) => leave(id, key)))
    for (const status of statuses) expect([303, 409]).toContain(status)
    expect(await all.count({ on_call: true })).toBe(1)
    // Asked once more under their keys: the answer that was given is given again, and nothing is done again.
    const again = await Promise.all(staff.map(({ id }) => leave(id, `key ${id}`)))
    expect(again.filter(status => status === 409)).toHaveLength(1)
    expect(await all.count({ on_call: true })).toBe(1)
    expect(await api.collection(notes).count({ text: 'left' })).toBe(1)
    await api.close()
  })

  it('two versions of an api on one store: a transaction of the one counts the creates of the other', async () => {
    const make = await open()
    const store = make()
    const describe = (name: z.ZodRawShape) =>
      defineCollection({ name: 'shifts', schema: z.object({ day: z.string(), ...name }), store })
    const [first, second] = [describe({}), describe({ doctor: z.string().optional() })]
    const api = defineApi({
      versions: [
        { version: 1, collections: { shifts: first } },
        { version: 2, collections: { shifts: second } },
      ],
    })
    const take = (version: 'v1' | 'v2') =>
      api.versions[version].transaction(async tx => {
        if ((await tx.collection('shifts').count({ day: 'd' })) >= 2) throw TOO_MANY
        await tx.collection('shifts').create({ day: 'd' })
      })
    const results = await Promise.allSettled(
      (['v1', 'v2', 'v1', 'v2', 'v1', 'v2'] as const).map(take),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    await api.close()
  })
})
