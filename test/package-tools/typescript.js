// What TypeScript 5 says of a program: `node typescript.js typescript59 <folder>`. The folder has `tsconfig.json`, `program.ts`, and
// `ask.json` with settings to compile it with, and places of the program to hover at and to complete. It prints JSON.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [, , name, folder] = process.argv
const ts = createRequire(import.meta.url)(name)
const ask = JSON.parse(readFileSync(join(folder, 'ask.json'), 'utf8'))
const config = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8'))

const optionsOf = settings => {
  const { compilerOptions } = config
  const json = { ...config, compilerOptions: { ...compilerOptions, ...settings } }
  return ts.parseJsonConfigFileContent(json, ts.sys, folder)
}
const textOf = ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')

/** Parsed files, by their name and what they are: most settings share them. */
const parsed = new Map()
const compile = settings => {
  const { options, fileNames } = optionsOf(settings)
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (file, how, ...more) => {
    const key = `${file} ${JSON.stringify(how)}`
    if (!parsed.has(key)) parsed.set(key, getSourceFile(file, how, ...more))
    return parsed.get(key)
  }
  return ts.getPreEmitDiagnostics(ts.createProgram(fileNames, options, host)).map(textOf)
}

const { options, fileNames } = optionsOf({})
const file = join(folder, 'program.ts')
const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => true,
  getScriptFileNames: () => fileNames,
  getScriptVersion: () => '1',
  getScriptSnapshot: each =>
    ts.sys.fileExists(each) ? ts.ScriptSnapshot.fromString(ts.sys.readFile(each)) : undefined,
  getCurrentDirectory: () => folder,
  getCompilationSettings: () => options,
  getDefaultLibFileName: each => ts.getDefaultLibFilePath(each),
})
const program = readFileSync(file, 'utf8')
const at = place => {
  const [before = '', after = ''] = place.split('|')
  return program.indexOf(before + after) + before.length
}
const errors = service.getSemanticDiagnostics(file).map(each => {
  const line = program.slice(0, each.start).split('\n').length
  return [program.split('\n')[line - 1].trim(), textOf(each)]
})
const hovers = ask.hovers.map(place => {
  const info = service.getQuickInfoAtPosition(file, at(place))
  return ts.displayPartsToString(info?.displayParts)
})
const completions = ask.completions.map(place =>
  (service.getCompletionsAtPosition(file, at(place), {})?.entries ?? []).map(each => each.name),
)
console.log(JSON.stringify({ errors, hovers, completions, compiled: ask.settings.map(compile) }))
