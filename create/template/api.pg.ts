import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { defineApi, defineCollection } from 'rest-conventions'
import { html } from 'rest-conventions/html'
import { preparePostgres, reuseStatements, sqlStore } from 'rest-conventions/sql'
import { z } from 'zod'

const connectionString = process.env.DATABASE_URL ?? 'postgres://postgres@localhost/postgres'
const pool = preparePostgres(new pg.Pool({ connectionString, connectionTimeoutMillis: 5000 }))
const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })

const notes = defineCollection({
  name: 'notes',
  schema: z.object({ title: z.string().min(1).max(200), done: z.boolean().default(false) }),
  store: sqlStore({ db, create: true, migrate: true }),
})

// Everybody may write: add schemes before you publish it.
// https://github.com/rest-conventions/rest-conventions/blob/main/docs/auth.md
export const api = defineApi({ collections: { notes }, pages: html, health: true })
