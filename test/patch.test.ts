// JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902): the examples of their appendices, and what
// they refuse.
import { describe, expect, it } from 'vitest'
import { HttpError, type Json } from '../src/index.ts'
import { jsonPatch, mergePatch } from '../src/rules/index.ts'

function apply(target: Json, patch: Json): Json {
  return jsonPatch(target, patch)
}

function statusOf(work: () => unknown): number | undefined {
  try {
    work()
  } catch (error) {
    if (error instanceof HttpError) return error.status
    throw error
  }
  return undefined
}

describe('JSON Merge Patch, RFC 7396 appendix A', () => {
  const cases: readonly [original: Json, patch: Json, result: Json][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [original, patch, result] of cases) {
    it(`${JSON.stringify(original)} + ${JSON.stringify(patch)}`, () => {
      const before = JSON.stringify(original)
      expect(mergePatch(original, patch)).toEqual(result)
      expect(JSON.stringify(original)).toBe(before)
    })
  }

  it('keeps the order of properties', () => {
    const merged = mergePatch({ a: 1, b: { c: 2, d: 3 }, e: 4 }, { b: { c: 5 }, a: 0 })
    expect(JSON.stringify(merged)).toBe('{"a":0,"b":{"c":5,"d":3},"e":4}')
  })
})

describe('JSON Patch, RFC 6902 appendix A', () => {
  const cases: readonly [name: string, target: Json, patch: Json, result: Json | number][] = [
    [
      'A.1 adding an object member',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux' }],
      { baz: 'qux', foo: 'bar' },
    ],
    [
      'A.2 adding an array element',
      { foo: ['bar', 'baz'] },
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    [
      'A.3 removing an object member',
      { baz: 'qux', foo: 'bar' },
      [{ op: 'remove', path: '/baz' }],
      { foo: 'bar' },
    ],
    [
      'A.4 removing an array element',
      { foo: ['bar', 'qux', 'baz'] },
      [{ op: 'remove', path: '/foo/1' }],
      { foo: ['bar', 'baz'] },
    ],
    [
      'A.5 replacing a value',
      { baz: 'qux', foo: 'bar' },
      [{ op: 'replace', path: '/baz', value: 'boo' }],
      { baz: 'boo', foo: 'bar' },
    ],
    [
      'A.6 moving a value',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'A.7 moving an array element',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'A.8 testing a value: success',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'A.9 testing a value: error',
      { baz: 'qux' },
      [{ op: 'test', path: '/baz', value: 'bar' }],
      409,
    ],
    [
      'A.10 adding a nested member object',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    [
      'A.11 ignoring unrecognized elements',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }],
      { foo: 'bar', baz: 'qux' },
    ],
    [
      'A.12 adding to a nonexistent target',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz/bat', value: 'qux' }],
      409,
    ],
    ['A.13 invalid JSON Patch document', { foo: 'bar' }, [{ path: '/baz', value: 'qux' }], 400],
    [
      'A.14 ~ escape ordering',
      { '/': 9, '~1': 10 },
      [{ op: 'test', path: '/~01', value: 10 }],
      { '/': 9, '~1': 10 },
    ],
    [
      'A.15 comparing strings and numbers',
      { '/': 9, '~1': 10 },
      [{ op: 'test', path: '/~01', value: '10' }],
      409,
    ],
    [
      'A.16 adding an array value',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
  ]
  for (const [name, target, patch, result] of cases) {
    it(name, () => {
      const before = JSON.stringify(target)
      if (typeof result === 'number') expect(statusOf(() => apply(target, patch))).toBe(result)
      else expect(apply(target, patch)).toEqual(result)
      expect(JSON.stringify(target)).toBe(before)
    })
  }
})

describe('JSON Patch, other cases', () => {
  it('replace keeps the place of a property (A.5) and of an element', () => {
    const target = { a: 1, b: { c: 2, d: 3 }, e: [4, 5, 6] }
    const patch = [
      { op: 'replace', path: '/a', value: 0 },
      { op: 'replace', path: '/b/c', value: 'x' },
      { op: 'replace', path: '/e/1', value: 'y' },
    ]
    expect(JSON.stringify(apply(target, patch))).toBe('{"a":0,"b":{"c":"x","d":3},"e":[4,"y",6]}')
    expect(statusOf(() => apply(target, [{ op: 'replace', path: '/z', value: 0 }]))).toBe(409)
    expect(apply(target, [{ op: 'replace', path: '', value: 0 }])).toBe(0)
  })

  const nested: Json = { a: [{ b: 1 }, { b: 2 }], c: { d: 'x' }, '': 0 }
  const cases: readonly [name: string, patch: Json, result: Json | number][] = [
    ['an empty list changes nothing', [], nested],
    ['the whole document', [{ op: 'replace', path: '', value: { z: 1 } }], { z: 1 }],
    [
      'the empty name',
      [{ op: 'replace', path: '/', value: 1 }],
      { a: [{ b: 1 }, { b: 2 }], c: { d: 'x' }, '': 1 },
    ],
    [
      'within a list',
      [{ op: 'replace', path: '/a/1/b', value: 3 }],
      { a: [{ b: 1 }, { b: 3 }], c: { d: 'x' }, '': 0 },
    ],
    [
      'copy does not share',
      [
        { op: 'copy', from: '/c', path: '/e' },
        { op: 'replace', path: '/e/d', value: 'y' },
      ],
      { a: [{ b: 1 }, { b: 2 }], c: { d: 'x' }, '': 0, e: { d: 'y' } },
    ],
    [
      'test compares objects without order',
      [
        { op: 'add', path: '/o', value: { x: 1, y: 2 } },
        { op: 'test', path: '/o', value: { y: 2, x: 1 } },
        { op: 'remove', path: '/o' },
      ],
      nested,
    ],
    ['test of null at a missing member', [{ op: 'test', path: '/missing', value: null }], 409],
    [
      'add null',
      [{ op: 'add', path: '/n', value: null }],
      { a: [{ b: 1 }, { b: 2 }], c: { d: 'x' }, '': 0, n: null },
    ],
    ['remove of what is not there', [{ op: 'remove', path: '/missing' }], 409],
    ['replace of what is not there', [{ op: 'replace', path: '/missing', value: 1 }], 409],
    ['an index beyond the end', [{ op: 'add', path: '/a/3', value: 1 }], 409],
    ['an index with a leading zero', [{ op: 'replace', path: '/a/01', value: 1 }], 409],
    ['a member of a text', [{ op: 'add', path: '/c/d/e', value: 1 }], 409],
    ['a member of a text’s member', [{ op: 'add', path: '/c/d/e/f', value: 1 }], 409],
    ['a negative index', [{ op: 'replace', path: '/a/-1', value: 1 }], 409],
    ['replace at -', [{ op: 'replace', path: '/a/-', value: 1 }], 409],
    ['a value into itself', [{ op: 'move', from: '/c', path: '/c/d' }], 400],
    ['a value onto itself', [{ op: 'move', from: '/c', path: '/c' }], nested],
    ['an own name of every object', [{ op: 'replace', path: '/toString', value: 1 }], 409],
    [
      'a name that reaches the prototype',
      [{ op: 'add', path: '/__proto__', value: { polluted: true } }],
      400,
    ],
    ['the same in the middle', [{ op: 'add', path: '/constructor/prototype', value: 1 }], 400],
    ['copied to such a name', [{ op: 'copy', from: '/c', path: '/__proto__' }], 400],
    ['a pointer without a slash', [{ op: 'add', path: 'a', value: 1 }], 400],
    ['a pointer with a lone ~', [{ op: 'add', path: '/~2', value: 1 }], 400],
    ['no path', [{ op: 'add', value: 1 }], 400],
    ['no value', [{ op: 'add', path: '/x' }], 400],
    ['no from', [{ op: 'move', path: '/x' }], 400],
    ['an unknown op', [{ op: 'merge', path: '/x', value: 1 }], 400],
    ['an op in other letters', [{ op: 'ADD', path: '/x', value: 1 }], 400],
    ['the whole document removed', [{ op: 'remove', path: '' }], null],
    [
      'the whole document removed, then another',
      [
        { op: 'remove', path: '' },
        { op: 'add', path: '', value: [1] },
        { op: 'add', path: '/-', value: 2 },
      ],
      [1, 2],
    ],
    ['an operation that is no object', ['add'], 400],
    ['an operation that is null', [null], 400],
    ['an operation that is a list', [[]], 400],
    ['no list', { op: 'add', path: '/x', value: 1 }, 400],
    [
      'all or nothing',
      [
        { op: 'add', path: '/x', value: 1 },
        { op: 'remove', path: '/missing' },
      ],
      409,
    ],
    [
      'too many operations',
      Array.from({ length: 501 }, () => ({ op: 'test', path: '', value: 1 })),
      413,
    ],
    [
      'copies of copies',
      Array.from({ length: 20 }, (_, at) => ({ op: 'copy', from: '', path: `/x${at}` })),
      413,
    ],
  ]
  for (const [name, patch, result] of cases) {
    it(name, () => {
      if (typeof result === 'number') expect(statusOf(() => apply(nested, patch))).toBe(result)
      else expect(apply(nested, patch)).toEqual(result)
      expect(nested).toEqual({ a: [{ b: 1 }, { b: 2 }], c: { d: 'x' }, '': 0 })
    })
  }

  it.each([
    [524_287, undefined],
    [524_289, 413],
  ])('copies a MiB of JSON and no more: a text of %i characters twice', (length, status) => {
    const patch = ['/b', '/c'].map(path => ({ op: 'copy', from: '/a', path }))
    expect(statusOf(() => apply({ a: 'x'.repeat(length - 2) }, patch))).toBe(status)
  })

  it.each<[Json, string, number | undefined]>([
    [{ c: 1 }, '/a', undefined],
    [{ c: {} }, '/a', 400],
    [[[]], '/a', 400],
    [1, '/b/c', undefined],
    [{}, '/b/c', 400],
  ])('puts %j at %s within two levels: %s', (value, path, status) => {
    const patch = [{ op: 'add', path, value }]
    expect(statusOf(() => jsonPatch({ b: {} }, patch, { maxDepth: 2 }))).toBe(status)
  })

  it('cannot nest a document deeper and deeper', () => {
    const chain = (levels: number): Json => (levels === 0 ? {} : { a: chain(levels - 1) })
    const path = '/a'.repeat(20)
    const deepen = Array.from({ length: 200 }, () => [
      { op: 'move', from: '/a', path: '/b' },
      { op: 'add', path: '/a', value: chain(20) },
      { op: 'move', from: '/b', path: `${path}/a` },
    ]).flat()
    expect(statusOf(() => jsonPatch({ a: chain(20) }, deepen, { maxOperations: 1000 }))).toBe(400)
    const far = `/a${'/a'.repeat(100_000)}`
    expect(statusOf(() => apply({}, [{ op: 'add', path: far, value: 1 }]))).toBe(400)
  })

  const many = (count: number, operation: (at: number) => Json) =>
    Array.from({ length: count }, (_, at) => operation(at))
  const big = Object.fromEntries(many(40_000, at => at).map(at => [`k${at}`, 1]))

  // Where each operation copied what it changes, this took a minute.
  it('takes time for the sum of document and patch, not for their product', () => {
    const adds = many(498, at => ({ op: 'add', path: `/x/n${at}`, value: 1 }))
    const patch = [{ op: 'add', path: '/x', value: big }, ...adds, { op: 'remove', path: '/x' }]
    expect(apply({ a: 1 }, patch)).toEqual({ a: 1 })
    const list = many(40_000, at => at)
    const removes = many(500, () => ({ op: 'remove', path: '/l/1' }))
    expect(apply({ l: list }, removes)).toEqual({ l: [0, ...list.slice(501)] })
  })

  it.each<[string, Json, Json]>([
    ['moves', { a: big }, many(500, () => ({ op: 'move', from: '/a', path: '/a' }))],
    ['tests', { a: big }, many(500, () => ({ op: 'test', path: '/a', value: big }))],
    [
      'texts copied',
      { a: 'x'.repeat(100_000), l: [] },
      many(500, () => ({ op: 'copy', from: '/a', path: '/l/-' })),
    ],
    [
      'names copied',
      { a: { ['x'.repeat(100_000)]: 1 }, l: [] },
      many(500, () => ({ op: 'copy', from: '/a', path: '/l/-' })),
    ],
  ])('%s have an end', (_name, target, patch) => {
    expect(statusOf(() => apply(target, patch))).toBe(413)
    expect(
      statusOf(() =>
        apply(
          target,
          many(2, () => Object(patch)[0]),
        ),
      ),
    ).toBe(undefined)
  })

  it('never reaches a prototype', () => {
    statusOf(() => apply({}, [{ op: 'add', path: '/__proto__/polluted', value: 1 }]))
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})
