// Lists that are aborted behind PgBouncer, a pool of 4 in transaction mode, beside clients of other programs:
// `npx tsx bench/proofs/pooler.ts --lists=10000 --others=100 [--reuse] [--wait=<seconds>] [--build=<folder>]`.
// None of their statements is ended, and their settings stay as they are.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { abortBesideOthers } from '../../test/stores/neighbours.ts'
import { startPgBouncer } from '../../test/stores/pgbouncer.ts'
import { createDatabase, startPostgres } from '../../test/stores/postgres-server.ts'
import { published } from '../processes.ts'

const { values } = parseArgs({
  options: {
    lists: { type: 'string', default: '10000' },
    others: { type: 'string', default: '100' },
    reuse: { type: 'boolean', default: false },
    wait: { type: 'string', default: '3600' },
    build: { type: 'string' },
  },
})
if (values.build) process.env.BUILD = pathToFileURL(`${resolve(values.build)}/index.js`).href
const server = await startPostgres()
const direct = await createDatabase(server.url, `pooler_${process.pid}`)
const bouncer = await startPgBouncer(direct)
const begin = performance.now()
const { otherEnds, ...harm } = await abortBesideOthers({
  sql: values.build ? await published() : await import('../../src/sql/index.ts'),
  direct,
  pooled: bouncer.url,
  lists: Number(values.lists),
  others: Number(values.others),
  reuse: values.reuse,
  wait: Number(values.wait),
})
const seconds = ((performance.now() - begin) / 1000).toFixed(1)
console.log({ ...harm, otherEnds: [...new Set(otherEnds.map(String))], seconds })
await bouncer.stop()
