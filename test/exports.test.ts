// The public names of the package. A name that comes or goes shows here; `vitest -u` writes the lists.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isNode, load, type SyntaxNode, sourceFiles } from './source.ts'

const files = sourceFiles()

/** The file of each entry point, by its subpath. */
const ENTRIES: Readonly<Record<string, string>> = {
  '': 'index.ts',
  client: 'client/index.ts',
  'client/batch': 'client/batch.ts',
  'client/files': 'client/files.ts',
  'client/live': 'client/live.ts',
  'client/live-tabs': 'client/live-tabs.ts',
  'client/forms': 'client/forms.ts',
  query: 'client/tanstack-query.ts',
  rules: 'rules/index.ts',
  html: 'html/index.ts',
  dialects: 'dialects/index.ts',
  node: 'node/index.ts',
  sql: 'sql/index.ts',
  s3: 's3/index.ts',
  store: 'store-authors/index.ts',
  testing: 'testing/index.ts',
  types: 'types/index.ts',
}

/** The names a file of src exports, types marked as such. */
function exportedBy(path: string, side: 'exported' | 'local' = 'exported'): string[] {
  const [program] = files.find(file => file.path === path)?.nodes ?? []
  return list(program?.body).flatMap(statement => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers, exportKind } = statement
    const type = (node: SyntaxNode) => exportKind === 'type' || node.exportKind === 'type'
    const named = list(specifiers).map(each => (type(each) ? 'type ' : '') + nameOf(each[side]))
    return [...named, ...declared(declaration).map(name => (type(statement) ? 'type ' : '') + name)]
  })
}

function declared(declaration: unknown): string[] {
  if (!isNode(declaration)) return []
  const { declarations, id } = declaration
  return declarations === undefined ? [nameOf(id)] : list(declarations).map(({ id }) => nameOf(id))
}

function nameOf(node: unknown): string {
  return isNode(node) ? String(node.name) : '(none)'
}

function list(value: unknown): SyntaxNode[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}

test('every entry point of the package is listed here', () => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const entries: Record<string, string | { default: string }> = JSON.parse(text).exports
  const targets = Object.values(entries).map(entry =>
    typeof entry === 'string' ? entry : entry.default,
  )
  expect(targets).toMatchInlineSnapshot(`
    [
      "./dist/index.js",
      "./dist/client/index.js",
      "./dist/client/batch.js",
      "./dist/client/files.js",
      "./dist/client/forms.js",
      "./dist/client/live.js",
      "./dist/client/live-tabs.js",
      "./dist/client/tanstack-query.js",
      "./dist/client/query-batch.js",
      "./dist/rules/index.js",
      "./dist/html/index.js",
      "./dist/dialects/index.js",
      "./dist/node/index.js",
      "./dist/sql/index.js",
      "./dist/s3/index.js",
      "./dist/types/index.js",
      "./dist/store-authors/index.js",
      "./dist/testing/index.js",
      "./package.json",
    ]
  `)
})

test('rest-conventions', async () => {
  expect(await namesOf('index.ts')).toMatchInlineSnapshot(`
    [
      "ConflictError",
      "DEFAULT_FORMATS",
      "HttpError",
      "basic",
      "bearerJwt",
      "blob",
      "csv",
      "defineApi",
      "defineCollection",
      "defineVersion",
      "fileBlobs",
      "form",
      "introspection",
      "json",
      "memoryBlobs",
      "memoryStore",
      "multipart",
      "ndjson",
      "onPoison",
      "onRequest",
      "onResponse",
      "onWork",
      "openApiDocument",
      "sweepBlobs",
      "type Access",
      "type AccessRule",
      "type AnyCollection",
      "type Api",
      "type ApiOptions",
      "type BlobOptions",
      "type BlobRecord",
      "type BlobStore",
      "type BlobValue",
      "type CallOptions",
      "type Callable",
      "type ChallengeParameters",
      "type ChangesOf",
      "type Collection",
      "type CollectionOptions",
      "type Contact",
      "type CorsOptions",
      "type CreateOptions",
      "type DefineCollection",
      "type Dialect",
      "type ErrorType",
      "type Failure",
      "type Fetch",
      "type FieldContext",
      "type FieldRole",
      "type Filters",
      "type Format",
      "type Handler",
      "type HookContext",
      "type Hooks",
      "type HttpRequest",
      "type Id",
      "type Issue",
      "type Item",
      "type ItemOf",
      "type Json",
      "type LeaseEvent",
      "type Limiter",
      "type Limits",
      "type List",
      "type Message",
      "type Messages",
      "type NewOf",
      "type OpenApiOptions",
      "type Operation",
      "type OperationEvent",
      "type OrphanEvent",
      "type OwnerOptions",
      "type Page",
      "type PoisonEvent",
      "type Policies",
      "type Principal",
      "type Query",
      "type RateLimitOptions",
      "type RateLimitPolicy",
      "type ReadContext",
      "type ReferenceOptions",
      "type Representation",
      "type RequestEvent",
      "type Resource",
      "type Resources",
      "type ResponseEvent",
      "type RetryEvent",
      "type RunContext",
      "type Scheme",
      "type SearchOptions",
      "type SlowCountEvent",
      "type Store",
      "type Target",
      "type Transaction",
      "type TransactionOptions",
      "type VersionOptions",
      "type VersionedApi",
      "type WaitEvent",
      "type WorkEvent",
      "type WriteOptions",
      "versionOf",
      "withPrincipal",
      "xml",
    ]
  `)
})

test('rest-conventions/client', async () => {
  expect(await namesOf('client/index.ts')).toMatchInlineSnapshot(`
    [
      "ConflictError",
      "ConnectionError",
      "HttpError",
      "createClient",
      "type ApiVersion",
      "type AuthAttempt",
      "type CallOptions",
      "type Client",
      "type ClientOf",
      "type ClientOptions",
      "type CollectionDescription",
      "type DescribedCollection",
      "type ErrorEntry",
      "type FetchOptions",
      "type List",
      "type Page",
      "type ReceivedResponse",
      "type Remote",
      "type Resource",
      "type SendOptions",
      "type Target",
      "type WriteOptions",
      "versionOf",
    ]
  `)
})

test('rest-conventions/html', async () => {
  expect(await namesOf('html/index.ts')).toMatchInlineSnapshot(`
    [
      "buildPageView",
      "html",
      "type FormAction",
      "type PageLink",
      "type PageRequest",
      "type PageView",
      "type Pages",
    ]
  `)
})

test('rest-conventions/client/batch', async () => {
  expect(await namesOf('client/batch.ts')).toMatchInlineSnapshot(`
    [
      "batch",
      "deleteMany",
      "patchMany",
      "type BatchItems",
      "type BatchOptions",
      "type BatchResource",
      "type BatchStep",
      "type BatchSteps",
      "type StepOptions",
      "upsertMany",
    ]
  `)
})

test('rest-conventions/client/files', async () => {
  expect(await namesOf('client/files.ts')).toMatchInlineSnapshot(`
    [
      "download",
      "exportList",
      "type ExportOptions",
      "type ExportQuery",
      "type ProgressOptions",
      "type UploadProgress",
      "withProgress",
    ]
  `)
})

test('rest-conventions/client/live', async () => {
  expect(await namesOf('client/live.ts')).toMatchInlineSnapshot(`
    [
      "liveQuery",
      "type LiveChange",
      "type LiveQueryOptions",
      "watch",
    ]
  `)
})

test('rest-conventions/client/live-tabs', async () => {
  expect(await namesOf('client/live-tabs.ts')).toMatchInlineSnapshot(`
    [
      "type TabsOptions",
      "watchOverTabs",
    ]
  `)
})

test('rest-conventions/client/forms', async () => {
  expect(await namesOf('client/forms.ts')).toMatchInlineSnapshot(`
    [
      "beginEdit",
      "fieldErrors",
      "type Edit",
      "type FieldErrors",
    ]
  `)
})

test('rest-conventions/query/batch', async () => {
  expect(await namesOf('client/query-batch.ts')).toEqual(['batchMutation'])
})

test('rest-conventions/query', async () => {
  expect(await namesOf('client/tanstack-query.ts')).toMatchInlineSnapshot(`
    [
      "createQueries",
      "type CacheContext",
      "type CachedItem",
      "type CachedPage",
      "type CachedQueryOptions",
      "type CommonQueryOptions",
      "type GroupQueries",
      "type InfiniteOptions",
      "type ItemQuery",
      "type ListQuery",
      "type Mutation",
      "type MutationOptions",
      "type OwnMutationOptions",
      "type OwnQueryOptions",
      "type PatchMutation",
      "type Queries",
      "type QueriesOptions",
      "type QueryCache",
      "type ReadQueries",
      "type ShownPage",
      "type ValueQuery",
      "type WriteMutations",
    ]
  `)
})

test('rest-conventions/rules', async () => {
  expect(await namesOf('rules/index.ts')).toMatchInlineSnapshot(`
    [
      "buildLimits",
      "buildValidator",
      "chooseFormat",
      "chooseReader",
      "comparer",
      "cutTagsToVersions",
      "effectiveMethod",
      "equalsInConstantTime",
      "errorBody",
      "evaluate",
      "fieldsOf",
      "findPage",
      "itemTag",
      "jsonPatch",
      "keyComparer",
      "matcher",
      "mergePatch",
      "pageHeaders",
      "parseByteRange",
      "parseContentRange",
      "parseCursor",
      "parseEntityTags",
      "parseHttpDate",
      "parseLink",
      "parseMediaType",
      "parseParameters",
      "parsePrefer",
      "parseRange",
      "parseSort",
      "parseVersionTag",
      "picker",
      "printBody",
      "printByteContentRange",
      "printChallenge",
      "printContentRange",
      "printCursor",
      "printEntityTag",
      "printEntityTags",
      "printHttpDate",
      "printLink",
      "printParameters",
      "printPreferences",
      "printRange",
      "printSort",
      "problemBody",
      "rangeHolds",
      "readBody",
      "readBytes",
      "readHeaders",
      "readPreconditions",
      "readQuery",
      "readWindow",
      "sortKeyOf",
      "suppressedStatus",
      "type ByteRange",
      "type ChallengeParameters",
      "type ContentRange",
      "type Cursor",
      "type EntityTag",
      "type EntityTags",
      "type Field",
      "type Fields",
      "type Filter",
      "type Found",
      "type LimitOptions",
      "type Limits",
      "type Link",
      "type MediaType",
      "type Negotiated",
      "type Operator",
      "type PageOptions",
      "type Parameter",
      "type ParsedQuery",
      "type Path",
      "type Preconditions",
      "type Preferences",
      "type QueryOptions",
      "type Range",
      "type ReadBodyOptions",
      "type Search",
      "type Selection",
      "type SortKey",
      "type Validator",
      "type Validators",
      "type Verdict",
      "type Window",
      "type WindowOptions",
    ]
  `)
})

test('rest-conventions/dialects', async () => {
  expect(await namesOf('dialects/index.ts')).toMatchInlineSnapshot(`
    [
      "jsonServer",
      "simpleRest",
      "type Dialect",
      "type DialectErrors",
      "type DialectList",
      "type SimpleRestOptions",
    ]
  `)
})

test('rest-conventions/node', async () => {
  expect(await namesOf('node/index.ts')).toMatchInlineSnapshot(`
    [
      "harden",
      "shutDown",
      "type HardenOptions",
      "type ShutDownOptions",
    ]
  `)
})

test('rest-conventions/store', async () => {
  expect(await namesOf('store-authors/index.ts')).toMatchInlineSnapshot(`
    [
      "DiskFullError",
      "KeptError",
      "ReadOnlyError",
      "ReferenceConflictError",
      "RefusedError",
      "TooCostlyError",
      "UnavailableError",
      "UniqueError",
      "UniqueValues",
      "UnknownOutcomeError",
      "UnstorableError",
      "areCreations",
      "areUpdates",
      "assemble",
      "buildAnswer",
      "chosenId",
      "comparer",
      "countGroups",
      "createVersion",
      "foldText",
      "keyComparer",
      "matcher",
      "mergeShapes",
      "nextId",
      "nextUuid",
      "oneByOne",
      "parseLike",
      "scanStore",
      "searchWords",
      "sortKeyOf",
      "throwIfAborted",
      "toConjunction",
      "toPage",
      "type Aggregate",
      "type Changes",
      "type Creation",
      "type DatePart",
      "type Deletion",
      "type EachLimit",
      "type Field",
      "type Fields",
      "type Filter",
      "type FilterLeaf",
      "type Group",
      "type GroupKey",
      "type Grouping",
      "type Id",
      "type IdempotencyRecord",
      "type Identity",
      "type Item",
      "type ItemCalls",
      "type ItemPlace",
      "type ItemVersion",
      "type Json",
      "type KeySlice",
      "type ListOptions",
      "type Operator",
      "type Path",
      "type PositionSlice",
      "type Rows",
      "type Search",
      "type Selection",
      "type Shape",
      "type Slice",
      "type SortKey",
      "type Store",
      "type StoreFacts",
      "type StoreOptions",
      "type StorePage",
      "type StoreWriteOptions",
      "type Stored",
      "type TotalMode",
      "type Update",
      "writeRows",
    ]
  `)
})

test('rest-conventions/sql', async () => {
  expect(await namesOf('sql/index.ts')).toMatchInlineSnapshot(`
    [
      "alterTableSql",
      "createTableSql",
      "createTablesSql",
      "nodeSqlite",
      "preparePostgres",
      "prepareSqlite",
      "reuseStatements",
      "sqlStore",
      "type ColumnOptions",
      "type DatabaseName",
      "type KyselyStore",
      "type NodeSqliteDatabase",
      "type PostgresClient",
      "type PostgresPool",
      "type PreparePostgresOptions",
      "type SqlStoreOptions",
      "type TableMappingOptions",
    ]
  `)
})

test('rest-conventions/s3', async () => {
  expect(await namesOf('s3/index.ts')).toMatchInlineSnapshot(`
    [
      "s3Blobs",
      "type S3BlobOptions",
    ]
  `)
})

test('rest-conventions/types', async () => {
  expect(await namesOf('types/index.ts')).toMatchInlineSnapshot(`
    [
      "type ActionsOf",
      "type AnyPrincipal",
      "type BasePrincipal",
      "type Bounds",
      "type CreateOptions",
      "type Def",
      "type DefChanges",
      "type DefInput",
      "type DefItem",
      "type DefMerge",
      "type DefStored",
      "type Head",
      "type IncludeOf",
      "type Included",
      "type Made",
      "type ManyOptions",
      "type Matching",
      "type NoBlobs",
      "type None",
      "type OperationsOf",
      "type ReadOptions",
      "type RelatedItem",
      "type RelatedQuery",
      "type ResourceOf",
      "type Rest",
      "type Selected",
      "type ServerFields",
      "type UnknownDef",
      "type UpsertManyOptions",
      "type Where",
      "type WholeQuery",
    ]
  `)
})

test('rest-conventions/testing', async () => {
  expect(await namesOf('testing/index.ts')).toMatchInlineSnapshot(`
    [
      "storeCases",
      "type StoreCase",
    ]
  `)
})

/** @returns the names in order; what a program can import at run time is checked against them. */
async function namesOf(path: string): Promise<string[]> {
  const names = exportedBy(path).sort()
  const values = names.filter(name => !name.startsWith('type '))
  expect(Object.keys(await load(path)).sort()).toEqual(values)
  return names
}

test('every exported name has a docstring', () => {
  const names = Object.values(ENTRIES).flatMap(path =>
    exportedBy(path, 'local').map(name => name.replace('type ', '')),
  )
  const declaration = (name: string) =>
    new RegExp(`^export (?:async )?(?:function\\*?|class|interface|type|const) ${name}\\b`, 'm')
  const bare = [...new Set(names)].filter(
    name =>
      !files.some(({ text }) => {
        const at = text.search(declaration(name))
        return at !== -1 && /\*\/\n(?:\/\/ .*\n)*$/.test(text.slice(0, at))
      }),
  )
  expect(bare).toEqual([])
})
