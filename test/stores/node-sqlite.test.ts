// Node's own SQLite: in the newer versions of Node that test/client/runtimes has.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { nodeSqlite } from '../../src/sql/index.ts'
import { bundle } from '../bundle.ts'

const root = join(import.meta.dirname, '..', '..')

/** The Kysely of the project, and a newer one that needs Node.js 22. */
const KYSELY = { node22: root, node24: join(import.meta.dirname, 'databases') }

describe.each(Object.entries(KYSELY))('%s', (name, packages) => {
  const program = join(root, 'test/client/runtimes/node_modules', name, 'bin/node')
  test('the contract holds on node:sqlite', async ({ skip }) => {
    for (const folder of [program, join(packages, 'node_modules')]) {
      if (!existsSync(folder)) skip(`There is no ${folder}: .ci/run says what installs it`)
    }
    const script = bundle(join(import.meta.dirname, 'node-sqlite.ts'), packages)
    const { stdout } = await promisify(execFile)(program, [script], { cwd: root })
    expect(JSON.parse(stdout)).toEqual({ passed: true, failed: [] })
  })
})

test('a statement that does not tell its columns is one of an older Node', () => {
  const old = { prepare: () => ({}), close() {} }
  expect(() => nodeSqlite(old as never)).toThrow(/Node\.js 22\.16/)
})
