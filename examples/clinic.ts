// Many clinics in one api: tenants, roles, an audit, mails, invoices, two versions, logins by cookie and by token.
// npx tsx examples/clinic.ts clinic.db, or in its place postgres://user:password@host/database
import { createHash, randomBytes, scryptSync } from 'node:crypto'
import { createServer } from 'node:http'
import {
  defineApi,
  HttpError,
  type OperationEvent,
  type Principal,
  type Scheme,
  withPrincipal,
} from 'rest-conventions'
import { html } from 'rest-conventions/html'
import { harden, shutDown } from 'rest-conventions/node'
import { equalsInConstantTime } from 'rest-conventions/rules'
import { z } from 'zod'
import { openStores } from './stores.ts'

type Claims = { readonly tenant: string; readonly email: string }
type Member = Principal<Claims>
const { defineCollection } = withPrincipal<Claims>()
const { storeFor, close } = await openStores(process.argv[2] ?? 'clinic.db', ':memory:')

const Role = z.enum(['desk', 'doctor', 'manager'])
const Text = z.string().min(1).max(2000)
const Time = z.iso.datetime()
const Cents = z.int().min(0)
const tenant = { readOnly: ({ principal }: { principal: Member | undefined }) => principal?.tenant }
const DOCTORS = { read: ['doctor'], write: ['doctor'] }
const visible = (member: Member | undefined) => member && { tenant: member.tenant }

const audit = defineCollection({
  name: 'audit',
  schema: z.object({ tenant: Text, by: Text, what: Text, old: z.json(), now: z.json() }),
  store: storeFor('audit'),
  fields: { tenant, old: { read: ['doctor'] }, now: { read: ['doctor'] } },
  visible,
  operations: ['list', 'count', 'read'],
  access: { default: { any: ['doctor', 'manager'] } },
})

/** Writes who changed what, in the transaction of the change. */
async function book(event: OperationEvent<Member>, result: unknown): Promise<void> {
  const { operation, collectionName: name, principal: by, item: old = null, collection } = event
  if (['list', 'count', 'read', 'search'].includes(operation)) return
  const { id, tenant } = Object(result)
  const now = operation === 'delete' ? null : result
  const row = { tenant, by: by?.email ?? 'job', what: `${operation} ${name} ${id}`, old, now }
  await collection(audit).create(JSON.parse(JSON.stringify(row)))
}

const outbox = defineCollection({
  name: 'outbox',
  schema: z.object({ tenant: Text, to: z.email(), text: Text, until: z.iso.datetime().optional() }),
  store: storeFor('outbox'),
  lease: 'until', // the server that sends a mail has it until then
  fields: { tenant },
  visible,
  operations: [],
})

const Patient = z.object({ tenant: Text, name: Text, born: z.iso.date() })
const patientOptions = {
  name: 'patients',
  store: storeFor('patients'),
  visible,
  access: { delete: ['manager'], default: { any: ['desk', 'doctor'] } },
  hooks: { transaction: true, after: book },
} as const
const patients = defineCollection({
  ...patientOptions,
  schema: Patient.extend({ email: z.email().optional(), internal_note: Text.optional() }),
  fields: { tenant, internal_note: DOCTORS },
})
const formerPatients = defineCollection({ ...patientOptions, schema: Patient, fields: { tenant } })

const invoices = defineCollection({
  name: 'invoices',
  schema: z.object({ tenant: Text, visit_id: Text, cents: Cents, paid_at: Time.optional() }),
  store: storeFor('invoices'),
  references: { visit_id: 'visits' },
  fields: { tenant, paid_at: 'readOnly' },
  visible,
  operations: ['list', 'count', 'read'],
  access: { pay: ['desk'], default: { any: ['desk', 'manager'] } },
  hooks: { transaction: true, after: book },
  actions: {
    pay: {
      on: 'item', // POST /v2/invoices/<id>/pay
      output: 'item',
      run({ item, update }) {
        if (item.paid_at) throw new HttpError(409, 'This invoice is paid already')
        return update({ paid_at: new Date().toISOString() })
      },
    },
  },
})

const visits = defineCollection({
  name: 'visits',
  schema: z.object({
    tenant: Text,
    patient_id: Text,
    at: Time,
    reason: Text,
    diagnosis: Text.optional(),
    status: z.enum(['planned', 'reminded', 'done']).default('planned'),
  }),
  store: storeFor('visits'),
  parents: { patient_id: 'patients' },
  indexes: [['tenant', 'at']],
  fields: { tenant, diagnosis: DOCTORS, status: 'readOnly' },
  visible,
  access: { finish: ['doctor'], default: { any: ['desk', 'doctor'] } },
  hooks: { transaction: true, after: book },
  actions: {
    finish: {
      on: 'item',
      transaction: true,
      input: z.object({ diagnosis: Text, cents: Cents }),
      output: 'item',
      async run({ item, input, update, collection }) {
        if (item.status === 'done') throw new HttpError(409, 'This visit is done already')
        await collection(invoices).create({ visit_id: item.id, cents: input.cents })
        const { email: to } = await collection(patients).read(item.patient_id)
        const text = `Your bill: ${(input.cents / 100).toFixed(2)} €`
        if (to) await collection(outbox).create({ to, text })
        return update({ status: 'done', diagnosis: input.diagnosis })
      },
    },
  },
})

const Password = z.string().min(8).max(200).meta({ format: 'password' })
const digest = (token: string) => createHash('sha256').update(token).digest('base64url')
const hash = (password: string, salt = randomBytes(16).toString('base64url')) =>
  `${salt}:${scryptSync(password, salt, 32).toString('base64url')}`

const sessions = defineCollection({
  name: 'sessions',
  schema: z.object({ key: Text, user_id: Text, ends_at: Time }),
  store: storeFor('sessions'),
  unique: ['key'],
  references: { user_id: { collection: 'users', onDelete: 'cascade' } },
  operations: [],
})
const users = defineCollection({
  name: 'users',
  schema: z.object({ tenant: Text, email: z.email(), password: Password, roles: z.array(Role) }),
  store: storeFor('users'),
  unique: ['email'],
  fields: { tenant, password: 'writeOnly' },
  visible,
  operations: ['list', 'count', 'read', 'create', 'delete'],
  access: { login: 'public', default: ['manager'] },
  hooks: { before: { create: ({ value }) => ({ ...value, password: hash(value.password) }) } },
  actions: {
    login: {
      on: 'collection', // POST /v2/users/login: a cookie for browsers, the same token for programs
      cookies: true, // not for pages of other origins
      input: z.object({ email: z.email(), password: Password }),
      output: z.object({ token: z.string() }),
      async run({ input, response, transaction }) {
        const token = randomBytes(32).toString('base64url')
        await transaction(async tx => {
          const system = tx.asSystem()
          const user = await system.collection().list({ email: input.email }).first()
          const known = user?.password ?? hash('nobody')
          if (!equalsInConstantTime(hash(input.password, known.split(':')[0]), known) || !user)
            throw new HttpError(403, 'Email or password is wrong')
          const ends_at = new Date(Date.now() + 12 * 3_600_000).toISOString()
          const session = { key: digest(token), user_id: user.id, ends_at }
          await system.collection(sessions).create(session)
        })
        const cookie = `__Host-clinic=${token}; Path=/; Secure; HttpOnly; SameSite=Lax`
        response.headers.append('Set-Cookie', cookie)
        return { token }
      },
    },
  },
})

/** Finds the session of a token, which a program sends as a bearer and a browser as a cookie. */
const session: Scheme<Member> = {
  name: 'Bearer',
  headers: ['Authorization', 'Cookie'],
  challenge: () => 'Bearer realm="clinic"',
  async authenticate({ headers: { authorization = '', cookie = '' } }) {
    const bearer = /^Bearer ([\w-]+)$/i.exec(authorization)
    const token = (bearer ?? /(?:^|; )__Host-clinic=([\w-]+)/.exec(cookie))?.[1]
    if (token === undefined) return undefined
    const open = { key: digest(token), ends_at: { gt: new Date().toISOString() } }
    const found = await system.collection(sessions).list(open).first()
    if (!found) throw new HttpError(401, 'This session has ended')
    const { id, tenant, email, roles } = await system.collection(users).read(found.user_id)
    return { id, tenant, email, scopes: roles }
  },
}

export const api = defineApi({
  title: 'Clinics',
  pages: html,
  signIn: '/v2/users/login', // a browser asks for its form, and comes back with the cookie
  access: { root: 'public' },
  rateLimit: { policies: [{ limit: Number(process.env.PER_MINUTE ?? 600), window: 60 }] },
  schemes: [session],
  versions: [
    { version: 1, collections: { patients: formerPatients }, deprecated: new Date('2026-01-01') },
    { version: 2, collections: { patients, visits, invoices, users, sessions, audit, outbox } },
  ],
})
const system = api.versions.v2.asSystem()

/** Reminds of the visits of the next day, in all clinics: a job for every hour. */
export async function remind(): Promise<void> {
  const lte = new Date(Date.now() + 86_400_000).toISOString()
  for await (const visit of system.collection(visits).list({ status: 'planned', at: { lte } })) {
    await system.transaction(async tx => {
      const { email: to } = await tx.collection(patients).read(visit.patient_id)
      const text = `See you at ${visit.at}`
      if (to) await tx.collection(outbox).create({ tenant: visit.tenant, to, text })
      await tx.collection(visits).patch(visit, { status: 'reminded' })
    })
  }
}

/** Sends the mails that wait, each on one server. If a server is killed, another one sends its mail again after a minute. */
export async function sendMails(): Promise<void> {
  for await (const mail of system.collection(outbox).take({ lease: 60 })) {
    console.log(`To ${mail.to}: ${mail.text}`) // here your provider of mails
    await system.collection(outbox).delete(mail)
  }
}

await api.open()
if ((await system.collection(users).count()) === 0)
  for (const tenant of ['north', 'south'])
    for (const role of Role.options) {
      const login = { email: `${role}@${tenant}.example`, password: 'open sesame' }
      await system.collection(users).create({ ...login, tenant, roles: [role] })
    }
const { PORT = '3000', JOB_MS = '60000' } = process.env
setInterval(() => remind().then(sendMails).catch(console.error), Number(JOB_MS)).unref()
const server = harden(createServer(api.handler)).listen(PORT)
server.once('listening', () => console.log(`Serving http://localhost:${PORT}/v2/`))
process.once('SIGTERM', async () => {
  await shutDown(server)
  await api.close()
  await close()
})
