// The schemas that the library takes, checked once at definition: an allow-list of zod's kinds.
import { z } from 'zod'
import { binaries } from './blob.ts'
import { toIssues } from './issues.ts'
import { toPlainJson } from './json.ts'
import { hasAsyncCheck, OWN_MESSAGES } from './parse.ts'
import { listParts, type Schema, type SchemaDef, schemaDefOf } from './zod-fields.ts'

const ACCEPTED: ReadonlySet<string> = new Set([
  ...['object', 'record', 'array', 'tuple', 'union', 'lazy', 'optional', 'nullable', 'nonoptional'],
  ...['default', 'prefault', 'readonly', 'string', 'template_literal', 'number', 'boolean'],
  ...['enum', 'literal', 'null', 'any', 'unknown'],
])

/** What to write in the place of a kind that is not accepted. */
const INSTEAD: Readonly<Record<string, string>> = {
  transform: '.trim(), .toLowerCase() or .overwrite() to clean a value; compute others in a hook',
  pipe: 'one schema of what is stored; compute other values in a hook',
  preprocess: 'z.coerce, or .overwrite() behind the type',
  codec: 'the schema of what is stored; convert it in a hook',
  stringbool: 'z.boolean(): queries and forms take yes, no, on and off already',
  catch: '.default() for an absent value; an invalid one is reported to the client',
  success: 'z.boolean(), set by a hook',
  intersection: 'one object by .extend(), or z.object({ ...A.shape, ...B.shape })',
  date: 'z.iso.datetime() or z.iso.date()',
  bigint: 'z.int(), or z.string() for more digits',
  map: 'z.record()',
  set: 'z.array()',
  file: 'blob()',
  symbol: 'z.string()',
  nan: 'z.number().nullable()',
  undefined: '.optional()',
  void: '.optional()',
  never: 'no property of that name: unknown ones are refused anyway',
  custom: 'z.any() or the type itself with .refine()',
}

/** Where a schema stands. */
interface Place {
  /** What the message begins with: `cars: `. */
  readonly where: string
  readonly path: readonly string[]
  /** How many values are around it: 1 for a property of the item. */
  readonly depth: number
  /** Whether it is below a `z.union`, where every object must say what it does with other properties. */
  readonly inUnion: boolean
  readonly seen: Readonly<Record<'anywhere' | 'inUnion', Set<Schema>>>
}

/**
 * Checks that a schema has accepted kinds only, at every depth.
 * @param where what the schema is declared for, for the message.
 * @throws TypeError that names the path, the kind, and what to write instead.
 */
export function checkSchema(where: string, schema: Schema): void {
  const seen = { anywhere: new Set<Schema>(), inUnion: new Set<Schema>() }
  visit(schema, { where: `${where}: `, path: [], depth: 0, inUnion: false, seen })
}

/**
 * Checks the schema of an item or of an action's input: besides, it must be an object.
 * @throws TypeError
 */
export function checkObjectSchema(where: string, schema: Schema): void {
  checkSchema(where, schema)
  const def = unwrap(schema)
  if (def.type === 'object' || 'discriminator' in def) return
  throw new TypeError(
    `${where}: the schema must be an object, such as z.object({ … }), or a z.discriminatedUnion() of objects, not z.${def.type}()`,
  )
}

function unwrap(schema: Schema): SchemaDef {
  const def = schemaDefOf(schema)
  if (def.type === 'lazy') return unwrap(def.getter())
  return 'innerType' in def ? unwrap(def.innerType) : def
}

function visit(schema: Schema, place: Place): void {
  const { path, inUnion, depth, seen } = place
  const known = inUnion ? seen.inUnion : seen.anywhere
  if (known.has(schema)) return
  known.add(schema)
  if (binaries.has(schema)) {
    if (depth !== 1)
      throw invalid(place, 'is a blob(), which must be a property of the item itself')
    return
  }
  const def = schemaDefOf(schema)
  if (!ACCEPTED.has(def.type)) throw refused(place, findKind(def))
  if (def.type === 'object' && inUnion && !def.catchall)
    throw invalid(place, `is a z.object() in a z.union(): use ${IN_UNION}`)
  // zod puts all values of such a rest in one place.
  if (def.type === 'tuple' && def.rest && hasAsyncCheck(def.rest))
    throw invalid(place, 'is a z.tuple() whose rest has an asynchronous check: use z.array()')
  if (def.type === 'literal') {
    for (const value of def.values) {
      if (typeof value === 'bigint' || value === undefined) throw refused(place, typeof value)
    }
  }
  if (def.type === 'default' || def.type === 'prefault')
    checkDefault(def.defaultValue, def.innerType, place)
  const below = {
    ...place,
    depth: CONTAINERS.has(def.type) ? depth + 1 : depth,
    inUnion: inUnion || (def.type === 'union' && !('discriminator' in def)),
  }
  for (const [name, part] of listParts(def))
    visit(part, name === undefined ? below : { ...below, path: [...path, name] })
}

const IN_UNION = 'z.strictObject(), z.looseObject() or z.discriminatedUnion()'
const CONTAINERS: ReadonlySet<string> = new Set(['object', 'record', 'array', 'tuple'])

/** The function of zod that made a schema. */
function findKind(def: SchemaDef): string {
  if (def.type !== 'pipe') return def.type
  const [first, second] = [def.in._zod.def.type, def.out._zod.def.type]
  if (first === 'transform') return 'preprocess'
  if ('reverseTransform' in def) return second === 'boolean' ? 'stringbool' : 'codec'
  return second === 'transform' ? 'transform' : 'pipe'
}

/** @throws TypeError for a default that could not be sent back by a client that read it. */
function checkDefault(value: unknown, schema: Schema, place: Place): void {
  if (attempt(() => toPlainJson(value)) === undefined)
    throw invalid(place, `has a default that JSON cannot hold: ${String(value)}`)
  // It throws where a check is asynchronous, or fails itself.
  const result = attempt(() => z.safeParse(schema, value, OWN_MESSAGES))
  if (result === undefined || result.success) return
  const [issue] = toIssues(result.error.issues, value)
  throw invalid(
    place,
    `has the default ${JSON.stringify(value)}, which its own checks refuse (${issue?.message}): give another, or .nullable().default(null)`,
  )
}

/** Returns the result of some work, or `undefined` where it throws. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

function refused(place: Place, kind: string): TypeError {
  const instead = INSTEAD[kind] ?? 'a schema of JSON values'
  return invalid(place, `is z.${kind}(), which is not accepted: use ${instead}`)
}

function invalid({ where, path }: Place, what: string): TypeError {
  return new TypeError(`${where}${path.join('.') || 'the schema'} ${what}`)
}
