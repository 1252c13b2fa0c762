// `rest-conventions check-rows`: it tells which rows their schema refuses, in the order of their ids.
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkRows } from '../../src/cli/check-rows.ts'
import { pull } from '../../src/cli/pull/pull.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

let folder: string
let module = ''
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rest-conventions-rows-'))
  await symlink(MODULES, join(folder, 'node_modules'))
  const source = join(folder, 'old.db')
  const database = new Database(source)
  database.exec(`
    create table cars (id integer primary key, color text not null, doors int, password text, created_at text, updated_at text);
    create table makers (id text primary key, name varchar(5));
    insert into cars select value, iif(value % 400 = 0, '', 'red'), 5, iif(value = 9, '', 'x'), null, null from generate_series(1, 1000);
    insert into makers values ('a', 'Audi'), ('r', 'Renault')`)
  database.close()
  const text = await pull({ source })
  // As a person makes it stricter.
  const stricter = text.replace('color: z.string()', "color: z.enum(['red'])")
  module = stricter.replace('password: z.string()', 'password: z.string().min(1)')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function check(collection?: string) {
  const lines: string[] = []
  // A module is loaded once, and its api is closed at the end.
  const path = join(folder, `collections${count++}.ts`)
  await writeFile(path, module)
  const refused = await checkRows({ path, collection }, line => lines.push(line))
  return { refused, text: lines.join('') }
}

test('all collections, with what is wrong of each item, write-only properties too', async () => {
  const { refused, text } = await check()
  expect(refused).toBe(4)
  expect(text).toBe(`cars 9: password must not be empty
cars 400: color must be red
cars 800: color must be red
cars: 3 of 1000 items are not as declared.
makers r: name must have at most 5 characters
makers: 1 of 2 items are not as declared.
`)
})

test('one collection', async () => {
  expect((await check('makers')).text).toMatch(/^makers r: .*\nmakers: 1 of 2/)
})

test('it says what is missing', async () => {
  await expect(check('vans')).rejects.toThrow('has no collection vans. It has cars, makers')
  const print = () => {}
  await expect(checkRows({ path: join(folder, 'no.ts') }, print)).rejects.toThrow('no such file')
  await writeFile(join(folder, 'empty.ts'), 'export const x = 1')
  const empty = checkRows({ path: join(folder, 'empty.ts') }, print)
  await expect(empty).rejects.toThrow('exports no api. Export what defineApi returns')
})
