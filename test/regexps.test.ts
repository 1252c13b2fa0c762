// No input makes a pattern slow: every regular expression of the source takes linear time, or is
// shown nothing that a client could choose at length.
import { check } from 'recheck'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { load, type SourceFile, sourceFiles } from './source.ts'

/** Patterns that are not proven linear, each with the reason why no client can make them slow. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  '/\\/+$/': 'baseUrl: whoever declares the api writes it',
  '/\\uFFFD+$/': 'the name of an index, cut: whoever declares the collection writes it',
  "/UNIQUE constraint failed: (?:index '(.+)'|(.+))$/":
    'the message of a database: it names constraints, not values',
}

/** Files whose patterns are those of a schema, which whoever declares the collection writes. */
const OF_SCHEMAS = ['openapi/samples.ts']

interface Pattern {
  /** As it is written. */
  readonly name: string
  readonly pattern: string
  readonly flags: string
}

function literalsOf({ nodes }: SourceFile): Pattern[] {
  return nodes.flatMap(({ type, regex }) => {
    if (type !== 'Literal' || typeof regex !== 'object' || regex === null) return []
    const { pattern, flags } = regex as Omit<Pattern, 'name'> // ESTree: a literal's `regex`
    return [{ name: `/${pattern}/${flags}`, pattern, flags }]
  })
}

/** How many patterns a file makes from parts. */
function constructedIn({ nodes }: SourceFile): number {
  return nodes.filter(({ type, callee }) => {
    const called = type === 'NewExpression' || type === 'CallExpression'
    return called && typeof callee === 'object' && callee !== null && nameOf(callee) === 'RegExp'
  }).length
}

function nameOf(node: object): unknown {
  return 'name' in node ? node.name : undefined
}

/** Files that make patterns import one another: what one of them has made is checked once. */
const verdicts = new Map<string, Promise<string>>()

function verdictOn(pattern: Pattern): Promise<string> {
  const key = `/${pattern.pattern}/${pattern.flags}`
  const known = verdicts.get(key) ?? judge(pattern)
  verdicts.set(key, known)
  return known
}

async function judge({ pattern, flags }: Pattern): Promise<string> {
  // No limits of time: the verdict must not depend on how busy the machine is.
  const limits = { timeout: null, attackTimeout: null, incubationTimeout: null }
  const found = await check(pattern, flags, { ...limits, randomSeed: 1 })
  return 'complexity' in found ? `${found.status}, ${found.complexity.summary}` : found.status
}

const files = sourceFiles()
const written = files.flatMap(literalsOf)
const literals = [...new Map(written.map(literal => [literal.name, literal])).values()]

describe('patterns as they are written', () => {
  test('are found', () => {
    expect(literals.length).toBeGreaterThan(50)
  })

  test.each(literals.filter(({ name }) => !(name in EXCEPTIONS)))('$name', async pattern => {
    expect(await verdictOn(pattern)).toMatch(/^safe/)
  })

  test.each(Object.keys(EXCEPTIONS))('the exception %s is for one place', name => {
    expect(written.filter(literal => literal.name === name)).toHaveLength(1)
  })
})

const constructing = files.filter(
  file => constructedIn(file) > 0 && !OF_SCHEMAS.includes(file.path),
)

describe.each(constructing)('patterns made in $path', file => {
  const made: RegExp[] = []
  const Original = globalThis.RegExp

  beforeAll(async () => {
    globalThis.RegExp = new Proxy(Original, {
      construct(target, [pattern, flags]) {
        const regexp = new target(pattern, flags)
        made.push(regexp)
        return regexp
      },
    })
    vi.resetModules()
    await load(file.path)
  })

  afterAll(() => {
    globalThis.RegExp = Original
  })

  test('are linear', async () => {
    expect(made.length).toBeGreaterThanOrEqual(constructedIn(file))
    for (const { source, flags } of made) {
      const verdict = await verdictOn({ name: source, pattern: source, flags })
      expect(verdict, source).toMatch(/^safe/)
    }
  })
})

test('a slow pattern would be found', async () => {
  const verdict = await verdictOn({ name: '', pattern: '^(?:a|a)*$', flags: '' })
  expect(verdict).toBe('vulnerable, exponential')
})
