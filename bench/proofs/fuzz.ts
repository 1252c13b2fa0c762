// 20,000 requests made of the OpenAPI documents of the example, of an odd api and of the clinic, by each principal at each
// version: each response is as the document says, and none is a 5xx.
//   npx tsx bench/proofs/fuzz.ts [--requests=20000] [--seed=1] [--show=10]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../../test/free-port.ts'
import { type Fuzzed, fuzz } from '../../test/fuzz/fuzz.ts'
import { openExample, openOdd } from '../../test/fuzz/fuzzed-apis.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    show: { type: 'string', default: '10' },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'fuzz-'))

/** The clinic, whose roles log in. It lets them do as many requests as they like. */
async function openClinic(): Promise<Fuzzed[]> {
  process.argv[2] = join(folder, 'clinic.db')
  process.env.PORT = String(await freePort())
  process.env.PER_MINUTE = '1000000'
  const { api } = await import('../../examples/clinic.ts')
  const ask: Fuzzed['ask'] = (path, init) =>
    api.fetch(new Request(`https://api.example${path}`, init))
  const all: Fuzzed[] = [{ name: 'the clinic, nobody', root: '/v2', headers: {}, weight: 1, ask }]
  for (const tenant of ['north', 'south'])
    for (const role of ['desk', 'doctor', 'manager']) {
      const body = JSON.stringify({ email: `${role}@${tenant}.example`, password: 'open sesame' })
      const headers = { 'content-type': 'application/json' }
      const response = await ask('/v2/users/login', { method: 'POST', headers, body })
      const { token } = (await response.json()) as { token: string }
      for (const root of ['/v1', '/v2'])
        all.push({
          name: `the clinic, ${role} of ${tenant}`,
          root,
          headers: { authorization: `Bearer ${token}` },
          weight: 2,
          ask,
        })
    }
  return all
}

console.log = () => {} // the clinic says which mails it sends
const APIS = { 'the example': openExample, 'an odd api': openOdd, 'the clinic': openClinic }
let failures = 0
for (const [name, open] of Object.entries(APIS)) {
  const count = Math.ceil(Number(values.requests) / 3)
  const { violations, statuses } = await fuzz(await open(), { count, seed: Number(values.seed) })
  const asked = Object.values(statuses).reduce((sum, each) => sum + each, 0)
  console.info(`${name}: ${asked} requests, ${violations.length} violations`, statuses)
  for (const each of violations.slice(0, Number(values.show))) console.info(each.slice(0, 2000))
  failures += violations.length
}
rmSync(folder, { recursive: true, force: true })
process.exit(failures > 0 ? 1 : 0)
