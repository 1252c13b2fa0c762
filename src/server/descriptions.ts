// What describes an api, as it is served: each text is printed once for everybody who sees the same.

import { createHash } from 'node:crypto'
import { takeTurn } from '../base/turns.ts'
import type { Item } from '../base/values.ts'
import { hashTexts } from '../http/conditional.ts'
import { splitList } from '../http/message.ts'
import type {
  ApiDefinition,
  CollectionDefinition,
  VersionDefinition,
} from '../model/types/definition.ts'
import { parseMediaType } from '../negotiate.ts'
import {
  OPENAPI_VERSIONS,
  type OpenApiOptions,
  type OpenApiVersion,
  type PrintedDocument,
  printDocument,
  withServer,
} from '../openapi/document.ts'
import { printGuide } from '../openapi/guide.ts'
import { canAnything } from '../operations/calls/authorize.ts'
import type { RequestContext } from '../operations/calls/context.ts'

/** How many texts of a version are kept. */
const MAX_TEXTS = 16

/** For how long a text is printed before requests are served in between. */
const SLICE_MS = 5

/** A printed text, for each address of the api. */
interface KeptText {
  /** Its entity tag with an address. */
  tag(base: string): string
  print(base: string): string
}

/** A printed document, for pages too. */
interface KeptDocument extends KeptText {
  /** The document as a value; the same one for the same address. */
  read(base: string): Item
}

/** The descriptions of one version, as principals see them. */
export class Descriptions {
  readonly #api: ApiDefinition
  readonly #version: VersionDefinition | undefined
  /** The collections that principals see differently. */
  readonly #differing: readonly CollectionDefinition[]
  readonly #numbers = new Map<CollectionDefinition | undefined, number>()
  readonly #documents = new Kept<KeptDocument>()
  readonly #guides = new Kept<KeptText>()

  /** @param version absent for the root of the api, which describes the default version. */
  constructor(api: ApiDefinition, version: VersionDefinition | undefined) {
    this.#api = api
    this.#version = version
    const { collections } = version ?? api.defaultVersion
    this.#differing = [...collections.values()].filter(
      ({ hideExistence, fieldAccess }) => hideExistence || fieldAccess,
    )
  }

  /** Finds the OpenAPI document for a client. */
  findDocument(
    context: RequestContext,
    { openapi = '3.1', formats }: Pick<OpenApiOptions, 'openapi' | 'formats'> = {},
  ): Promise<KeptDocument> {
    const { key, see } = this.#findViews(context)
    return this.#documents.get(`${key} ${openapi} ${formats?.join() ?? ''}`, async () => {
      const options = { version: this.#version, openapi, formats, see }
      return keepDocument(await printInTurns(printDocument(this.#api, options)))
    })
  }

  /** Finds the guide of the api for a client. */
  findGuide(context: RequestContext): Promise<KeptText> {
    const { key, see } = this.#findViews(context)
    return this.#guides.get(key, async () => {
      const { head, tail } = printGuide(this.#api, { version: this.#version, see })
      return { tag: createTagger(head, tail), print: base => head + base + tail }
    })
  }

  /** The views of the collections that the client sees, and a key that is the same for all who see the same. */
  #findViews(context: RequestContext) {
    context.version = this.#version
    const views = new Map(
      this.#differing.map(collection => {
        const isHidden = collection.hideExistence && !canAnything(context, collection)
        return [collection, isHidden ? undefined : context.view(collection)]
      }),
    )
    const numbers = [...views.values()].map(view => {
      const number = this.#numbers.get(view) ?? this.#numbers.size
      this.#numbers.set(view, number)
      return number
    })
    return {
      key: numbers.join(),
      see: (collection: CollectionDefinition) =>
        views.has(collection) ? views.get(collection) : collection,
    }
  }
}

/** A few texts by their keys: those that were used last. */
class Kept<T> {
  readonly #texts = new Map<string, Promise<T>>()

  /** Returns a text; requests that come while it is printed wait for the same. */
  get(key: string, print: () => Promise<T>): Promise<T> {
    const text = this.#texts.get(key) ?? print()
    this.#texts.delete(key)
    this.#texts.set(key, text)
    text.catch(() => this.#texts.delete(key))
    const [oldest] = this.#texts.keys()
    if (this.#texts.size > MAX_TEXTS && oldest !== undefined) this.#texts.delete(oldest)
    return text
  }
}

/** Prints in slices, between which other requests are served. */
async function printInTurns<T>(printing: Generator<undefined, T>): Promise<T> {
  let step = printing.next()
  for (let began = performance.now(); !step.done; step = printing.next()) {
    if (performance.now() - began < SLICE_MS) continue
    await takeTurn(true)
    began = performance.now()
  }
  return step.value
}

function keepDocument(printed: PrintedDocument): KeptDocument {
  let last: { readonly base: string; readonly document: Item } | undefined
  return {
    tag: createTagger(printed.head, printed.tail),
    print: base => withServer(printed, base),
    read(base) {
      if (last?.base !== base) last = { base, document: JSON.parse(withServer(printed, base)) }
      return last.document
    },
  }
}

function createTagger(...texts: readonly string[]): (base: string) => string {
  // 96 bits of a hash of what is sent.
  const hash = createHash('sha256').update(texts.join()).digest('base64url').slice(0, 16)
  return base => `${hash}.${hashTexts([base])}`
}

export const OPENAPI_TYPE = 'application/vnd.oai.openapi+json'

/** Finds the version of OpenAPI that `Accept` names; `undefined` where it does not name its media type. */
export function findOpenApiVersion(accept = ''): OpenApiVersion | undefined {
  const types = splitList(accept).flatMap(each => parseMediaType(each) ?? [])
  const named = types.filter(({ type }) => type === OPENAPI_TYPE)
  if (named.length === 0) return undefined
  const wanted = named.map(({ parameters }) => parameters.get('version') ?? '')
  return OPENAPI_VERSIONS.find(version => wanted.some(text => text.startsWith(version))) ?? '3.1'
}
