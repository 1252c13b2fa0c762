// Counts what makes our English hard to read, in the guides and in messages: `npx tsx scripts/check-english.ts`. The
// counts of `test/english.json` may only fall; `--list RULE` prints the sentences, `--write` writes lower counts.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { sourceFiles } from '../test/source.ts'

const COUNTS = new URL('../test/english.json', import.meta.url)

/** By its name, what a sentence must not match. */
const RULES: Readonly<Record<string, RegExp>> = {
  'starts with Who, What, Those or To': /^(?:Who|What|Those|To [a-z]+)\b(?!.*\?)/,
  'where for if': /\bwhere\b(?!:)/i,
  'beside, besides, in place of': /\b(?:besides?|in place of)\b/i,
  'none, nothing, nobody': /\b(?:none|nothing|nobody)\b/i,
  'answer for response': /\banswer(?:s|ed)?\b/i,
  'text for string': /\b(?:a|the) texts?\b/i,
  'address for URL': /\baddress(?:es)?\b(?! of the client)/i,
  'is a 400': /\b(?:is|are) an? [1-5]\d\d\b/,
  'that of, those of, what is, such a': /\b(?:that of|those of|what is|such an?)\b/i,
  'over 25 words': /^(?:\S+\s+){25,}\S+$/,
}

const stripped = (text: string) =>
  text
    .replaceAll(/```[\s\S]*?```|<!--[\s\S]*?-->|^ {4}.*$|^\|.*$|^#.*$/gm, '')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')

const sentencesOf = (text: string) =>
  stripped(text)
    .split(/\n\s*\n|^\s*[-*] |(?<=[.!?:]["»)]?)\s+(?=[A-Z`"«])/gm)
    .map(sentence => sentence.replaceAll(/\s+/g, ' ').trim())
    .filter(sentence => / /.test(sentence))

/** The literal texts of errors: those that begin like a sentence or name an option. */
const messages = sourceFiles().flatMap(({ text }) =>
  [...text.matchAll(/(?:Error|issue|fail)\w*\([^'`]{0,40}(?:'([^'\n]+)'|`([^`\n]+)`)/g)]
    .map(([, plain, template = '']) => plain ?? template.replaceAll(/\$\{[^}]*\}/g, 'value'))
    .filter(message => / \w+ /.test(message)),
)
const pages = ['README.md', ...readdirSync('docs').map(name => `docs/${name}`)].filter(
  path => path.endsWith('.md') && !/specification|conformance/.test(path),
)
const sentences = [...pages.flatMap(path => sentencesOf(readFileSync(path, 'utf8'))), ...messages]

const found = Object.entries(RULES).map(
  ([rule, wrong]) => [rule, sentences.filter(sentence => wrong.test(sentence))] as const,
)
const listed = process.argv[process.argv.indexOf('--list') + 1]
if (process.argv.includes('--list')) {
  for (const [rule, matches] of found)
    if (listed === undefined || rule.startsWith(listed)) console.log(`# ${rule}`, matches)
} else if (process.argv.includes('--write')) {
  const counts = Object.fromEntries(found.map(([rule, { length }]) => [rule, length]))
  writeFileSync(COUNTS, `${JSON.stringify(counts, null, 2)}\n`)
} else {
  const counts: Record<string, number> = JSON.parse(readFileSync(COUNTS, 'utf8'))
  const worse = found.filter(([rule, { length }]) => length > (counts[rule] ?? 0))
  for (const [rule, { length }] of worse)
    console.error(
      `test/english.json: «${rule}» is found ${length} times, not ${counts[rule]}. Run npx tsx scripts/check-english.ts --list '${rule}'.`,
    )
  process.exitCode = worse.length > 0 ? 1 : 0
}
