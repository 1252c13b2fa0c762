#!/usr/bin/env node
// `npm create rest-conventions my-api`: writes a small project. It overwrites no file.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const TEMPLATE = fileURLToPath(new URL('template', import.meta.url))
const USAGE = `Usage: npm create rest-conventions <folder> [-- <options>]

Writes a project with an API: server.ts on SQLite with pages, a test, a Dockerfile.

  --pg               on PostgreSQL, by DATABASE_URL
  --from <database>  with a collection for each of your tables: the URL of a
                     PostgreSQL, or the path of a file of SQLite
`
const VERSIONS = {
  'rest-conventions': '^0.1.0',
  kysely: '^0.28.18',
  zod: '^4.6.0',
  tsx: '^4.20.0',
  libsql: '^0.5.0',
  pg: '^8.16.0',
  typescript: '>=5.8',
  '@types/node': '>=20',
  '@types/pg': '^8.15.0',
}

class Mistake extends Error {}

function create() {
  const { folder, from, isPostgres } = readArguments()
  const target = resolve(folder)
  const files = {
    ...readTemplate(isPostgres, from !== undefined),
    'package.json': printJson(describePackage(target, isPostgres)),
    'tsconfig.json': printJson({
      compilerOptions: {
        ...{ strict: true, target: 'es2023', module: 'nodenext', types: ['node'], noEmit: true },
        ...{ allowImportingTsExtensions: true, skipLibCheck: true },
      },
    }),
    '.gitignore': 'node_modules\n*.db*\n',
    '.dockerignore': 'node_modules\n.git\n.env*\n*.db*\n',
  }
  const taken = Object.keys(files).filter(name => existsSync(join(target, name)))
  if (taken.length > 0)
    throw new Mistake(`${folder} has ${taken.join(', ')} already. Choose another folder.`)
  mkdirSync(target, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(target, name), text)
  if (from !== undefined) pull(folder, target, from)
  const go = folder === '.' ? '' : `cd ${folder} && `
  const install = from === undefined ? 'npm install && ' : ''
  // The URL may hold a password.
  const env = isPostgres ? 'DATABASE_URL=<the URL of your database> ' : ''
  console.log(`Created ${folder}. Start it:

  ${go}${install}${env}npm start

Everybody may write to this API: add schemes to api.ts before you publish it.`)
}

function readArguments() {
  const options = {
    pg: { type: 'boolean' },
    from: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  }
  let parsed
  try {
    parsed = parseArgs({ options, allowPositionals: true })
  } catch (error) {
    throw new Mistake(`${error.message}\n\n${USAGE}`)
  }
  const { values, positionals } = parsed
  if (values.help) {
    console.log(USAGE)
    process.exit()
  }
  const [folder, ...others] = positionals
  if (!folder || others.length > 0) throw new Mistake(USAGE)
  const { from } = values
  const isUrl = /^postgres(?:ql)?:/i.test(from ?? '')
  if (from !== undefined && !isUrl && !existsSync(from))
    throw new Mistake(`There is no file ${from}.`)
  // The project stands in another folder.
  return {
    folder,
    from: isUrl ? from : from && resolve(from),
    isPostgres: isUrl || (values.pg ?? false),
  }
}

/** `api.pg.ts` is `api.ts` on PostgreSQL. */
function readTemplate(isPostgres, isPulled) {
  const variant = isPulled ? '.pulled' : isPostgres ? '.pg' : ''
  const files = {}
  for (const name of readdirSync(TEMPLATE)) {
    const [, base, own = '', ending = ''] =
      /^(\w+?)(\.pg|\.pulled)?((?:\.test)?\.\w+)?$/.exec(name) ?? []
    const hasVariant = existsSync(join(TEMPLATE, `${base}${variant}${ending}`))
    if (own === (hasVariant ? variant : ''))
      files[`${base}${ending}`] = readFileSync(join(TEMPLATE, name), 'utf8')
  }
  return files
}

function describePackage(target, isPostgres) {
  const pick = names => Object.fromEntries(names.map(name => [name, VERSIONS[name]]))
  return {
    name:
      basename(target)
        .toLowerCase()
        .replace(/[^a-z0-9-]+/g, '-')
        .replace(/^-+|-+$/g, '') || 'api',
    ...{ private: true, type: 'module', engines: { node: '>=20.19' } },
    scripts: { start: 'tsx server.ts', test: 'tsx --test api.test.ts', check: 'tsc' },
    dependencies: pick(['kysely', isPostgres ? 'pg' : 'libsql', 'rest-conventions', 'tsx', 'zod']),
    devDependencies: pick(['@types/node', ...(isPostgres ? ['@types/pg'] : []), 'typescript']),
  }
}

/** Prints the tables of a database as collections.ts, by the library itself. */
function pull(folder, target, from) {
  const shell = process.platform === 'win32'
  const command = join(target, 'node_modules/rest-conventions/dist/cli/main.js')
  try {
    if (!existsSync(command))
      execFileSync('npm', ['install'], { cwd: target, stdio: 'inherit', shell })
    const stdio = ['ignore', 'pipe', 'inherit']
    const printed = execFileSync(process.execPath, [command, 'pull', from], { cwd: target, stdio })
    writeFileSync(join(target, 'collections.ts'), printed)
  } catch {
    // The program has printed why; the message of its error would print a password of the URL.
    throw new Mistake(`Created ${folder} without its collections. Run this there, after you have mended the cause:

  npm install && npx rest-conventions pull <database> > collections.ts`)
  }
}

const printJson = value => `${JSON.stringify(value, undefined, 2)}\n`

try {
  create()
} catch (error) {
  if (!(error instanceof Mistake)) throw error
  console.error(error.message)
  process.exitCode = 1
}
