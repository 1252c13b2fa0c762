// Forty-odd schemas through `createClient` and `createQueries`: the compiler finds the end of each.
import { z } from 'zod'
import { createClient } from '../../src/client/index.ts'
import { createQueries, type Mutation } from '../../src/client/tanstack-query.ts'
import { defineApi, defineCollection, type Store } from '../../src/index.ts'

declare const store: Store

const Node = z.object({
  name: z.string(),
  get next() {
    return Node.nullable()
  },
  get below() {
    return z.array(Node)
  },
})
type Nested = string | Nested[] | { [key: string]: Nested }
const Nested: z.ZodType<Nested> = z.lazy(() =>
  z.union([z.string(), z.array(Nested), z.record(z.string(), Nested)]),
)
const Shape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number() }),
  z.object({ kind: z.literal('square'), side: z.number(), at: z.tuple([z.int(), z.int()]) }),
])

function declare<const N extends string, V extends z.core.$ZodType>(name: N, v: V) {
  return defineCollection({ name, store, id: 'integer', schema: z.object({ v }) })
}
const collections = {
  string: declare('string', z.string()),
  email: declare('email', z.email()),
  url: declare('url', z.url()),
  uuid: declare('uuid', z.uuid()),
  date: declare('date', z.iso.date()),
  datetime: declare('datetime', z.iso.datetime()),
  template: declare('template', z.templateLiteral(['a-', z.int()])),
  number: declare('number', z.number()),
  int: declare('int', z.int()),
  stringbool: declare('stringbool', z.stringbool()),
  boolean: declare('boolean', z.boolean()),
  literal: declare('literal', z.literal(['a', 1, null])),
  enum: declare('enum', z.enum(['a', 'b'])),
  brand: declare('brand', z.string().brand('Plate')),
  refined: declare(
    'refined',
    z.string().refine(text => text !== 'x'),
  ),
  piped: declare('piped', z.string().pipe(z.string().max(3))),
  defaulted: declare('defaulted', z.string().default('a')),
  prefaulted: declare('prefaulted', z.string().prefault('a')),
  caught: declare('caught', z.int().catch(1)),
  optional: declare('optional', z.string().optional()),
  nullable: declare('nullable', z.string().nullable()),
  nullish: declare('nullish', z.string().nullish()),
  readonly: declare('readonly', z.object({ a: z.string() }).readonly()),
  object: declare('object', z.object({ a: z.string(), b: z.object({ c: z.int().optional() }) })),
  strict: declare('strict', z.strictObject({ a: z.string() })),
  loose: declare('loose', z.looseObject({ a: z.string() })),
  catchall: declare('catchall', z.object({ a: z.string() }).catchall(z.string())),
  nullableObject: declare('nullableObject', z.object({ a: z.string() }).nullable()),
  array: declare('array', z.array(z.string())),
  objects: declare('objects', z.array(z.object({ a: z.string() }))),
  arrays: declare('arrays', z.array(z.array(z.int()))),
  tuple: declare('tuple', z.tuple([z.string(), z.int()])),
  record: declare('record', z.record(z.string(), z.int())),
  enumRecord: declare('enumRecord', z.record(z.enum(['a', 'b']), z.int())),
  partialRecord: declare('partialRecord', z.partialRecord(z.enum(['a', 'b']), z.int())),
  objectRecord: declare('objectRecord', z.record(z.string(), z.object({ a: z.int() }))),
  union: declare('union', z.union([z.string(), z.object({ a: z.int() })])),
  listOrObject: declare(
    'listOrObject',
    z.union([z.array(z.object({ a: z.int(), b: z.int() })), z.object({ a: z.int() })]),
  ),
  discriminated: declare('discriminated', Shape),
  intersection: declare(
    'intersection',
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })),
  ),
  any: declare('any', z.any()),
  unknown: declare('unknown', z.unknown()),
  json: declare('json', z.json()),
  optionalJson: declare('optionalJson', z.json().optional()),
  nullableJson: declare('nullableJson', z.json().nullable()),
  jsons: declare('jsons', z.array(z.json())),
  jsonRecord: declare('jsonRecord', z.record(z.string(), z.json())),
  jsonRecords: declare('jsonRecords', z.record(z.string(), z.record(z.string(), z.json()))),
  jsonBeside: declare(
    'jsonBeside',
    z.object({ a: z.json(), b: z.union([z.json(), z.object({ c: z.json() })]) }),
  ),
  tree: declare('tree', Node),
  nested: declare('nested', Nested),
}
const api = defineApi({ collections })
const client = createClient<typeof api>('https://api.example')
const q = createQueries(client)

declare function mutate<Args, Result>(
  mutation: Mutation<Args, Result>,
  variables: NoInfer<Args>,
): Promise<void>

export async function patchAll(text: string): Promise<void> {
  await mutate(q.string.patch, [await client.string.read(1), { v: 'a' }])
  await mutate(q.email.patch, [await client.email.read(1), { v: 'a' }])
  await mutate(q.url.patch, [await client.url.read(1), { v: 'a' }])
  await mutate(q.uuid.patch, [await client.uuid.read(1), { v: 'a' }])
  await mutate(q.date.patch, [await client.date.read(1), { v: 'a' }])
  await mutate(q.datetime.patch, [await client.datetime.read(1), { v: 'a' }])
  await mutate(q.template.patch, [await client.template.read(1), { v: 'a-1' }])
  await mutate(q.number.patch, [await client.number.read(1), { v: 1 }])
  await mutate(q.int.patch, [await client.int.read(1), { v: 1 }])
  await mutate(q.stringbool.patch, [await client.stringbool.read(1), { v: 'true' }])
  await mutate(q.boolean.patch, [await client.boolean.read(1), { v: true }])
  await mutate(q.literal.patch, [await client.literal.read(1), { v: null }])
  await mutate(q.enum.patch, [await client.enum.read(1), { v: 'b' }])
  await mutate(q.brand.patch, [await client.brand.read(1), { v: 'a' }])
  await mutate(q.refined.patch, [await client.refined.read(1), { v: 'a' }])
  await mutate(q.piped.patch, [await client.piped.read(1), { v: 'a' }])
  await mutate(q.defaulted.patch, [await client.defaulted.read(1), { v: 'a' }])
  await mutate(q.prefaulted.patch, [await client.prefaulted.read(1), { v: 'a' }])
  await mutate(q.caught.patch, [await client.caught.read(1), { v: 1 }])
  await mutate(q.optional.patch, [await client.optional.read(1), { v: null }])
  await mutate(q.nullable.patch, [await client.nullable.read(1), { v: null }])
  await mutate(q.nullish.patch, [await client.nullish.read(1), { v: null }])
  await mutate(q.readonly.patch, [await client.readonly.read(1), { v: { a: 'a' } }])
  await mutate(q.object.patch, [await client.object.read(1), { v: { b: { c: null } } }])
  await mutate(q.strict.patch, [await client.strict.read(1), { v: { a: 'a' } }])
  await mutate(q.loose.patch, [await client.loose.read(1), { v: { a: 'a', b: 1 } }])
  await mutate(q.catchall.patch, [await client.catchall.read(1), { v: { b: 'b' } }])
  await mutate(q.nullableObject.patch, [await client.nullableObject.read(1), { v: null }])
  await mutate(q.array.patch, [await client.array.read(1), { v: ['a'] }])
  await mutate(q.objects.patch, [await client.objects.read(1), { v: [{ a: 'a' }] }])
  await mutate(q.arrays.patch, [await client.arrays.read(1), { v: [[1]] }])
  await mutate(q.tuple.patch, [await client.tuple.read(1), { v: ['a', 1] }])
  await mutate(q.record.patch, [await client.record.read(1), { v: { a: null } }])
  await mutate(q.enumRecord.patch, [await client.enumRecord.read(1), { v: { a: 2 } }])
  await mutate(q.partialRecord.patch, [await client.partialRecord.read(1), { v: { a: null } }])
  await mutate(q.objectRecord.patch, [
    await client.objectRecord.read(1),
    { v: { x: { a: 1 }, y: null } },
  ])
  await mutate(q.union.patch, [await client.union.read(1), { v: { a: 1 } }])
  await mutate(q.listOrObject.patch, [await client.listOrObject.read(1), { v: { a: 1 } }])
  await mutate(q.discriminated.patch, [
    await client.discriminated.read(1),
    { v: { kind: 'square', at: [1, 2] } },
  ])
  await mutate(q.intersection.patch, [await client.intersection.read(1), { v: { b: 1 } }])
  await mutate(q.any.patch, [await client.any.read(1), { v: [1] }])
  await mutate(q.unknown.patch, [await client.unknown.read(1), { v: JSON.parse(text) as unknown }])
  await mutate(q.json.patch, [await client.json.read(1), { v: [{ a: 1 }] }])
  await mutate(q.optionalJson.patch, [await client.optionalJson.read(1), { v: null }])
  await mutate(q.nullableJson.patch, [await client.nullableJson.read(1), { v: null }])
  await mutate(q.jsons.patch, [await client.jsons.read(1), { v: [1, { a: [null] }] }])
  await mutate(q.jsonRecord.patch, [
    await client.jsonRecord.read(1),
    { v: { a: { b: [1] }, c: null } },
  ])
  await mutate(q.jsonRecords.patch, [
    await client.jsonRecords.read(1),
    { v: { a: { b: [1], c: null } } },
  ])
  await mutate(q.jsonBeside.patch, [await client.jsonBeside.read(1), { v: { a: 1, b: { c: 2 } } }])
  await mutate(q.tree.patch, [await client.tree.read(1), { v: { next: { next: { name: 'a' } } } }])
  await mutate(q.nested.patch, [await client.nested.read(1), { v: { a: ['b'] } }])
  const item = await client.listOrObject.read(1)
  // @ts-expect-error A patch replaces a list: its objects are whole.
  await client.listOrObject.patch(item, { v: [{ a: 1 }] })
}
