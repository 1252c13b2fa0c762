// The tasks of a front end, by our client and by those of others: `npm ci --prefix bench/proofs/front-ends`, then
// `npx tsx bench/proofs/front-ends.ts`. Prints what docs/decisions/front-ends.md shows: lines that a programmer writes, on the server
// too, and bytes of a page that does this task alone, minified and zipped. All of it compiles strictly.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const FOLDER = join(import.meta.dirname, 'front-ends')
const SOURCE = join(import.meta.dirname, '../../src/client')
const ENTRIES = {
  'rest-conventions/client': 'index',
  'rest-conventions/client/batch': 'batch',
  'rest-conventions/client/files': 'files',
  'rest-conventions/client/forms': 'forms',
  'rest-conventions/client/live': 'live',
  'rest-conventions/query': 'tanstack-query',
}
const alias = Object.fromEntries(
  Object.entries(ENTRIES).map(([name, file]) => [name, join(SOURCE, `${file}.ts`)]),
)
const LIBRARIES = ['ours', 'supabase', 'orpc'] as const
/** A declaration of a procedure: the server has it, and no page. */
const PROCEDURE = /^const \w+ = os\b.*\n(?:[ )}].*\n)*|^const router = [\s\S]*?^}\n/gm

/** The lines of code of each task: from the end of the one before to its own end. */
function countLines(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  let count = 0
  for (const block of text.split('\n\n').slice(2)) {
    const code = block.split('\n').filter(line => line && !/^\s*(?:\/\/|\/\*\*)/.test(line))
    count += code.length
    const name = /^export (?:const|(?:async )?function) (\w+)/m.exec(block)?.[1]
    if (!name) continue
    lines.set(name, count)
    count = 0
  }
  return lines
}

/** The bytes of a page with a task alone. */
async function countBytes(text: string, name: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: {
      contents: `${text.replaceAll(PROCEDURE, '').replaceAll(/^export /gm, '')}\nexport { ${name} }`,
      resolveDir: FOLDER,
      loader: 'ts',
    },
    alias,
    bundle: true,
    minify: true,
    treeShaking: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    external: ['@tanstack/query-core'],
    write: false,
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

const TSC = join(import.meta.dirname, '../../node_modules/.bin/tsc')
for (const config of ['tsconfig.json', 'tsconfig.ours.json'])
  execFileSync(TSC, ['-p', join(FOLDER, config)], { stdio: 'inherit' })
console.log('All of it compiles.')
const texts = LIBRARIES.map(name => readFileSync(join(FOLDER, `${name}.ts`), 'utf8'))
const lines = texts.map(countLines)
for (const name of lines[0]?.keys() ?? []) {
  if (/^wrong|^incomplete/.test(name)) continue
  const bytes: number[] = []
  for (const text of texts) bytes.push(await countBytes(text, name))
  console.log(`| ${[name, ...lines.map(each => each.get(name)), ...bytes].join(' | ')} |`)
}
