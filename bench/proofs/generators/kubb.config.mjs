// What kubb makes of each document.
import { defineConfig } from '@kubb/core'
import { pluginClient } from '@kubb/plugin-client'
import { pluginOas } from '@kubb/plugin-oas'
import { pluginReactQuery } from '@kubb/plugin-react-query'
import { pluginTs } from '@kubb/plugin-ts'

export default ['cars', 'odd'].map(name =>
  defineConfig({
    name,
    root: '.',
    input: { path: `./${name}.json` },
    output: { path: `./kubb/${name}`, format: false, lint: false },
    plugins: [
      pluginOas({ generators: [] }),
      pluginTs(),
      pluginClient({ client: 'fetch' }),
      pluginReactQuery({ client: { client: 'fetch' } }),
    ],
  }),
)
