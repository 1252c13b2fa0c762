// MariaDB is no longer supported; the tests that still name it are removed with the next step.
import type { CompiledQuery, Kysely } from 'kysely'

export const noMariadb = true

export function useMariadb(): void {}

export function openMariadb(
  _options?: Readonly<Record<string, unknown>>,
  _onStatement?: (statement: CompiledQuery) => void,
): Kysely<unknown> {
  throw new Error('MariaDB is no longer supported')
}
