// The reference of each subpath of the package, by its docstrings.
import { readFileSync } from 'node:fs'
import { Converter, ReflectionKind } from 'typedoc'

const ROOT = '../..'
const { name, exports } = JSON.parse(
  readFileSync(new URL(`${ROOT}/package.json`, import.meta.url), 'utf8'),
)
/** The source of each subpath, by its name: `rest-conventions/store`. */
const sources = Object.entries(exports).flatMap(([path, { types }]) =>
  types ? [[name + path.slice(1), types.replace('./dist/', 'src/').replace('.d.ts', '.ts')]] : [],
)

/** Names each module as it is imported. */
function nameModules(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
      const [{ fileName } = {}] = module.sources ?? []
      const [subpath = module.name] = sources.find(([, source]) => source === fileName) ?? []
      module.name = subpath
    }
  })
}

export default {
  name,
  entryPoints: sources.map(([, source]) => `${ROOT}/${source}`),
  tsconfig: 'tsconfig.json',
  out: `${ROOT}/reference`,
  plugin: [nameModules],
  readme: 'none',
  sourceLinkTemplate:
    'https://github.com/rest-conventions/rest-conventions/blob/main/{path}#L{line}',
  disableGit: true,
  gitRevision: 'main',
  basePath: ROOT,
  excludePrivate: true,
  validation: { notExported: false },
  skipErrorChecking: true,
  // A link that leads nowhere fails the build.
  treatValidationWarningsAsErrors: true,
}
