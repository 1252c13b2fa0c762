import { Kysely, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { defineApi, defineCollection } from 'rest-conventions'
import { html } from 'rest-conventions/html'
import { prepareSqlite, reuseStatements, sqlStore } from 'rest-conventions/sql'
import { z } from 'zod'

const database = reuseStatements(new Database(process.env.DATABASE ?? 'data.db'))
const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
await prepareSqlite(db)

const notes = defineCollection({
  name: 'notes',
  schema: z.object({ title: z.string().min(1).max(200), done: z.boolean().default(false) }),
  store: sqlStore({ db, create: true, migrate: true }),
})

// Everybody may write: add schemes before you publish it.
// https://github.com/rest-conventions/rest-conventions/blob/main/docs/auth.md
export const api = defineApi({ collections: { notes }, pages: html, health: true })
