// A helpdesk whose board moves by itself in every browser: tenants, agents and customers, any number of servers.
// npx tsx examples/helpdesk.ts helpdesk.db, or in its place postgres://user:password@host/database
// PORT=3001 before it takes another port than 3000.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { defineApi, HttpError, type Principal, type Scheme, withPrincipal } from 'rest-conventions'
import { harden, shutDown } from 'rest-conventions/node'
import { z } from 'zod'
import { openStores } from './stores.ts'

type Claims = { readonly tenant: string; readonly customer: number | null }
type Person = Principal<Claims>
const { defineCollection } = withPrincipal<Claims>()
const { storeFor, close } = await openStores(process.argv[2] ?? 'helpdesk.db', ':memory:')

const tenant = { readOnly: ({ principal }: { principal: Person | undefined }) => principal?.tenant }
const AGENTS = { read: ['agent'], write: ['agent'] }

const customers = defineCollection({
  name: 'customers',
  id: 'integer',
  schema: z.object({ tenant: z.string(), name: z.string() }),
  store: storeFor('customers'),
  fields: { tenant },
  visible: person =>
    person && { tenant: person.tenant, ...(person.customer !== null && { id: person.customer }) },
  access: { list: { any: ['agent', 'customer'] }, default: ['agent'] },
})

const tickets = defineCollection({
  name: 'tickets',
  id: 'integer',
  schema: z.object({
    tenant: z.string(),
    customer_id: z.int(),
    title: z.string().min(1).max(200),
    status: z.enum(['new', 'open', 'waiting', 'closed']).default('new'),
    priority: z.int().min(1).max(9).default(5),
    note: z.string().max(2000).default(''),
    deleted_at: z.iso.datetime().optional(),
  }),
  trash: 'deleted_at',
  store: storeFor('tickets', { changes: true }),
  live: true,
  references: { customer_id: { collection: 'customers', onDelete: 'cascade' } },
  fields: { tenant, note: AGENTS },
  visible: person =>
    person && {
      tenant: person.tenant,
      ...(person.customer !== null && { customer_id: person.customer }),
    },
  operations: ['list', 'count', 'read', 'create', 'replace', 'patch', 'delete', 'patchMany'],
  access: { patchMany: ['agent'], delete: ['agent'], default: { any: ['agent', 'customer'] } },
})

const people = defineCollection({
  name: 'people',
  schema: z.object({
    name: z.string(),
    tenant: z.string(),
    role: z.enum(['agent', 'customer', 'former']),
    customer_id: z.int().nullable(),
  }),
  store: storeFor('people'),
  unique: ['name'],
  operations: [],
})
const sessions = defineCollection({
  name: 'sessions',
  schema: z.object({ key: z.string(), person_id: z.string(), ends_at: z.iso.datetime() }),
  store: storeFor('sessions'),
  unique: ['key'],
  operations: [],
})

/** Finds the session of a cookie. A stream ends with it (`exp`). */
const session: Scheme<Person> = {
  name: 'Session',
  headers: ['Cookie'],
  challenge: () => 'Session',
  async authenticate({ headers: { cookie = '' } }) {
    const [, key] = /(?:^|; )desk=([\w-]+)/.exec(cookie) ?? []
    if (key === undefined) return undefined
    const open = { key, ends_at: { gt: new Date().toISOString() } }
    const found = await system.collection(sessions).list(open).first()
    if (!found) throw new HttpError(401, 'This session has ended')
    const {
      id,
      tenant,
      role,
      customer_id: customer,
    } = await system.collection(people).read(found.person_id)
    return { id, tenant, customer, scopes: [role], exp: Date.parse(found.ends_at) / 1000 }
  },
}

const api = defineApi({
  title: 'Helpdesk',
  collections: { tickets, customers, people, sessions },
  schemes: [session],
  batch: true,
  health: true,
})
const system = api.asSystem()

await api.open()
if ((await system.collection(people).count()) === 0)
  for (const tenant of ['north', 'south']) {
    const ann = await system.collection(customers).create({ tenant, name: 'Ann' })
    await system.collection(people).create([
      { name: `${tenant}-agent`, tenant, role: 'agent', customer_id: null },
      { name: `${tenant}-ann`, tenant, role: 'customer', customer_id: ann.id },
    ])
  }

/** In the place of a login: `/as/north-agent` sets the cookie of a new session. */
async function logIn(name: string): Promise<string> {
  const person = await system.collection(people).list({ name }).first()
  if (!person) return ''
  const key = randomBytes(32).toString('base64url')
  const ends_at = new Date(Date.now() + Number(SESSION_MS)).toISOString()
  await system.collection(sessions).create({ key, person_id: person.id, ends_at })
  return `desk=${key}; Path=/; HttpOnly; SameSite=Lax`
}

const { PORT = '3000', SESSION_MS = '43200000' } = process.env
const page = readFileSync(join(process.env.PAGES ?? import.meta.dirname, 'helpdesk.html'))
const server = harden(
  createServer(async (request, response) => {
    const [, name] = /^\/as\/([\w-]+)$/.exec(request.url ?? '') ?? []
    if (name !== undefined) {
      const cookie = await logIn(name)
      response.writeHead(303, { Location: '/', 'Set-Cookie': cookie }).end()
    } else if (request.url === '/')
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(page)
    else api.handler(request, response)
  }),
).listen(Number(PORT), '127.0.0.1') // no password: only for this machine
server.once('error', ({ message }) => {
  console.error(`${message}. Use another port, such as PORT=3001`)
  process.exit(1)
})
server.once('listening', () => console.log(`Serving http://127.0.0.1:${PORT}/as/north-agent`))
process.once('SIGTERM', async () => {
  await shutDown(server)
  await api.close()
  await close()
  process.exit()
})
