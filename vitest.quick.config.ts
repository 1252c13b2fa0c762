// The tests of `npm run test:quick`, under a minute on two cores: the rules, the formats, the specification, and
// each subject in process, on stores in memory and SQLite. `npm test` adds browsers, processes, sockets, PostgreSQL,
// Redis, the packed package, other runtimes, and the large tables of hostile and random requests.
import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

const SUBJECTS =
  'actions architecture calls errors exports field-roles hooks idempotency messages options owners patch validate'

export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({
    test: {
      // None of these tests starts a process or waits for a time: they may share the cores.
      maxWorkers: '100%',
      include: [
        'test/{rules,formats,spec}/*.test.ts',
        `test/{${SUBJECTS.replaceAll(' ', ',')}}.test.ts`,
        'test/stores/{contract,memory,shapes}.test.ts',
        'test/html/{forms,markup,parents}.test.ts',
      ],
      exclude: ['test/spec/{described,openapi-document}.test.ts'],
    },
  }),
)
