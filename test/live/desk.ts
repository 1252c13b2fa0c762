// A helpdesk whose tickets are followed, as a server of its own: `DESK=<database> PORT=<port> node desk.mjs`.
import { createServer } from 'node:http'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import { z } from 'zod'
import { defineApi, defineCollection, type Principal, type Scheme } from '../../src/index.ts'
import { harden } from '../../src/node/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'

/** The name of a tenant, and `agent` or the name of a customer: `t1-agent`, `t1-c2`. */
const scheme: Scheme = {
  name: 'Bearer',
  challenge: () => 'Bearer',
  async authenticate({ headers: { authorization } }): Promise<Principal | undefined> {
    const [, tenant, id] = /^Bearer (\w+)-(\w+)$/.exec(authorization ?? '') ?? []
    if (!tenant || !id) return undefined
    return { id, tenant, scopes: id === 'agent' ? ['tickets', 'agent'] : ['tickets'] }
  },
}

export async function openDesk(address: string) {
  let db: Kysely<unknown>
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: address, max: 5 })
    pool.on('error', () => {})
    preparePostgres(pool)
    db = new Kysely({ dialect: new PostgresDialect({ pool }) })
  } else {
    const { default: Database } = await import('libsql')
    db = new Kysely({
      dialect: new SqliteDialect({ database: reuseStatements(new Database(address)) }),
    })
    await prepareSqlite(db)
  }
  const tickets = defineCollection({
    name: 'tickets',
    id: 'integer',
    schema: z.object({
      tenant_id: z.string(),
      customer_id: z.string(),
      status: z.enum(['open', 'waiting', 'closed']).default('open'),
      note: z.string().default('secret'),
      deleted_at: z.iso.datetime().optional(),
    }),
    trash: 'deleted_at',
    store: sqlStore({ db, create: true, changes: true }),
    live: true,
    operations: ['list', 'read', 'create', 'replace', 'patch', 'delete', 'patchMany'],
    access: { default: ['tickets'] },
    fields: { note: { read: ['agent'], write: ['agent'] } },
    visible: principal => {
      if (!principal) return undefined
      const { tenant, id } = principal as Principal<{ tenant: string }>
      return id === 'agent' ? { tenant_id: tenant } : { tenant_id: tenant, customer_id: id }
    },
  })
  const api = defineApi({ collections: { tickets }, schemes: [scheme], batch: true, onError() {} })
  return { api, db }
}

const { DESK, PORT } = process.env
if (DESK && PORT) {
  const { api } = await openDesk(DESK)
  for (;;) {
    try {
      await api.open()
      break
    } catch {
      await new Promise(resolve => setTimeout(resolve, 200))
    }
  }
  harden(createServer(api.handler)).listen(Number(PORT), () => process.stdout.write('listening'))
}
