import type { Scheme } from '../src/index.ts'

/** Authenticates `Test ann read write` as ann with two scopes. */
export const scopedScheme: Scheme = {
  name: 'Test',
  challenge: () => 'Test',
  authenticate: async ({ headers }) => {
    const [, id, ...scopes] = headers.authorization?.split(' ') ?? []
    return id === undefined ? undefined : { id, scopes }
  },
}
