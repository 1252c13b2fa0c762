// Programs of others that read the OpenAPI document: `npm ci --prefix bench/proofs/readers`, then
// `npx tsx bench/proofs/readers.ts [--screenshots=<folder>]`. They read the documents of the example and of every declaration
// of the tests: two parsers, Postman's converter, Prism's proxy, and four pages in Chromium.
import { parseArgs } from 'node:util'
import { defineApi, memoryStore, openApiDocument } from '../../src/index.ts'
import { DECLARED } from '../../test/declared.ts'
import { defineUntyped } from '../../test/untyped.ts'
import { openExample, report } from './readers/common.ts'
import { showPages } from './readers/pages.ts'
import { parse } from './readers/parsers.ts'
import { convert } from './readers/postman.ts'
import { proxy } from './readers/prism.ts'

const { values } = parseArgs({ options: { screenshots: { type: 'string' } } })

const odd = defineApi({
  collections: Object.values(DECLARED).map((declared, at) =>
    defineUntyped({ name: `things${at}`, store: memoryStore(), ...declared }),
  ),
})
const apis = { cars: openExample(), odd }

for (const [name, api] of Object.entries(apis))
  for (const formats of [undefined, ['json']])
    await parse(`${name}${formats ? ', light' : ''}`, openApiDocument(api, { formats }))
for (const formats of [undefined, ['json']]) {
  const light = formats ? ', light' : ''
  const document = openApiDocument(openExample(), { formats })
  // The whole document repeats each request for each of its answers there.
  await convert(`cars${light}`, document, formats ? 1_000_000 : 1_250_000)
  await proxy(`cars${light}`, document, formats !== undefined)
}
await showPages(apis, values.screenshots)
report('all', [])
