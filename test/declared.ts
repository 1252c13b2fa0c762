// Declarations of one collection, each with something that its description must say.
import { z } from 'zod'
import { blob, memoryBlobs, memoryStore } from '../src/index.ts'
import { defineUntyped, type Untyped } from './untyped.ts'

/** The options of the collection. */
export type Declared = Omit<Untyped, 'name' | 'store'>

/** One collection, `things`. */
export function thingsOf(declared: Declared) {
  return defineUntyped({ name: 'things', store: memoryStore(), ...declared })
}

const Address = z
  .object({ street: z.string(), city: z.string().optional() })
  .meta({ id: 'Address' })

interface Tree {
  name: string
  branches?: Tree[] | undefined
}
const Tree: z.ZodType<Tree> = z.lazy(() =>
  z.object({ name: z.string(), branches: z.array(Tree).optional() }),
)

const Circle = z.object({ kind: z.literal('circle'), radius: z.number().positive().default(2) })
const Square = z.object({
  kind: z.literal('square'),
  side: z.number(),
  note: z.string().optional(),
})
const photo = () => blob({ accept: ['image/*'] })

/** A collection for each kind of schema and option that its description depends on. */
export const DECLARED: Readonly<Record<string, Declared>> = {
  plain: {
    schema: z.object({
      name: z.string(),
      born: z.iso.date().optional(),
      seen_at: z.iso.datetime().nullable().default(null),
      tags: z.array(z.enum(['a', 'b'])).default([]),
      sizes: z.record(z.string(), z.number()).optional(),
      sold: z.boolean().default(false),
    }),
    search: ['name'],
  },
  'records of known keys': {
    schema: z.object({
      maybe: z.record(z.enum(['a', 'b']), z.number().optional()),
      always: z.record(z.enum(['a', 'b']), z.number()),
      filled: z.record(z.enum(['a', 'b']), z.number().default(1)),
    }),
  },
  tuples: {
    schema: z.object({
      place: z.tuple([z.number(), z.number()]),
      words: z.tuple([z.string()], z.number()).optional(),
    }),
  },
  'whole numbers as ids': { schema: z.object({ name: z.string() }), id: 'integer' },
  'another name of the id': { schema: z.object({ name: z.string() }), idField: 'identifier' },
  'no dates': { schema: z.object({ name: z.string() }), timestamps: false },
  'ids chosen by clients': { schema: z.object({ id: z.string(), name: z.string() }) },
  'a PUT that creates': {
    schema: z.object({ id: z.string(), name: z.string() }),
    putCreates: true,
  },
  strict: { schema: z.strictObject({ name: z.string() }) },
  open: { schema: z.looseObject({ name: z.string() }) },
  'fields called like parameters': {
    schema: z.object({ limit: z.int(), sort: z.string(), fields: z.string(), q: z.string() }),
    search: ['q'],
  },
  'a union': { schema: z.discriminatedUnion('kind', [Circle, Square]) },
  'a union of unions': {
    schema: z.discriminatedUnion('kind', [
      z.discriminatedUnion('kind', [Circle, Square]),
      z.strictObject({ kind: z.literal('point'), name: z.string() }),
    ]),
  },
  'members that are called by an id': {
    schema: z.object({ home: Address, work: Address.optional() }).meta({ id: 'Person' }),
  },
  'members of which more is known than JSON can hold': {
    schema: z.object({
      name: z.string().meta({ title: 'Name', step: 5n, drawn: () => 'input' }),
    }),
  },
  'properties that are cleaned or coerced': {
    schema: z.strictObject({
      length: z.coerce.number<string>(),
      seen: z.boolean().default(false),
      name: z.object({ first: z.string().trim() }),
    }),
  },
  'recursive members': {
    schema: z.object({ tree: Tree, json: z.json().optional(), other: z.json().optional() }),
  },
  'a recursive schema': { schema: Tree },
  'a union with a recursive option': {
    schema: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('leaf'), leaf: z.string() }),
      z.object({ kind: z.literal('tree'), tree: Tree }),
    ]),
  },
  'files, flat': {
    schema: z.object({
      comment: z.string(),
      photo: photo(),
      thumb: photo().nullable().default(null),
      other: blob().optional(),
      third: photo().nullable(),
    }),
    blobs: memoryBlobs(),
  },
  'files as objects': {
    schema: z.strictObject({
      comment: z.string(),
      photo: photo(),
      thumb: photo().nullable().default(null),
      other: blob({ inlineBelow: 10_000 }).optional(),
      third: photo().nullable(),
    }),
    blobs: memoryBlobs(),
    binary: 'object',
  },
  'files given inline': {
    schema: z.object({ photo: blob({ inlineBelow: 10_000 }) }),
    blobs: memoryBlobs(),
  },
  'files of an option': {
    schema: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), photo: photo() }),
      z.object({ kind: z.literal('b') }),
    ]),
    blobs: memoryBlobs(),
  },
}
