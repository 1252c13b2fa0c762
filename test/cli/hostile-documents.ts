// Documents of strangers, as texts: each tries to be more than types, or too much.

/** What a document may say of its one collection, and besides. */
interface Parts {
  readonly name?: string
  readonly title?: unknown
  readonly description?: unknown
  readonly item?: unknown
  readonly input?: unknown
  readonly schemas?: object
  readonly paths?: object
  readonly others?: object
}

const REF = '#/components/schemas/'
const ref = (name: string) => ({ $ref: REF + name })
const json = (schema: unknown) => ({ content: { 'application/json': { schema } } })
const object = (properties: object, required = Object.keys(properties)) => ({
  ...{ type: 'object', properties, required },
})

function documentOf({ name = 'things', item, input, schemas, ...parts }: Parts): string {
  const { title, description, paths, others } = parts
  const thing = item ?? ref('Thing')
  const tags = [{ name, description }]
  return JSON.stringify({
    ...{ openapi: '3.1.1', info: { title: title ?? 'Things', version: '1' }, tags },
    paths: {
      [`/${name}`]: {
        get: { responses: { 200: json({ type: 'array', items: thing }) } },
        post: {
          requestBody: json(input ?? thing),
          responses: { 201: json(thing) },
        },
      },
      ...paths,
    },
    components: { schemas: { Thing: object({ id: { type: 'string' } }), ...schemas } },
    ...others,
  })
}

/** An object with this property, also where the name is that of a prototype. */
const only = (name: string, value: unknown) => Object.fromEntries([[name, value]])

const EVIL = "globalThis.evil = 1; import 'evil'"
const NAMES = [
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'prototype',
    '',
    ' ',
    '1',
    '1a',
    'a-b',
  ],
  ...[
    '"',
    "'",
    '`',
    '\\',
    '\n',
    '\r',
    '\u2028',
    '\u2029',
    '\0',
    '\u202e',
    '\ud800',
    '\u{e0041}',
    ['$', '{evil}'].join(''),
  ],
  ...[
    'x"]: never }; evil(); interface Y { ["y',
    '}',
    '/*',
    '*/',
    '//',
    '<script>',
    'a: string; b',
    '日本',
  ],
  ...['new', 'get', 'readonly', 'static', 'function', 'typeof', 'import', 'any', 'string', 'await'],
  ...[
    'Api',
    'Blob',
    'DescribedCollection',
    'Collections',
    'Array',
    'Record',
    'ThingsCollection',
    'Things',
  ],
]
const all = (value: unknown) => Object.fromEntries(NAMES.map(name => [name, value]))
const TEXT = { type: 'string' }

/** Nests a value: no function of JavaScript prints one so deep. */
const nest = (before: string, after: string, depth: number) =>
  `${before.repeat(depth)}{}${after.repeat(depth)}`
const DEEP = 100_000
const within = (text: string) => documentOf({ schemas: { Thing: 'DEEP' } }).replace('"DEEP"', text)

const chain = (count: number, link: (next: object) => object) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`C${at}`, link(ref(`C${at + 1}`))]))

/** The documents by what they try. */
export const HOSTILE: Readonly<Record<string, string>> = {
  'a title that ends its comment': documentOf({ title: `*/ ${EVIL} /*` }),
  'a title of several lines': documentOf({ title: `x\n*/\n${EVIL}\n/*` }),
  'a description with other ends of lines': documentOf({
    description: `x\u2028${EVIL}\u2029\r\v\f\u0085${EVIL} *\u200b/ **/ *\\/ /*/ ${EVIL}`,
  }),
  'comments of tags and directives': documentOf({
    description:
      '@ts-nocheck @jsxImportSource evil /// <reference path="evil" /> //# sourceMappingURL=evil',
    title: '@ts-ignore\n@deprecated {@link evil}',
  }),
  'comments at properties and types': documentOf({
    schemas: {
      Thing: {
        ...object({ id: { type: 'string', description: `*/ ${EVIL} /*` } }),
        description: '*/ evil() //',
      },
    },
  }),
  'descriptions that are no texts': documentOf({ title: { a: 1 }, description: ['*/ evil()'] }),
  'a title that turns the direction of text': documentOf({ title: '\u202e*/ evil() \u2066' }),
  'names of collections': JSON.stringify({
    ...{ openapi: '3.1.1', tags: NAMES.map(name => ({ name, description: name })) },
    paths: Object.fromEntries(
      NAMES.map(name => [`/${name}`, { get: { responses: { 200: json({ items: TEXT }) } } }]),
    ),
  }),
  'names of properties': documentOf({ schemas: { Thing: object(all(TEXT)) } }),
  'names of optional and nested properties': documentOf({
    schemas: { Thing: object({ id: object(all(object(all(TEXT), [])), []) }, []) },
  }),
  'names of components': documentOf({
    schemas: {
      ...all(object({ a: TEXT })),
      Thing: object(Object.fromEntries(NAMES.map((name, at) => [`p${at}`, ref(name)]))),
    },
  }),
  'names of components that become one': documentOf({
    schemas: {
      ...Object.fromEntries(
        ['a-b', 'a_b', 'a.b', 'AB', 'AB2', 'aB'].map(name => [name, object({ [name]: TEXT })]),
      ),
      Thing: object({
        a: ref('a-b'),
        b: ref('a_b'),
        c: ref('a.b'),
        d: ref('AB'),
        e: ref('AB2'),
        f: ref('aB'),
      }),
    },
  }),
  'keys of records': documentOf({
    schemas: {
      Thing: {
        type: 'object',
        propertyNames: { enum: [...NAMES, ...NAMES] },
        additionalProperties: TEXT,
      },
    },
  }),
  'names of actions': documentOf({
    paths: Object.fromEntries(
      NAMES.flatMap(name => [
        [
          `/things/${name}`,
          {
            get: {
              description: `*/ ${name}`,
              parameters: NAMES.map(each => ({ name: each, in: 'query', schema: TEXT })),
              responses: { 200: json(TEXT) },
            },
          },
        ],
        [
          `/things/{id}/${name}`,
          {
            post: {
              description: name,
              requestBody: json(object(all(TEXT))),
              responses: { 200: json(ref('Thing')) },
            },
          },
        ],
      ]),
    ),
  }),
  'names of query parameters that nest': documentOf({
    paths: {
      '/things/find': {
        get: {
          parameters: [
            'a.b',
            'a',
            'a..b',
            '.',
            '',
            '__proto__.x',
            'constructor.prototype.x',
            'a.'.repeat(DEEP),
            7,
            null,
          ].map(name => ({ name, in: 'query', schema: TEXT })),
          responses: { 200: json({}) },
        },
      },
    },
  }),
  'names of ids, groups and immutable properties': documentOf({
    item: object(only('__proto__', { type: 'string', readOnly: true })),
    input: object(all(TEXT)),
    paths: {
      '/things/{id}': {
        parameters: [{ name: 'id', schema: { type: 'integer' } }],
        put: { requestBody: json(object({})) },
        patch: { requestBody: json(object({ a: TEXT })) },
      },
      '/things/count': {
        get: { parameters: [{ name: 'by', schema: { items: { enum: NAMES } } }] },
      },
      ...Object.fromEntries(
        NAMES.map(name => [
          `/things/{id}/${name}`,
          { get: { responses: { 200: { content: { 'image/*': {} } } } } },
        ]),
      ),
    },
  }),
  'names of what is included': documentOf({
    schemas: {
      Thing: {
        oneOf: [
          object(all({ readOnly: true, anyOf: [ref('Thing'), { type: 'null' }] }), []),
          object(all({ readOnly: true, type: 'array', items: ref('Thing') }), []),
        ],
      },
    },
  }),
  versions: documentOf({
    paths: {
      '/v2/things': { get: {} },
      '/v99999999999999999999/things': { get: {} },
      "/v1'; evil()/things": { get: {} },
    },
  }),
  'a type that is itself': documentOf({ schemas: { Thing: ref('Thing') } }),
  'types that are each other': documentOf({
    schemas: {
      Thing: { oneOf: [ref('B'), { type: 'null' }] },
      B: { anyOf: [ref('C'), { allOf: [ref('Thing')] }] },
      C: { oneOf: [TEXT, ref('Thing'), ref('B'), ref('C')] },
      D: { type: ['array', 'null'], items: ref('D') },
    },
    input: { type: 'array', prefixItems: [ref('D'), ref('C')], items: ref('D') },
  }),
  'types that are each other, from both ends': documentOf({
    schemas: {
      Thing: object({ a: ref('A'), b: ref('B') }),
      A: { oneOf: [ref('B'), TEXT] },
      B: { oneOf: [ref('A'), { type: 'number' }] },
    },
  }),
  'objects that are their own intersection': documentOf({
    schemas: { Thing: { allOf: [ref('Thing'), object({ a: TEXT })] } },
  }),
  'a chain of references': documentOf({
    schemas: { ...chain(5_000, next => next), Thing: ref('C0') },
  }),
  'a chain of unions': documentOf({
    schemas: {
      ...chain(5_000, next => ({ oneOf: [next, TEXT] })),
      Thing: object({ a: ref('C4990'), b: ref('C2500'), c: ref('C0') }),
    },
  }),
  'references that lead elsewhere': documentOf({
    schemas: {
      Thing: object({
        a: ref('nowhere'),
        b: ref('toString'),
        c: { $ref: '#/components/__proto__/toString' },
        d: { $ref: 'https://evil.example/x' },
        e: { $ref: 7 },
        f: { $ref: { $ref: '#' } },
        g: { $ref: '#/paths/~1things' },
        h: ref('Thing/properties/a'),
        i: { $ref: '#' },
      }),
    },
  }),
  'lists within lists': within(nest('{"type":"array","items":', '}', DEEP)),
  'objects within objects': within(nest('{"type":"object","properties":{"a":', '}}', DEEP)),
  'unions within unions': within(nest('{"oneOf":[', ']}', DEEP)),
  'types within types': within(
    `{"type":${'['.repeat(DEEP)}${']'.repeat(DEEP)},"enum":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`,
  ),
  'values of enums': documentOf({
    schemas: {
      Thing: object({
        a: {
          enum: [
            ...NAMES,
            EVIL,
            `" | typeof import("evil") | "`,
            1,
            -1,
            1e21,
            -0,
            0.1,
            true,
            null,
            {},
            [1],
            'x'.repeat(100_000),
          ],
        },
        b: { const: { a: 1 } },
        c: { const: '"; evil(); "' },
        d: { enum: [] },
        e: { enum: Array.from({ length: 20_000 }, (_, at) => `${at}`) },
      }),
    },
  }).replace('1e+21', '1e999'),
  'members of the wrong types': documentOf({
    schemas: {
      Thing: object({
        a: { type: 7 },
        b: { type: [] },
        c: { type: [null, {}, 'string', 'string'] },
        d: { properties: 3, required: {} },
        e: { enum: 'x' },
        f: { oneOf: 'x', anyOf: {}, allOf: 7 },
        g: { type: 'array', items: [], prefixItems: {} },
        h: null,
        i: false,
        j: true,
        k: 'x',
        l: [],
        m: { type: 'object', additionalProperties: 'x', propertyNames: 7 },
        n: { type: 'array', prefixItems: [null], minItems: 'x' },
        o: { type: 'evil' },
      }),
    },
  }),
  'a document of the wrong types': JSON.stringify({
    ...{
      openapi: '3.1.1',
      info: 'x',
      tags: [null, 7, { name: 7 }, { name: 'things' }, { name: 'things' }],
      components: 7,
    },
    paths: {
      '': null,
      '/': 7,
      '/things': { get: { parameters: 7, responses: [] }, post: { requestBody: 'x' } },
      '/things/{id}': { parameters: {}, get: {} },
      '/things/x': { post: { responses: null } },
    },
  }),
  'unions of unions of unions': documentOf({
    schemas: {
      Thing: { oneOf: Array.from({ length: 300 }, () => ref('B')) },
      B: { oneOf: Array.from({ length: 300 }, () => ref('C')) },
      C: { oneOf: Array.from({ length: 300 }, (_, at) => object({ [`a${at}`]: TEXT })) },
    },
  }),
  'an intersection of unions': documentOf({
    schemas: {
      Thing: { allOf: ['A', 'B', 'C', 'D'].map(ref) },
      ...Object.fromEntries(
        ['A', 'B', 'C', 'D'].map(name => [
          name,
          { oneOf: Array.from({ length: 500 }, (_, at) => object({ [`${name}${at}`]: TEXT })) },
        ]),
      ),
    },
  }),
  'a tuple of many items': documentOf({
    schemas: {
      Thing: object({
        a: { type: 'array', prefixItems: Array.from({ length: 20_000 }, () => TEXT) },
      }),
    },
  }),
  'a thousand collections': JSON.stringify({
    ...{ openapi: '3.1.1', tags: Array.from({ length: 1_000 }, (_, at) => ({ name: `c${at}` })) },
    paths: Object.fromEntries(
      Array.from({ length: 1_000 }, (_, at) => [
        `/c${at}`,
        { get: { responses: { 200: json({ items: object({ id: TEXT }) }) } } },
      ]),
    ),
  }),
}

/** Documents that are refused, and why. */
export const REFUSED: Readonly<Record<string, readonly [document: string, message: RegExp]>> = {
  'records of records of records': [
    documentOf({
      schemas: {
        Thing: Array.from({ length: 15 }).reduce<object>(
          inner => ({
            type: 'object',
            propertyNames: { enum: [...'abcdefghij'] },
            additionalProperties: inner,
          }),
          TEXT,
        ),
      },
    }),
    /too large/,
  ],
  nothing: ['{"openapi":"3.1.1"}', /describes no collection/],
  'no collection': [
    JSON.stringify({ openapi: '3.1.1', paths: { '/cars': { get: {} } } }),
    /describes no collection/,
  ],
}
