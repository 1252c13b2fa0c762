// What RTK Query's generator makes of each document.
module.exports = {
  apiFile: './rtk-base.ts',
  apiImport: 'empty',
  schemaFile: './cars.json',
  hooks: false,
  outputFiles: Object.fromEntries(
    ['cars', 'odd'].map(name => [
      `./rtk/${name}.ts`,
      { schemaFile: `./${name}-whole.json`, exportName: `${name}Api` },
    ]),
  ),
}
