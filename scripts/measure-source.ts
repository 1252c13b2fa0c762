// The figures of the source's shape: `npx tsx scripts/measure-source.ts [folder of src] …`, one column each;
// `--names` lists the circles, doubled names and long functions of the last.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type SourceFile, sourceFiles } from '../test/source.ts'
import {
  countCode,
  findCasts,
  findCircles,
  findContextWrites,
  findDoubledTypes,
  findManyParameters,
  folderOf,
  measureFunctions,
} from '../test/source-shape.ts'

const BESIDE_CORE =
  /^(?:cli|client|dialects|html|memory|node|rules|s3|sql|store-authors|testing|types)\//

function measure(folder: string): Record<string, string> {
  const all = sourceFiles(pathToFileURL(`${resolve(folder)}/`))
  const files = all.filter(({ path }) => !path.startsWith('testing/'))
  const codeOf = (chosen: readonly SourceFile[]) =>
    chosen.reduce((sum, file) => sum + countCode(file), 0)
  const code = codeOf(files)
  const lengths = files.map(({ lines }) => lines).sort((a, b) => a - b)
  const casts = files.flatMap(findCasts).length
  const writes = files
    .filter(({ path }) => !path.startsWith('server/'))
    .flatMap(file => findContextWrites(file).map(() => file.path))
  return {
    'circles of imports, types included': String(findCircles(all).length),
    'type names declared more than once': String(findDoubledTypes(files).size),
    casts: String(casts),
    'casts per 1,000 lines of code': ((casts / code) * 1000).toFixed(1),
    'lines of code of the core': String(
      codeOf(files.filter(({ path }) => !BESIDE_CORE.test(path))),
    ),
    'lines of code of sql': String(codeOf(files.filter(({ path }) => folderOf(path) === 'sql'))),
    'lines of code of html': String(codeOf(files.filter(({ path }) => folderOf(path) === 'html'))),
    'lines of code of all': String(code),
    files: String(files.length),
    'lines of the median file': String(lengths[Math.floor(lengths.length / 2)]),
    'lines of the largest file': String(lengths.at(-1)),
    'functions over 100 lines': String(
      files.flatMap(measureFunctions).filter(({ lines }) => lines > 100).length,
    ),
    'functions with five and more parameters': String(files.flatMap(findManyParameters).length),
    'assignments to a context outside of the steps of a request': `${writes.length} in ${new Set(writes).size} files`,
  }
}

function listNames(folder: string): void {
  const files = sourceFiles(pathToFileURL(`${resolve(folder)}/`))
  for (const circle of findCircles(files)) console.log(`circle: ${circle.join(', ')}`)
  const own = files.filter(({ path }) => !path.startsWith('testing/'))
  for (const [name, paths] of findDoubledTypes(own)) console.log(`${name}: ${paths.join(', ')}`)
  for (const { path, line, lines } of files.flatMap(measureFunctions))
    if (lines > 100) console.log(`${path}:${line} has ${lines} lines`)
  for (const { path, line, parameters } of files.flatMap(findManyParameters))
    console.log(`${path}:${line} has ${parameters} parameters`)
  for (const file of own)
    for (const line of findCasts(file))
      console.log(`cast: ${file.path}:${line} ${file.text.split('\n')[line - 1]?.trim()}`)
}

const args = process.argv.slice(2)
const folders = args.filter(arg => !arg.startsWith('--'))
if (folders.length === 0) folders.push('src')
const columns = folders.map(measure)
console.log(`| | ${folders.join(' | ')} |\n|---|${folders.map(() => '---:').join('|')}|`)
for (const row of Object.keys(columns[0] ?? {}))
  console.log(`| ${row} | ${columns.map(column => column[row]).join(' | ')} |`)
if (args.includes('--names')) listNames(folders.at(-1) ?? 'src')
