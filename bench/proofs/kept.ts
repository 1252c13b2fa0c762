// Writes at random through triggers that keep rows, mark them in place of a deletion or put them elsewhere, and through
// policies of PostgreSQL: `npx tsx bench/proofs/kept.ts [--database=sqlite|postgres] [--through=table|view]
// [--writes=20000] [--seed=1]`. Through a view its triggers do the writes, `instead of` them. Each effect that a trigger
// has logged is that of one write that was answered with success, and each such write has its one.
import { parseArgs } from 'node:util'
import { CompiledQuery, Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import { preparePostgres, prepareSqlite, reuseStatements, sqlStore } from '../../src/sql/index.ts'
import { createDatabase, dropDatabase, startPostgres } from '../../test/stores/postgres-server.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    writes: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    through: { type: 'string', default: 'table' },
  },
})
const CLIENTS = 16
/** What the triggers do with a row, by its property `kind`. */
const KINDS = ['plain', 'soft', 'kept', 'fixed', 'out', 'routed', 'readonly'] as const

const TABLES = [
  'create table effects (what text not null, id integer not null, name text not null)',
  'create table notes (id integer primary key, name text not null, kind text not null, gone integer not null default 0, version text)',
]
const LOG = 'insert into effects values'

const SQLITE = [
  ...TABLES,
  'create table elsewhere (id integer, name text)',
  `create trigger removes before delete on notes begin
    ${LOG} ('delete', old.id, '');
    update notes set gone = 1 where id = old.id and old.kind = 'soft';
    select case when old.kind in ('soft', 'kept', 'readonly') then raise(ignore) end; end`,
  `create trigger changes before update of name on notes begin
    ${LOG} ('update', old.id, new.name);
    select case when old.kind in ('fixed', 'readonly') then raise(ignore) end; end`,
  `create trigger adds before insert on notes begin
    ${LOG} ('insert', new.id, new.name);
    insert into elsewhere select new.id, new.name where new.kind = 'routed';
    select case when new.kind in ('out', 'routed') then raise(ignore) end; end`,
]

/** Of PostgreSQL: what is marked is hidden by a policy, and what is routed is found in an inherited table. */
const POSTGRES = [
  ...TABLES,
  'create table notes_routed (primary key (id)) inherits (notes)',
  `create function rule() returns trigger language plpgsql security definer as $$ begin
    if tg_op = 'DELETE' then
      ${LOG} ('delete', old.id, '');
      if old.kind = 'soft' then update notes set gone = 1 where id = old.id; return null; end if;
      if old.kind = 'kept' then return null; end if;
      return old;
    elsif tg_op = 'UPDATE' then
      if new.gone > old.gone then return new; end if;
      ${LOG} ('update', old.id, new.name);
      if old.kind = 'fixed' then return null; end if;
      return new;
    end if;
    ${LOG} ('insert', new.id, new.name);
    if new.kind = 'out' then return null; end if;
    if new.kind = 'routed' then insert into notes_routed values (new.*); return null; end if;
    return new; end $$`,
  ...['notes', 'notes_routed'].flatMap(table => [
    `create trigger rule before ${table === 'notes' ? 'insert or ' : ''}update or delete on ${table} for each row execute function rule()`,
    `alter table ${table} enable row level security`,
    `create policy reads on ${table} for select using (gone = 0)`,
    `create policy adds on ${table} for insert with check (true)`,
    `create policy changes on ${table} for update using (kind <> 'readonly')`,
    `create policy removes on ${table} for delete using (kind <> 'readonly')`,
  ]),
]

/** The same through a view of what is not marked. */
const VIEW = [
  ...TABLES.map(each => each.replace('table notes', 'table notes_all')),
  'create table elsewhere (id integer, name text)',
  'create view notes as select id, name, kind, version from notes_all where gone = 0',
]

const SQLITE_VIEW = [
  ...VIEW,
  `create trigger removes instead of delete on notes begin
    ${LOG} ('delete', old.id, '');
    update notes_all set gone = 1 where id = old.id and kind = 'soft';
    delete from notes_all where id = old.id and kind not in ('soft', 'kept', 'readonly'); end`,
  `create trigger changes instead of update on notes begin
    ${LOG} ('update', old.id, new.name);
    update notes_all set name = new.name, version = new.version where id = old.id and kind not in ('fixed', 'readonly'); end`,
  `create trigger adds instead of insert on notes begin
    ${LOG} ('insert', new.id, new.name);
    insert into elsewhere select new.id, new.name where new.kind = 'routed';
    insert into notes_all (id, name, kind, version) select new.id, new.name, new.kind, new.version where new.kind not in ('out', 'routed'); end`,
]

/** Of PostgreSQL: policies hold for what the triggers do. */
const POSTGRES_VIEW = [
  ...VIEW,
  `create function rule() returns trigger language plpgsql as $$ begin
    if tg_op = 'DELETE' then
      ${LOG} ('delete', old.id, '');
      if old.kind = 'kept' then return null; end if;
      if old.kind = 'soft' then update notes_all set gone = 1 where id = old.id;
      else delete from notes_all where id = old.id; end if;
    elsif tg_op = 'UPDATE' then
      ${LOG} ('update', old.id, new.name);
      if old.kind = 'fixed' then return null; end if;
      update notes_all set name = new.name, version = new.version where id = old.id;
    else
      ${LOG} ('insert', new.id, new.name);
      if new.kind = 'out' then return null; end if;
      if new.kind = 'routed' then insert into elsewhere values (new.id, new.name); return null; end if;
      insert into notes_all (id, name, kind, version) values (new.id, new.name, new.kind, new.version);
    end if;
    if not found then return null; end if;
    return coalesce(new, old); end $$`,
  'create trigger rule instead of insert or update or delete on notes for each row execute function rule()',
  'alter view notes set (security_invoker = true)',
  'alter table notes_all enable row level security',
  'create policy reads on notes_all for select using (true)',
  'create policy adds on notes_all for insert with check (true)',
  "create policy changes on notes_all for update using (kind <> 'readonly')",
  "create policy removes on notes_all for delete using (kind <> 'readonly')",
]

/** Numbers from 0 up to 1, by Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** One run: its database for the api and for the owner of its tables. */
async function prove(title: string, db: Kysely<unknown>, owner: Kysely<unknown>): Promise<void> {
  const random = randomOf(Number(values.seed))
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T // none is empty
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ name: z.string(), kind: z.enum(KINDS) }),
    store: sqlStore({ db, table: 'notes' }),
    id: 'integer',
    timestamps: false,
    operations: ['list', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  })
  // On a busy machine a transaction may take longer than the 5 s that a request has.
  const api = defineApi({ collections: { notes }, batch: true, limits: { workTime: 120_000 } })
  await api.open()
  /** What was answered with success, as the triggers log it. */
  const done = new Map<string, number>()
  const count = (effect: string) => done.set(effect, (done.get(effect) ?? 0) + 1)
  const statuses = new Map<number, number>()
  let names = 0
  let ids: number[] = []
  const send = async (method: string, path: string, body?: unknown, headers = {}) => {
    const response = await api.fetch(
      new Request(`http://notes.example${path}`, {
        method,
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          prefer: 'return=representation',
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
    const { status } = response
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const text = await response.text()
    if (status >= 500) throw new Error(`${title}: ${method} ${path} is a ${status}: ${text}`)
    return { isDone: status < 300, json: text === '' ? undefined : JSON.parse(text) }
  }
  /** Sends a write, sometimes again with its key: the second time must have no effect. */
  const write = async (method: string, path: string, body?: unknown, headers = {}) => {
    if (random() > 0.2) return send(method, path, body, headers)
    const keyed = { ...headers, 'idempotency-key': `"${++names}"` }
    const first = await send(method, path, body, keyed)
    if (first.isDone) await send(method, path, body, keyed)
    return first
  }
  const newNote = () => ({ name: `n${++names}`, kind: pick(KINDS) })
  const add = async (size: number) => {
    const body = size === 1 ? newNote() : Array.from({ length: size }, newNote)
    const { isDone, json } = await write('POST', '/notes', body)
    if (!isDone) return
    for (const { id, name } of [json].flat()) {
      ids.push(id)
      count(`insert ${id} ${name}`)
    }
  }
  const steps: readonly (() => Promise<void>)[] = [
    () => add(1),
    () => add(1 + Math.floor(random() * 4)),
    async () => {
      const [id, name] = [pick(ids), `n${++names}`]
      const { isDone } = await write('PATCH', `/notes/${id}`, { name })
      if (isDone) count(`update ${id} ${name}`)
    },
    async () => {
      const id = pick(ids)
      if ((await write('DELETE', `/notes/${id}`)).isDone) count(`delete ${id} `)
    },
    async () => {
      const name = `n${++names}`
      const [one, other] = [pick(ids), pick(ids)]
      const found = `/notes?id[]=${one}&id[]=${other}`
      const { isDone, json } = await write('PATCH', found, { name })
      if (isDone) several.push({ effect: `update`, name, count: json.count })
    },
    async () => {
      const distinct = [...new Set([pick(ids), pick(ids)])]
      const steps = distinct.map(id => ({ method: 'DELETE', path: `/notes/${id}` }))
      const { isDone } = await write('POST', '/batch', steps)
      if (isDone) for (const id of distinct) count(`delete ${id} `)
    },
  ]
  /** Of writes by filter the number is known, and not which rows. */
  const several: { effect: string; name: string; count: number }[] = []
  await add(1)
  while (ids.length === 0) await add(1)
  let left = Number(values.writes)
  const work = async () => {
    while (left-- > 0) {
      await pick(steps)()
      // Few enough that clients meet.
      if (ids.length > 200) ids = ids.slice(-100)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
  const { rows } = await owner.executeQuery<{ what: string; id: number; name: string }>(
    CompiledQuery.raw('select what, id, name from effects'),
  )
  const logged = new Map<string, number>()
  for (const { what, id, name } of rows) {
    const known = several.find(each => each.effect === what && each.name === name)
    if (known) known.count--
    else {
      const effect = `${what} ${id} ${name}`
      logged.set(effect, (logged.get(effect) ?? 0) + 1)
    }
  }
  const wrong = [
    ...[...new Set([...done.keys(), ...logged.keys()])].filter(
      each => done.get(each) !== logged.get(each) || logged.get(each) !== 1,
    ),
    ...several.filter(each => each.count !== 0).map(({ name }) => `update by filter ${name}`),
  ]
  const answered = [...statuses].sort().map(([status, times]) => `${times} × ${status}`)
  console.log(`${title}: ${rows.length} effects; ${answered.join(', ')}`)
  for (const each of wrong.slice(0, 10))
    console.log(`WRONG ${each}: answered ${done.get(each) ?? 0}, logged ${logged.get(each) ?? 0}`)
  if (wrong.length > 0) process.exitCode = 1
  await api.close()
}

const run = async (db: Kysely<unknown>, statements: readonly string[]) => {
  // Makes the tables of ids and keys.
  const own = defineCollection({
    name: 'own',
    schema: z.object({ name: z.string() }),
    store: sqlStore({ db, table: 'own', create: true }),
  })
  await defineApi({ collections: { own } }).open()
  for (const each of statements) await db.executeQuery(CompiledQuery.raw(each))
}

const isView = values.through === 'view'
if (values.database !== 'postgres') {
  const dialect = new SqliteDialect({ database: reuseStatements(new Database(':memory:')) })
  const db = new Kysely<unknown>({ dialect })
  await prepareSqlite(db)
  await run(db, isView ? SQLITE_VIEW : SQLITE)
  await prove('SQLite', db, db)
}
if (values.database !== 'sqlite') {
  const server = await startPostgres()
  const name = `kept_${process.pid}`
  const connectionString = await createDatabase(server.url, name)
  const open = (options: pg.PoolConfig) => {
    const pool = preparePostgres(new pg.Pool({ connectionString, max: 8, ...options }))
    return new Kysely<unknown>({ dialect: new PostgresDialect({ pool: reuseStatements(pool) }) })
  }
  const owner = open({})
  await run(owner, [
    ...(isView ? POSTGRES_VIEW : POSTGRES),
    `create role ${name}`,
    `grant all on all tables in schema public to ${name}`,
  ])
  const db = open({ options: `-c role=${name}` })
  await prove('PostgreSQL', db, owner)
  await db.destroy()
  await run(owner, [`drop owned by ${name}`, `drop role ${name}`])
  await owner.destroy()
  await dropDatabase(server.url, name)
}
