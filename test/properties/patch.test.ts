// Whatever the schema: a patch changes what it names and nothing else, and what GET gave can be sent back.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { isObject } from '../../src/base/values.ts'
import { defineCollection, HttpError, type Item, type Json, memoryStore } from '../../src/index.ts'
import { jsonPatch } from '../../src/rules/index.ts'
import { runs } from '../random.ts'
import { samples, tell } from './schemas.ts'

const MERGE = 'application/merge-patch+json'
const PATCH = 'application/json-patch+json'

/** A collection of one schema on a store whose time goes on by a second with every look at it. */
function open(schema: z.ZodType) {
  let time = Date.UTC(2024, 0, 1)
  const clock = () => {
    time += 1000
    return time
  }
  const { fetch } = defineCollection({ name: 'things', schema, store: memoryStore({ clock }) })
  return async (method: string, path: string, body?: string, type = 'application/json') => {
    const init = { method, ...(body !== undefined && { body, headers: { 'content-type': type } }) }
    const answer = await fetch(new Request(`http://api.test${path}`, init))
    return {
      status: answer.status,
      etag: answer.headers.get('etag'),
      text: await answer.text(),
      location: answer.headers.get('location')?.slice('http://api.test'.length) ?? '',
    }
  }
}

const cases = samples.chain(({ schema, values }) =>
  fc.record({
    schema: fc.constant(Object.assign(schema, { [fc.toStringMethod]: () => tell(schema) })),
    value: values,
    other: values,
    pick: fc.nat(),
  }),
)

/** An item without some properties, its members by name: zod puts those that it checks asynchronously as they finish. */
const without = (text: string, ...names: string[]): string => {
  const item = JSON.parse(text) as Item
  for (const name of names) delete item[name]
  return JSON.stringify(item, (_name, value: Json) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value,
  )
}

const byName = ([a]: [string, Json], [b]: [string, Json]): number => (a < b ? -1 : 1)

/** Every place of an item, as a JSON Pointer, where an object has a member. */
function* pointers(value: Json, prefix = ''): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const pointer = `${prefix}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    yield pointer
    yield* pointers(member, pointer)
  }
}

async function created(request: ReturnType<typeof open>, value: Json | undefined) {
  const made = await request('POST', '/things', JSON.stringify(value))
  expect(made.status, made.text).toBe(201)
  return made.location
}

test('an empty patch changes no byte: neither the item, nor updated_at, nor the ETag', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value }) => {
      const request = open(schema)
      const path = await created(request, value)
      const before = await request('GET', path)
      for (const [body, type] of [
        ['{}', MERGE],
        ['{}', 'application/json'],
        ['[]', PATCH],
      ] as const) {
        expect(await request('PATCH', path, body, type)).toMatchObject({ status: 303 })
        expect(await request('GET', path)).toEqual(before)
      }
    }),
    { numRuns: runs(150) },
  )
})

test('a patch with the values that are there changes no byte', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value, pick }) => {
      const request = open(schema)
      const path = await created(request, value)
      const before = await request('GET', path)
      const item = JSON.parse(before.text) as Item
      const all = [...pointers(item)]
      const pointer = all[pick % all.length] ?? ''
      const copy = JSON.stringify([{ op: 'copy', from: pointer, path: pointer }])
      // In a list a copy is one element more.
      if (!/\/\d+(?:\/|$)/.test(pointer)) {
        expect(await request('PATCH', path, copy, PATCH)).toMatchObject({ status: 303 })
        expect(await request('GET', path)).toEqual(before)
      }
      const nulls = /:null/.test(before.text)
      if (!nulls) {
        expect(await request('PATCH', path, before.text, MERGE)).toMatchObject({ status: 303 })
        expect(await request('GET', path)).toEqual(before)
      }
    }),
    { numRuns: runs(150) },
  )
})

test('a patch of one property leaves the values of all others as they are', async () => {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value, other, pick }) => {
      const request = open(schema)
      const path = await created(request, value)
      const before = await request('GET', path)
      const entries = Object.entries(other as Item)
      const [name, wanted] = entries[pick % Math.max(1, entries.length)] ?? []
      if (name === undefined) return
      const escaped = name.replaceAll('~', '~0').replaceAll('/', '~1')
      const patch = JSON.stringify([{ op: 'add', path: `/${escaped}`, value: wanted ?? null }])
      const answer = await request('PATCH', path, patch, PATCH)
      expect(answer.status, answer.text).toBe(303)
      const after = await request('GET', path)
      expect(without(after.text, name, 'updated_at')).toBe(without(before.text, name, 'updated_at'))
      if (after.text !== before.text) changed++
    }),
    { numRuns: runs(200) },
  )
  expect(changed).toBeGreaterThan(25)
})

test('a patch of a nested property leaves its siblings unchanged', async () => {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value, pick }) => {
      const request = open(schema)
      const path = await created(request, value)
      const before = await request('GET', path)
      const deep = [...pointers(JSON.parse(before.text) as Item)].filter(
        each => /^\/.*\//.test(each) && !each.endsWith('/kind'),
      )
      const pointer = deep[pick % Math.max(1, deep.length)]
      if (pointer === undefined) return
      for (const wanted of ['other', 3, true]) {
        const patch = JSON.stringify([{ op: 'replace', path: pointer, value: wanted }])
        const { status } = await request('PATCH', path, patch, PATCH)
        if (status !== 303) continue
        changed++
        const after = await request('GET', path)
        const [, member = ''] = pointer.split('/')
        expect(without(after.text, member, 'updated_at')).toBe(
          without(before.text, member, 'updated_at'),
        )
        const parent = pointer.slice(0, pointer.lastIndexOf('/'))
        // A `catch` around it may have taken the place of the whole.
        if (typeof valueAt(JSON.parse(after.text) as Json, parent) !== 'object') return
        const siblings = (text: string) => {
          return [...pointers(JSON.parse(text) as Item)].filter(
            each => each.startsWith(`${parent}/`) && !each.startsWith(pointer),
          )
        }
        const values = (text: string) =>
          siblings(before.text).map(each => [
            each,
            JSON.stringify(valueAt(JSON.parse(text) as Json, each)),
          ])
        expect(values(after.text)).toEqual(values(before.text))
        return
      }
    }),
    { numRuns: runs(200) },
  )
  expect(changed).toBeGreaterThan(25)
})

function valueAt(value: Json, pointer: string): Json | undefined {
  return pointer
    .split('/')
    .slice(1)
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<Json | undefined>(
      (at, name) => (typeof at === 'object' && at !== null ? (at as Item)[name] : undefined),
      value,
    )
}

test('PUT of what GET gave changes nothing but updated_at', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value }) => {
      const request = open(schema)
      const path = await created(request, value)
      const before = await request('GET', path)
      const answer = await request('PUT', path, before.text)
      expect(answer.status, answer.text).toBe(303)
      const after = await request('GET', path)
      expect(without(after.text, 'updated_at')).toBe(without(before.text, 'updated_at'))
      expect(after.text).not.toBe(before.text)
      expect(after.etag).not.toBe(before.etag)
    }),
    { numRuns: runs(200) },
  )
})

/** JSON Patch as RFC 6902 tells it, each operation on a whole copy; `undefined` where one does not fit. */
function naivePatch(target: Json, operations: readonly Item[]): Json | undefined {
  let root = structuredClone(target)
  const at = (tokens: readonly string[]) => {
    let value: Json | undefined = root
    for (const token of tokens) {
      if (Array.isArray(value)) value = /^\d$/.test(token) ? value[Number(token)] : undefined
      else value = isObject(value) ? value[token] : undefined
    }
    return value === undefined ? undefined : structuredClone(value)
  }
  /** Takes what is there out of the document, or puts something in; whether it could. */
  const change = (tokens: readonly string[], value?: Json, replaces = false): boolean => {
    if (tokens.length === 0) root = value ?? null
    const inside = (
      parent: Json | undefined,
      [token = '', ...rest]: readonly string[],
    ): boolean => {
      if (Array.isArray(parent)) {
        const index = token === '-' && value !== undefined ? parent.length : Number(token)
        const most = rest.length > 0 || value === undefined ? parent.length - 1 : parent.length
        if (!(index <= most)) return false // nor what is no number
        if (rest.length > 0) return inside(parent[index], rest)
        if (value === undefined) parent.splice(index, 1)
        else parent.splice(index, replaces ? 1 : 0, value)
        return true
      }
      if (!isObject(parent)) return false
      if (rest.length > 0) return inside(parent[token], rest)
      if (value === undefined) return delete parent[token]
      parent[token] = value
      return true
    }
    return tokens.length === 0 || inside(root, tokens)
  }
  for (const { op, path, from, value } of operations) {
    const to = String(path).split('/').slice(1)
    const source = String(from).split('/').slice(1)
    const moved = op === 'move' || op === 'copy' ? at(source) : structuredClone(value)
    if (moved === undefined && op !== 'remove') return undefined
    if ((op === 'remove' || op === 'replace') && at(to) === undefined) return undefined
    if (op === 'move') change(source)
    if (op === 'remove') change(to)
    if (op === 'test' && JSON.stringify(at(to)) !== JSON.stringify(value)) return undefined
    if (op === 'remove' || op === 'test') continue
    if (!change(to, moved, op === 'replace')) return undefined
  }
  return root
}

function frozen<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}

const names = fc.constantFrom('a', 'b', 'c')
const places = fc
  .array(fc.oneof({ weight: 3, arbitrary: names }, fc.constantFrom('0', '1', '-')), {
    maxLength: 3,
  })
  .map(tokens => tokens.map(token => `/${token}`).join(''))
const { document } = fc.letrec<{ document: Json }>(tie => ({
  document: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, 1, 'x'),
    fc.dictionary(names, tie('document'), { maxKeys: 3, noNullPrototype: true }),
    fc.array(tie('document'), { maxLength: 3 }),
  ),
}))
const operations = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('copy'), from: places, path: places }) },
  fc.record({ op: fc.constant('move'), from: places, path: places }),
  { weight: 3, arbitrary: fc.record({ op: fc.constant('add'), path: places, value: document }) },
  fc.record({ op: fc.constantFrom('remove'), path: places }),
  fc.record({ op: fc.constantFrom('replace', 'test'), path: places, value: document }),
)

test('a JSON Patch does what a copy of the whole for each operation would, and changes neither document nor patch', () => {
  let fitted = 0
  fc.assert(
    fc.property(document, fc.array(operations, { maxLength: 12 }), (target, patch) => {
      // Those that fit, so that many follow one another.
      const fitting: Item[] = []
      for (const operation of patch) {
        const own = `${operation.path}/`.startsWith(`${Object(operation).from}/`)
        const whole = operation.op === 'test' || (operation.op === 'move' && own)
        if (!whole && naivePatch(target, [...fitting, operation]) !== undefined) {
          fitting.push(operation)
        }
      }
      fitted = Math.max(fitted, fitting.length)
      frozen(target)
      frozen(fitting)
      const wanted = naivePatch(target, fitting)
      expect(JSON.stringify(jsonPatch(target, fitting))).toBe(JSON.stringify(wanted))
      for (const operation of patch) {
        if (naivePatch(target, [operation]) !== undefined) continue
        expect(() => jsonPatch(target, [operation])).toThrow(HttpError)
      }
    }),
    { numRuns: runs(1000) },
  )
  // Of twelve at random far more fit, in some patch of so many.
  expect(fitted).toBeGreaterThan(3)
})
