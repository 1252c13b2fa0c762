// The table of error types: the page made of it, and that each type is used.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { printErrorsPage } from '../scripts/errors-page.ts'
import { ERROR_TYPES } from '../src/errors.ts'
import { HttpError } from '../src/index.ts'
import { sourceFiles } from './source.ts'

const types = Object.values(ERROR_TYPES).flatMap(rows => Object.keys(rows))

test('docs/errors.md is made of the table; npm run docs:errors writes it', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
  expect(printErrorsPage(page)).toBe(page)
})

test('the types of a status stand in alphabetical order', () => {
  for (const rows of Object.values(ERROR_TYPES)) {
    expect(Object.keys(rows)).toEqual(Object.keys(rows).sort())
  }
})

/** The codes of zod's issues are types as they are. */
const ZOD_CODES: readonly Exclude<z.core.$ZodIssue['code'], 'unrecognized_keys'>[] = [
  'custom',
  'invalid_element',
  'invalid_format',
  'invalid_key',
  'invalid_type',
  'invalid_union',
  'invalid_value',
  'not_multiple_of',
  'too_big',
  'too_small',
]

test('each type of the table is used', () => {
  const used = new Set<unknown>(
    sourceFiles()
      .filter(({ path }) => path !== 'errors.ts')
      .flatMap(({ nodes }) => nodes.filter(({ type }) => type === 'Literal'))
      .map(({ value }) => value),
  )
  for (const code of ZOD_CODES) used.add(code)
  const unused = types.filter(
    type => !used.has(type) && !['internal', 'incomplete_body'].includes(type),
  )
  expect(unused).toEqual([])
  expect(types.length).toBeGreaterThan(90)
})

test('a program may report its own types', () => {
  const error = new HttpError(409, [{ message: 'The car is sold', type: 'sold' }])
  expect(error.errors).toEqual([{ message: 'The car is sold', type: 'sold', code: 409 }])
})

test('a message that two fields share stands once in the message of the error', () => {
  const issues = ['brand', 'name'].map(field => ({ field, message: 'Another item has both' }))
  expect(new HttpError(409, issues).message).toBe('Another item has both')
})
