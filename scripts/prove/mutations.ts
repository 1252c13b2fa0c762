// How to break what each row of docs/conformance.md says, by the name of the row.

/** A place in the source, and what breaks it. */
export interface Mutation {
  readonly file: string
  /** It occurs once in the file. */
  readonly text: string
  readonly replacement: string
}

/** Breaks several places of one file, each alone. */
function breaking(
  file: string,
  ...places: readonly (readonly [text: string, replacement: string])[]
): readonly Mutation[] {
  return places.map(([text, replacement]) => ({ file, text, replacement }))
}

const RESULTS = 'src/operations/writes/results.ts'
const OVERRIDE = 'src/http/method-override.ts'
const CONDITIONAL = 'src/http/conditional.ts'
const FILTERS = 'src/query/filters.ts'
const BOUNDS = 'src/query/list-parameters.ts'
const PAGES = 'src/pagination.ts'
const LIST = 'src/operations/reads/list.ts'
const ROLES = 'src/operations/writes/enforce-field-roles.ts'
const ENDPOINT = 'src/server/endpoint.ts'
const RESPOND = 'src/server/respond.ts'

export const MUTATIONS: Readonly<Record<string, readonly Mutation[]>> = {
  root: breaking('src/operations/reads/root.ts', [
    "url: context.href({ kind: 'root', version }), resources }",
    "url: context.href({ kind: 'root', version }), resources: {} }",
  ]),
  list: [
    ...breaking(
      'src/collection.ts',
      ['const { maxLimit = 100,', 'const { maxLimit = 1000,'],
      ['Math.min(25, maxLimit)', 'Math.min(24, maxLimit)'],
    ),
    ...breaking(PAGES, ['?? defaultLimit, maxLimit)', '?? defaultLimit, Infinity)']),
  ],
  count: breaking(LIST, [
    'const selection = await prepareQuery(context, query)',
    'const selection = { ...query, where: [] }',
  ]),
  create: breaking(
    RESULTS,
    ["const headers: HeaderList = ['Location', location]", 'const headers: HeaderList = []'],
    ['status: 201,', 'status: 200,'],
  ),
  PUT: [
    ...breaking(RESULTS, [
      "status: 303, headers: ['Location', context.hrefAsRequested(item)]",
      "status: 302, headers: ['Location', context.hrefAsRequested(item)]",
    ]),
    ...breaking('src/operations/writes/input.ts', [
      'validator.replace(write.own, write.candidate)',
      'validator.replace(write.own, { ...write.own, ...write.candidate })',
    ]),
  ],
  PATCH: [
    ...breaking('src/operations/writes/input.ts', [
      'if (!sameJson(values, own)) return undefined',
      'if (own) return undefined',
    ]),
    ...breaking('src/operations/writes/input.ts', [
      'if (type === JSON_PATCH_TYPE) {',
      'if (type === undefined) {',
    ]),
    ...breaking('src/formats/patch.ts', [
      'else merged[name] = mergePatch(getProperty(merged, name), value)',
      'else merged[name] = value',
    ]),
  ],
  DELETE: breaking(RESULTS, [
    'representation: minimal ? undefined : await representChanged(context, stored),\n    vary',
    'representation: undefined,\n    vary',
  ]),
  'PUT and PATCH with `If-Match`, `If-Unmodified-Since` or `X-HTTP-Method-Override`, or of an item that the principal may not read':
    breaking(
      OVERRIDE,
      ["(ifMatch !== undefined && ifMatch.trim() !== '*') ||", ''],
      ["headers['if-unmodified-since'] !== undefined ||", ''],
      ['headers[METHOD_HEADER] !== undefined\n  )', 'false\n  )'],
    ),
  '`Prefer: return=…`': breaking(RESULTS, ['if (preferred) return preferred', '']),
  HEAD: breaking(LIST, [
    "if (context.method === 'HEAD' && !ifMatch",
    "if (context.method === '' && !ifMatch",
  ]),
  OPTIONS: [
    ...breaking(
      'src/openapi/path-item.ts',
      ["[...methods.keys(), 'OPTIONS']", '[...methods.keys()]'],
      [", 'Access-Control-Allow-Methods', allowed]", ']'],
    ),
    ...breaking(ENDPOINT, ['...Object.fromEntries(visible), ', '']),
  ],
  'what OPTIONS describes': breaking('src/openapi/errors.ts', [
    "default: refer('OtherError', OTHER) }",
    '}',
  ]),
  'OPTIONS and principals': [
    ...breaking(ENDPOINT, ['!route.methods.has(method) || methods.has(method)', 'true']),
    ...breaking('src/operations/calls/authorize.ts', [
      'return new Map([...methods].filter(([, operation]) => context.can(collection, operation)))',
      'return methods',
    ]),
  ],
  'the OpenAPI document': breaking(
    'src/openapi/document.ts',
    ['collectionsOf(target).every(see)', 'true'],
    ["collection && route.pattern.includes('/:id')", 'false'],
  ),
  'sub-collections': [
    ...breaking('src/operations/calls/items.ts', [
      'return [below, ...(rows?.where ?? [])]',
      'return rows?.where ?? []',
    ]),
    ...breaking('src/operations/writes/check-references.ts', [
      'return { ...values, [parent.field]: parent.id }',
      'return values',
    ]),
  ],
  relations: [
    ...breaking('src/store/unique-values.ts', [
      'return key === undefined ? undefined : this.#owners.get(key)',
      'return undefined',
    ]),
    ...breaking('src/operations/calls/items.ts', [
      'return [below, ...(rows?.where ?? [])]',
      'return rows?.where ?? []',
    ]),
  ],
  'field roles': breaking(
    ROLES,
    [
      'return call.inProcess ? candidate : restore(candidate, current.item, names)',
      'return candidate',
    ],
    ['compute?.({ principal }) ?? empty', 'empty'],
  ),
  'field rules by scope': [
    ...breaking(
      'src/model/compile/compile-views.ts',
      ['hidden: new Set([...whole.hidden, ...unreadable])', 'hidden: whole.hidden'],
      ['validator: buildValidator(schema, unknown)', 'validator: whole.validator'],
    ),
    ...breaking('src/operations/writes/input.ts', [
      'return withBodyIssues(issues, () => runSteps(steps, write))\n}\n\nasync',
      'return runSteps(steps, write)\n}\n\nasync',
    ]),
  ],
  'JSON Patch with write-only properties': breaking('src/formats/patch.ts', [
    "if (text === '' && writeOnly.size > 0)",
    'if (writeOnly.size < 0)',
  ]),
  owners: [
    ...breaking(ROLES, ['if (owner && !inProcess) requirePrincipal(call)', '']),
    ...breaking('src/operations/calls/authorize.ts', [
      'return owns || except.some',
      'return true || except.some',
    ]),
  ],
  'deletion of a parent': [
    ...breaking('src/operations/writes/find-doomed.ts', [
      'if (!node)\n        throw referenced(call, roots.length > 1 ? item[field] : undefined, parent, { child, item })',
      'if (!node) continue',
    ]),
    ...breaking('src/model/compile/link-references.ts', [
      "onDelete = 'restrict'",
      "onDelete = 'cascade'",
    ]),
  ],
  'an action that returns an item of the collection': breaking(
    'src/operations/programs/actions.ts',
    ['if (known) return { stored: known }', ''],
  ),
  actions: breaking(
    'src/operations/programs/actions.ts',
    ['if (data === undefined) return buildEmptyResult(context)', ''],
    [
      "status: 200,\n    headers: [],\n    representation: { kind: 'document'",
      "status: 201,\n    headers: [],\n    representation: { kind: 'document'",
    ],
  ),
  '`_method`': breaking(
    OVERRIDE,
    ["new Set(['PUT', 'PATCH', 'DELETE'])", "new Set(['PUT', 'PATCH', 'DELETE', 'LOCK'])"],
    ['return name\n}', 'return method\n}'],
  ),
  '`fields`': breaking('src/base/paths.ts', [
    'else if (isObject(value)) picked[name] = pickExact(value, pick)',
    'else picked[name] = value',
  ]),
  filters: [
    ...breaking(FILTERS, [
      "operator === 'exists' ? EXISTS : field",
      "operator === 'in' ? EXISTS : field",
    ]),
    ...breaking(FILTERS, [
      'values.push(...found)',
      'values.push(...(field.kind === "number" ? [] : found))',
    ]),
  ],
  'unescaped characters': breaking('src/http/parameters.ts', [
    "const equals = raw.indexOf('=')",
    "const equals = raw.lastIndexOf('=')",
  ]),
  '`sort`': breaking('src/store/selection.ts', [
    'keys.set(name, { path: [name], descending })',
    'keys.set(name, { path: [name], descending: false })',
  ]),
  '`since`, `until`': [
    ...breaking(BOUNDS, [
      "since: { effect: 'bounds', value: 'time', operator: 'gte'",
      "since: { effect: 'bounds', value: 'time', operator: 'gt'",
    ]),
    ...breaking(FILTERS, ["if (name !== 'until' || !isDate(text))", 'if (name)']),
  ],
  '`since_id`, `max_id`': breaking(
    BOUNDS,
    [
      "since_id: { effect: 'bounds', value: 'id', operator: 'gt'",
      "since_id: { effect: 'bounds', value: 'id', operator: 'gte'",
    ],
    [
      "max_id: { effect: 'bounds', value: 'id', operator: 'lte'",
      "max_id: { effect: 'bounds', value: 'id', operator: 'lt'",
    ],
  ),
  'ids that are UUIDs, and references to them': breaking(FILTERS, [
    'pattern || isUuid(text) ? [text.toLowerCase()] : []',
    'pattern || isUuid(text) ? [text] : []',
  ]),
  '`Link`': breaking(
    PAGES,
    ['const MAX_CURSOR = 1024', 'const MAX_CURSOR = 0'],
    ['return text.length > MAX_CURSOR ? undefined', 'return text.length < 0 ? undefined'],
  ),
  '`Range`': [
    ...breaking(LIST, [
      'isRanged(method) && preconditions.ifRange === undefined',
      'isRanged(method)',
    ]),
    ...breaking(
      'src/operations/reads/page.ts',
      [
        "window.by === 'range' && items.length === 0 && window.offset > 0",
        "window.by === 'range' && items.length === 0",
      ],
      ['items.length !== total ? 206 : 200', 'items.length !== total ? 200 : 200'],
    ),
  ],
  'walking back by offset': breaking(PAGES, [
    'else if (end > 0 && end < limit)',
    'else if (end < 0)',
  ]),
  totals: breaking(LIST, ['preferences.count ?? target.collection.total', "'exact'"]),
  '`ETag`': breaking(
    CONDITIONAL,
    ['tags.map(({ weak, opaque }) => ({ weak, opaque: parseVersionTag(opaque) }))', 'tags'],
    [`return \`\${version}.\${variant}\``, 'return version'],
  ),
  '`Last-Modified`': breaking('src/operations/calls/represent.ts', [
    'updatedAt + WITHHELD_MS <= Date.now() ? updatedAt : undefined',
    'updatedAt',
  ]),
  'conditional requests': breaking(
    CONDITIONAL,
    ["const hasTags = headers['if-none-match'] !== undefined", 'const hasTags = false'],
    ["if (!matches(ifMatch, current, true)) return 'failed'", ''],
  ),
  'one winner': breaking('src/store/writes.ts', [
    'if (row?.version !== version) return undefined',
    'if (!row) return undefined',
  ]),
  '`Idempotency-Key`': breaking(
    'src/operations/writes/idempotency-key.ts',
    ["if (record.state !== 'new')", "if (record.state === 'running')"],
    ['if (record.fingerprint !== fingerprint)', "if (record.fingerprint === '')"],
    ["if (record.state === 'running') {", 'if (record.fingerprint === "") {'],
  ),
  'data formats': breaking('src/negotiate.ts', [
    'if (extension !== undefined)\n',
    "if (extension !== undefined && accept === '')\n",
  ]),
  'the format of a body': breaking('src/negotiate.ts', [
    'if (!content) {',
    'if (!content || extension) {',
  ]),
  authentication: [
    ...breaking('src/operations/calls/authorize.ts', [
      "if (!needed || needed === 'public' || unmet.includes(undefined)) return",
      "if (principal || !needed || needed === 'public') return",
    ]),
    ...breaking(ENDPOINT, [
      "api.schemes.length > 0 && step(authorizeFor(operation), 401, 403, 404),\n      isLiveList(target, method) && compileFollow(api),\n      target.kind !== 'blob' && step(negotiateFormat, 406),\n      target.kind !== 'root' && readsBody(method) && timed(api, 'body', readBodyOf(method)),",
      "isLiveList(target, method) && compileFollow(api),\n      target.kind !== 'blob' && step(negotiateFormat, 406),\n      target.kind !== 'root' && readsBody(method) && timed(api, 'body', readBodyOf(method)),\n      api.schemes.length > 0 && step(authorizeFor(operation), 401, 403, 404),",
    ]),
  ],
  limits: [
    ...breaking(FILTERS, ['if (parts.length > limits.values)', 'if (parts.length < 0)']),
    ...breaking('src/query.ts', ['if (keys.length > limits.sortKeys)', 'if (keys.length < 0)']),
  ],
  '`X-RateLimit-*`': breaking('src/auth/count-against-limits.ts', [
    "reset === 'iso' ?",
    "reset === 'epoch' ?",
  ]),
  'names of fields': breaking('src/schema/blob-forms.ts', [
    `return { [\`\${name}_url\`]: record && url`,
    `return { [\`\${name}_link\`]: record && url`,
  ]),
  '`suppress_error_codes` with a byte range': breaking('src/operations/reads/read.ts', [
    '    !suppressed &&\n',
    '',
  ]),
  'addresses in answers': breaking('src/operations/calls/context.ts', [
    `return this.extension === undefined ? href : \`\${href}.\${this.extension}\``,
    'return href',
  ]),
  XML: breaking('src/formats/xml/writer.ts', [
    `const start = needsType(value, type, shape) ? \`\${open} type="\${type}">\` : plain`,
    'const start = plain',
  ]),
  multipart: breaking(
    'src/formats/multipart/part.ts',
    ['if (JSON_TYPE.test(type)) {', 'if (type === JSON_TYPE.source) {'],
    ['if (!xml.types.includes(type)) return undefined', 'return undefined'],
  ),
  'binary properties': breaking('src/schema/blob-forms.ts', [
    `...parseInput('data', \`\${name}_data\`, getProperty(body, \`\${name}_data\`)),`,
    '',
  ]),
  errors: breaking('src/errors.ts', [
    'throw new HttpError(status, issues.slice(0, MAX_ISSUES))',
    'throw new HttpError(status, issues.slice(0, 1))',
  ]),
  'status codes': [
    ...breaking(CONDITIONAL, [
      "return new HttpError(412, [{ message, type: 'precondition_failed' }])",
      "return new HttpError(409, [{ message, type: 'precondition_failed' }])",
    ]),
    ...breaking('src/negotiate.ts', [
      "return new HttpError(406, [{ message, field: 'accept'",
      "return new HttpError(400, [{ message, field: 'accept'",
    ]),
  ],
  '`suppress_error_codes`': [
    ...breaking(OVERRIDE, ['return status >= 500 ? 500 : 200', 'return status']),
    ...breaking(RESULTS, ["if (suppressed) return 'representation'", '']),
  ],
  versions: breaking(
    RESPOND,
    ["headers.push('Deprecation'", "headers.push('X-Deprecation'"],
    ["headers.push('Sunset'", "headers.push('X-Sunset'"],
    ["rel: 'successor-version'", "rel: 'successor'"],
  ),
  '`X-Request-Id`': breaking(RESPOND, [
    "if (knownId !== undefined) headers.push('X-Request-Id', knownId)",
    '',
  ]),
  addresses: breaking(
    'src/http/base-url.ts',
    ['trustProxy ? forwardedHost(request) : undefined', 'forwardedHost(request)'],
    ['if (baseUrl !== undefined) return baseUrl', ''],
  ),
}
