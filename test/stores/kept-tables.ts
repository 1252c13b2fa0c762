// Tables of others whose triggers, rules, policies and views keep writes out, or make another write of them. TABLE stands
// for the name of what is served, TABLE_effects counts what a trigger has done.
import { CompiledQuery, type Kysely } from 'kysely'
import { afterAll, beforeAll } from 'vitest'
import { sqlStore } from '../../src/sql/index.ts'
import type { Store } from '../../src/store/store.ts'
import { openPostgres, usePostgres } from './postgres.ts'
import { SHAPE } from './selections.ts'
import { newTable } from './several.ts'
import { openDatabase } from './sqlite.ts'

export const NAMES = ['PostgreSQL', 'SQLite'] as const
export type Name = (typeof NAMES)[number]

/** The statements of a table in the databases that can have it. */
export interface Kind {
  readonly PostgreSQL?: readonly string[]
  readonly SQLite?: readonly string[]
}

const COLUMNS =
  'id integer primary key, name text not null, gone integer not null default 0, version text'
const ROWS = `(id, name, version) values ${[1, 2, 3].map(id => `(${id}, 'n${id}', 'v${id}')`).join()}`
const EFFECTS = 'create table TABLE_effects (id integer, what text)'
/** The table that is served. */
const OWN = [EFFECTS, `create table TABLE (${COLUMNS})`, `insert into TABLE ${ROWS}`]
/** One below a view. */
const BELOW = OWN.map(each => each.replace(/TABLE(?!_)/, 'TABLE_all'))
const VIEW = 'create view TABLE as select id, name, version from TABLE_all where gone = 0'

const effect = (row: 'old' | 'new') => `insert into TABLE_effects values (${row}.id, 'done');`
const mark = (on: string) => `update ${on} set gone = 1 where id = old.id;`

/** A trigger of PostgreSQL. Its owner, a superuser, is bound by no policy. */
const plpgsql = (event: string, on: string, body: string) => [
  `create function TABLE_rule() returns trigger language plpgsql security definer as $$ begin ${body} end $$`,
  `create trigger TABLE_rule ${event} on ${on} for each row execute function TABLE_rule()`,
]
const sqlite = (event: string, on: string, body: string) => [
  `create trigger TABLE_rule ${event} on ${on} begin ${body} end`,
]
/** Does something in place of the write, and tells of no row. */
export const instead = (event: string, on: string, body: string): Required<Kind> => ({
  PostgreSQL: plpgsql(`before ${event}`, on, `${body} return null;`),
  SQLite: sqlite(`before ${event}`, on, `${body} select raise(ignore);`),
})
export const both = (before: readonly string[], { PostgreSQL, SQLite }: Required<Kind>): Kind => ({
  PostgreSQL: [...before, ...PostgreSQL],
  SQLite: [...before, ...SQLite],
})
const policies = (...all: readonly string[]): Kind => ({
  PostgreSQL: [
    ...OWN,
    'alter table TABLE enable row level security',
    ...all.map((each, at) => `create policy p${at} on TABLE ${each}`),
  ],
})
const PART = [
  EFFECTS,
  `create table TABLE (${COLUMNS}) partition by range (id)`,
  'create table TABLE_part partition of TABLE for values from (0) to (1000)',
  `insert into TABLE ${ROWS}`,
]
const CHILD = [
  EFFECTS,
  `create table TABLE (${COLUMNS})`,
  'create table TABLE_child (primary key (id)) inherits (TABLE)',
  `insert into TABLE_child ${ROWS}`,
]

interface Deletion extends Kind {
  readonly title: string
  /** Whether the item is read afterwards as before. */
  readonly stays?: boolean
}

/** A deletion of these is done. */
export const MARKED: readonly Deletion[] = [
  {
    title: 'a trigger marks the row, in a column that is not served',
    ...both(OWN, instead('delete', 'TABLE', effect('old') + mark('TABLE'))),
    stays: true,
  },
  {
    title: 'a trigger marks the row, which its view leaves out then',
    PostgreSQL: [
      ...BELOW,
      VIEW,
      ...plpgsql('before delete', 'TABLE_all', `${effect('old')}${mark('TABLE_all')} return null;`),
    ],
    SQLite: [
      ...BELOW,
      VIEW,
      ...sqlite('instead of delete', 'TABLE', effect('old') + mark('TABLE_all')),
    ],
  },
  {
    title: 'a view deletes by a trigger, which returns nothing',
    PostgreSQL: [
      ...BELOW,
      VIEW,
      ...plpgsql(
        'instead of delete',
        'TABLE',
        `${effect('old')} delete from TABLE_all where id = old.id; return new;`,
      ),
    ],
    SQLite: [
      ...BELOW,
      VIEW,
      ...sqlite(
        'instead of delete',
        'TABLE',
        `${effect('old')} delete from TABLE_all where id = old.id;`,
      ),
    ],
  },
  {
    title: 'a trigger moves the row into a table of its own',
    ...both(
      [...OWN, 'create table TABLE_bin (id integer, name text)'],
      instead(
        'delete',
        'TABLE',
        `${effect('old')} insert into TABLE_bin values (old.id, old.name); update TABLE set name = 'moved' where id = old.id;`,
      ),
    ),
    stays: true,
  },
  {
    title: 'a rule marks the row',
    PostgreSQL: [
      ...OWN,
      `create rule marks as on delete to TABLE do instead (${mark('TABLE')} ${effect('old')})`,
    ],
    stays: true,
  },
  {
    title: 'a trigger of a partition marks the row',
    PostgreSQL: [
      ...PART,
      ...plpgsql('before delete', 'TABLE_part', `${effect('old')}${mark('TABLE')} return null;`),
    ],
    stays: true,
  },
  {
    title: 'a trigger of an inherited table marks the row',
    PostgreSQL: [
      ...CHILD,
      ...plpgsql('before delete', 'TABLE_child', `${effect('old')}${mark('TABLE')} return null;`),
    ],
    stays: true,
  },
  {
    title: 'a trigger marks the row, which a policy hides then',
    PostgreSQL: [
      ...(policies('using (gone = 0)').PostgreSQL ?? []),
      ...plpgsql('before delete', 'TABLE', `${effect('old')}${mark('TABLE')} return null;`),
    ],
  },
  {
    title: 'a policy allows deletions and no changes',
    PostgreSQL: [
      ...(policies('for select using (true)', 'for delete using (true)').PostgreSQL ?? []),
      ...plpgsql('after delete', 'TABLE', `${effect('old')} return null;`),
    ],
  },
]

/** These keep each row, for a deletion. */
export const KEEPING: readonly ({ readonly title: string } & Kind)[] = [
  { title: 'a trigger', ...both(OWN, instead('delete', 'TABLE', effect('old'))) },
  {
    title: 'a trigger of a view',
    PostgreSQL: [
      ...BELOW,
      VIEW,
      ...plpgsql('instead of delete', 'TABLE', `${effect('old')} return null;`),
    ],
    SQLite: [...BELOW, VIEW, ...sqlite('instead of delete', 'TABLE', effect('old'))],
  },
  {
    title: 'a rule',
    PostgreSQL: [...OWN, 'create rule keeps as on delete to TABLE do instead nothing'],
  },
  {
    title: 'a policy without deletions',
    ...policies('for select using (true)', 'for update using (true)'),
  },
  { title: 'a policy of reads alone', ...policies('for select using (true)') },
]

/** These keep each row as it is, for a change. */
export const FIXED: readonly ({ readonly title: string } & Kind)[] = [
  { title: 'a trigger', ...both(OWN, instead('update', 'TABLE', effect('old'))) },
  {
    title: 'a trigger of a view',
    PostgreSQL: [
      ...BELOW,
      VIEW,
      ...plpgsql('instead of update', 'TABLE', `${effect('old')} return null;`),
    ],
    SQLite: [
      ...BELOW,
      VIEW,
      ...sqlite('instead of update', 'TABLE', `${effect('old')} select raise(ignore);`),
    ],
  },
  {
    title: 'a trigger of a partition',
    PostgreSQL: [
      ...PART,
      ...plpgsql('before update', 'TABLE_part', `${effect('old')} return null;`),
    ],
  },
  { title: 'a policy of reads alone', ...policies('for select using (true)') },
  {
    title: 'a policy of other rows',
    ...policies('for select using (true)', "for update using (name <> 'n1')"),
  },
]

interface Insert extends Kind {
  readonly title: string
  /** Whether the row is there afterwards. */
  readonly stands?: boolean
}

/** What becomes of a new row: a trigger keeps it out, or puts it into another table. */
export const inserts = (id: string): readonly Insert[] => {
  const columns = `id ${id}, name text not null, version text`
  const own = [EFFECTS.replace('id integer', `id ${id}`), `create table TABLE (${columns})`]
  const routed = `${effect('new')} insert into TABLE_other values (new.id, new.name, new.version);`
  const other = `create table TABLE_other (${columns})`
  const view = 'create view TABLE as select * from TABLE_other'
  return [
    { title: 'a trigger keeps it out', ...both(own, instead('insert', 'TABLE', effect('new'))) },
    {
      title: 'a trigger puts it where it is not read',
      ...both([...own, other], instead('insert', 'TABLE', routed)),
    },
    {
      title: 'a trigger puts it into an inherited table',
      PostgreSQL: [
        ...own,
        'create table TABLE_other () inherits (TABLE)',
        ...instead('insert', 'TABLE', routed).PostgreSQL,
      ],
      stands: true,
    },
    {
      title: 'a trigger of a view puts it below',
      PostgreSQL: [
        ...own.slice(0, 1),
        other,
        view,
        ...plpgsql('instead of insert', 'TABLE', `${routed} return null;`),
      ],
      SQLite: [...own.slice(0, 1), other, view, ...sqlite('instead of insert', 'TABLE', routed)],
      stands: true,
    },
  ]
}

/** The user of the database, in PostgreSQL. */
export const ROLE = `kept_${process.pid}`

/** Gives the tests of a file databases, and PostgreSQL a role that policies bind. */
export function useKeptTables(): void {
  usePostgres()
  const run = (text: string) => openPostgres({ max: 1 }).executeQuery(CompiledQuery.raw(text))
  beforeAll(() => run(`create role ${ROLE}`))
  afterAll(async () => {
    await run(`drop owned by ${ROLE}`)
    await run(`drop role ${ROLE}`)
  })
}

export interface KeptTable {
  readonly db: Kysely<unknown>
  /** The same database for a superuser. */
  readonly owner: Kysely<unknown>
  readonly table: string
  /** Runs a statement of another program. */
  say(text: string): Promise<Record<string, unknown>[]>
  /** How many effects of triggers are committed. */
  effects(): Promise<number>
  /** The statements that the api has run. */
  readonly statements: string[]
}

/** Makes tables as another program does; those of idempotency keys are the library's. */
export async function makeKept(name: Name, made: readonly string[]): Promise<KeptTable> {
  const table = newTable()
  const statements: string[] = []
  const log = (each: CompiledQuery) => statements.push(each.sql)
  const owner = name === 'SQLite' ? await openDatabase(undefined, log) : openPostgres({}, log)
  const ours: Store = sqlStore({ db: owner, table: `${table}_ours`, create: true })
  ours.attach(SHAPE)
  await ours.open?.()
  const say = async (text: string) =>
    (
      await owner.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(text.replaceAll('TABLE', table)),
      )
    ).rows
  for (const each of made) await say(each)
  const isPostgres = name === 'PostgreSQL'
  if (isPostgres) await say(`grant all on all tables in schema public to ${ROLE}`)
  const db = isPostgres ? openPostgres({ options: `-c role=${ROLE}` }, log) : owner
  statements.length = 0
  const effects = async () => {
    const [row] = await say('select count(*) as effects from TABLE_effects')
    return Number(row?.effects)
  }
  return { db, owner, table, say, effects, statements }
}
