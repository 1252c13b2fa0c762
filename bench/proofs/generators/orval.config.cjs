// What orval makes of each document.
const CLIENTS = { fetch: 'fetch', query: 'react-query', zod: 'zod' }
const targets = ['cars', 'odd'].flatMap(name =>
  Object.entries(CLIENTS).map(([file, client]) => {
    const output = {
      target: `./orval/${name}/${file}.ts`,
      client,
      mode: 'single',
      httpClient: 'fetch',
    }
    return [`${name}_${file}`, { input: `./${name}.json`, output }]
  }),
)
module.exports = Object.fromEntries(targets)
