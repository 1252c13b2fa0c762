// Node's own SQLite: in the newer versions of Node that test/client/runtimes has.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { nodeSqlite } from '../../src/sql/index.ts'
import { bundle } from '../bundle.ts'

const root = join(import.meta.dirname, '..', '..')

describe.each(['node22', 'node24'])('%s', name => {
  const program = join(root, 'test/client/runtimes/node_modules', name, 'bin/node')
  test('the contract holds on node:sqlite', async ({ skip }) => {
    if (!existsSync(program)) skip(`There is no ${program}: npm ci --prefix test/client/runtimes`)
    const script = bundle(join(import.meta.dirname, 'node-sqlite.ts'))
    const { stdout } = await promisify(execFile)(program, [script], { cwd: root })
    expect(JSON.parse(stdout)).toEqual({ passed: true, failed: [] })
  })
})

test('a statement that does not tell its columns is one of an older Node', () => {
  const old = { prepare: () => ({}), close() {} }
  expect(() => nodeSqlite(old as never)).toThrow(/Node\.js 22\.16/)
})
