// Claims of principals: named once, and typed wherever a principal is met.
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import {
  basic,
  bearerJwt,
  defineApi,
  defineCollection,
  defineVersion,
  introspection,
  type Principal,
  type Scheme,
  type Store,
  withPrincipal,
} from '../../src/index.ts'

declare const store: Store
type Claims = {
  readonly tenant: string
  readonly role: 'doctor' | 'nurse'
  readonly rooms?: readonly number[]
}
const typed = withPrincipal<Claims>()
const schema = z.object({
  tenant: z.string(),
  owner_id: z.string().optional(),
  color: z.enum(['red', 'blue']).optional(),
  room: z.int().default(0),
  by: z.string().optional(),
  model: z.object({ name: z.string() }).optional(),
  tags: z.array(z.string()).default([]),
})
const head = { name: 'visits', schema, store } as const

const visits = typed.defineCollection({
  ...head,
  visible: principal =>
    principal && { tenant: principal.tenant, ...(principal.rooms && { room: principal.rooms }) },
  fields: { by: { readOnly: ({ principal }) => principal?.role.toUpperCase() } },
  hooks: {
    before: [
      ({ principal }) => principal?.tenant.trim(),
      { create: ({ principal, value }) => ({ ...value, tenant: principal?.tenant ?? '' }) },
    ],
    after: ({ principal }) => principal?.tenant.trim(),
    error: ({ principal }) => principal?.tenant.trim(),
  },
  actions: {
    move: {
      on: 'item',
      input: z.object({ room: z.int() }),
      run: ({ principal, input, update }) =>
        update({ room: input.room, by: principal?.role === 'doctor' ? 'd' : 'n' }).then(
          () => undefined,
        ),
    },
  },
})
const plain = defineCollection({
  name: 'plain',
  schema,
  store,
  visible: p => p && { tenant: p.id },
})

/** A custom scheme. */
declare const session: Scheme<Principal<Claims>>
interface User {
  readonly id: string
  readonly tenant: string
  readonly role: 'doctor' | 'nurse'
}
declare function findUser(name: string): Promise<User | undefined>

export const api = defineApi({
  collections: { visits, plain },
  schemes: [
    session,
    basic({
      verify: async name => ({ ...(await findUser(name)), id: name, tenant: 'a', role: 'nurse' }),
    }),
    basic({ verify: () => ({ id: 'ann', tenant: 'a', role: 'doctor', scopes: ['staff'] }) }),
    bearerJwt({
      issuer: 'https://issuer.example',
      principal: ({ sub, tenant }) =>
        typeof tenant === 'string' ? { id: String(sub), tenant, role: 'nurse' } : undefined,
    }),
  ],
  hooks: { visits: { after: { create: ({ principal }) => void principal?.tenant.trim() } } },
})
/** Principals of a type of one's own, which is an interface. */
export const found = defineApi({
  collections: { visits, plain },
  schemes: [basic({ verify: findUser })],
})
export const list = defineApi({ collections: [visits], schemes: [session] })
export const versions = defineApi({
  versions: [
    defineVersion({ version: 1, collections: { visits } }),
    { version: 2, collections: [plain] },
  ],
  schemes: [session],
})

export const remote = createClient<typeof api>('').visits.list({ room: 1 })

export async function calls() {
  const principal = { id: 'ann', tenant: 'a', role: 'doctor' } as const
  await api.collection(visits).list({ room: 1 }, { principal }).toArray()
  await api.collection('visits').move('x', { room: 1 }, { principal })
  await api.transaction(tx => tx.collection('visits').count(), { principal })
  await api.collection(plain).count({}, { principal: { id: 'ann' } })
  // @ts-expect-error no tenant
  await api.collection(visits).count({}, { principal: { id: 'ann' } })
  // @ts-expect-error no tenant
  await api.transaction(tx => tx.collection('visits').count(), { principal: { id: 'ann' } })
}

const { defineCollection: define } = typed
const nameless = basic({ verify: id => ({ id }) })
const numbered = basic({ verify: id => ({ id, tenant: 1, role: 'nurse' }) })
const issued = bearerJwt({ issuer: 'https://issuer.example' })
const asked = introspection({ endpoint: '', client: { id: '', secret: '' } })
export const wrong = [
  // @ts-expect-error a misspelt claim
  () => [define({ ...head, visible: user => user && { tenant: user.tennant } })],
  // @ts-expect-error the same in a hook
  () => [define({ ...head, hooks: { before: { create: ({ principal: p }) => p?.tennant } } })],
  // @ts-expect-error a role that none has
  () => [define({ ...head, hooks: { after: ({ principal: p }) => p?.role === 'patient' } })],
  // @ts-expect-error a misspelt claim in an action
  () => [define({ ...head, actions: { go: { on: 'item', run: ({ principal: p }) => p?.rol } } })],
  // @ts-expect-error a misspelt claim of a read-only property
  () => [define({ ...head, fields: { by: { readOnly: ({ principal: p }) => p?.rol } } })],
  // @ts-expect-error principals without the claims
  () => defineApi({ collections: { visits }, schemes: [nameless] }),
  // @ts-expect-error another type of claim
  () => defineApi({ collections: [visits], schemes: [session, numbered] }),
  // @ts-expect-error a token may have no such claims
  () => defineApi({ collections: { visits }, schemes: [issued] }),
  // @ts-expect-error the same
  () => defineApi({ collections: { visits, plain }, schemes: [asked] }),
  // @ts-expect-error the same of a version
  () => defineApi({ versions: [{ version: 1, collections: { visits } }], schemes: [issued] }),
  // @ts-expect-error the same where it stands in place
  () => [defineApi({ collections: [visits], schemes: [bearerJwt({ issuer: 'a' })] })],
]

export const filters = [
  define({ ...head, visible: () => ({}) }),
  define({ ...head, visible: () => undefined }),
  define({ ...head, visible: user => (user?.id === 'x' ? {} : { color: ['red', 'blue'] }) }),
  define({
    ...head,
    visible: user => user && { or: [{ owner_id: user.id }, { not: { color: 'red' } }] },
  }),
  define({ ...head, visible: user => user && { model: { name: { prefix: 'a' } }, tags: 'x' } }),
  define({ ...head, visible: user => user && { id: user.id, created_at: { gte: '2020' } } }),
  define({ ...head, visible: user => user && { or: [{ owner: { team: user.tenant } }] } }),
  define({ ...head, visible: { through: 'owner_id', and: user => user && { room: 1 } } }),
  // @ts-expect-error a misspelt field besides
  () => [define({ ...head, visible: { through: 'owner_id', and: () => ({ roam: 1 }) } })],
  define({
    ...head,
    visible(user) {
      if (!user) return undefined
      if (user.role === 'doctor') return { model: { exists: true } }
      return user.rooms ? { room: { in: user.rooms } } : { room: { lt: 3 } }
    },
  }),
  // @ts-expect-error a misspelt field beside others
  () => [define({ ...head, visible: user => user && { tenant: user.tenant, ownr: user.id } })],
  // @ts-expect-error a misspelt field in one of several answers
  () => [define({ ...head, visible: user => (user ? {} : { ownr: 'x' }) })],
  // @ts-expect-error below a property
  () => [define({ ...head, visible: () => ({ model: { name: 'x', nmae: 'x' } }) })],
  // @ts-expect-error in a group
  () => [define({ ...head, visible: () => ({ or: [{ room: 1 }, { roam: 1 }] }) })],
  // @ts-expect-error in a group in a group
  () => [define({ ...head, visible: () => ({ not: { and: [{ room: 1, roam: 1 }] } }) })],
  // @ts-expect-error an operator that is none
  () => [define({ ...head, visible: () => ({ room: { gte: 1, gt_: 2 } }) })],
  // @ts-expect-error an operator that takes one value
  () => [define({ ...head, visible: () => ({ room: { gte: [1, 2] } }) })],
  // @ts-expect-error a value of another type
  () => [define({ ...head, visible: () => ({ room: 'one' }) })],
  // @ts-expect-error an unknown choice
  () => [define({ ...head, visible: () => ({ color: 'green' }) })],
  // @ts-expect-error undefined would hide nothing
  () => [define({ ...head, visible: user => ({ owner_id: user?.id }) })],
  // @ts-expect-error a claim that is not typed
  () => [defineCollection({ ...head, visible: user => user && { tenant: user.tenant } })],
  // @ts-expect-error no filters
  () => [define({ ...head, visible: () => null })],
  // @ts-expect-error no filters
  () => [define({ ...head, visible: () => 'all' })],
]
