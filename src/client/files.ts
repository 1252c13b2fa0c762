// The entry point `rest-conventions/client/files`: uploads with progress, downloads and exports, with the token of a client.
import type { Def } from '../model/types/collection-types.ts'
import type { RelatedQuery } from '../model/types/related.ts'
import type { ByClient, CallOptions } from '../model/types/resource.ts'
import type { ClientOf } from './client.ts'
import { notAnAnswer } from './errors.ts'
import type { FetchOptions } from './fetch-reply.ts'
import { stateOf } from './place.ts'
import { printQuery } from './query-string.ts'
import { receive } from './receive.ts'
import { createResources } from './resource.ts'

/** How far an upload is. */
export interface UploadProgress {
  /** Bytes that were sent; 0 again if a retry begins. */
  readonly loaded: number
  /** Bytes of the body. */
  readonly total: number
}

/** Options of {@link withProgress}. */
export interface ProgressOptions {
  /**
   * Whether a browser sends cookies to another origin. Such an upload does not use the `fetch` of the client. Default
   * `same-origin`: no.
   */
  readonly credentials?: 'same-origin' | 'include'
}

/**
 * Gives the client whose writes with files report their progress. Its other requests are as before: it shares the token, the
 * retries and the cache. In browsers it sends files by `XMLHttpRequest`, because `fetch` has no progress there.
 * @param onProgress is called several times for each attempt.
 * @example
 * import { blob, defineApi, defineCollection, memoryBlobs, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { withProgress } from 'rest-conventions/client/files'
 * import { z } from 'zod'
 * const photos = defineCollection({
 *   name: 'photos', schema: z.object({ photo: blob() }), store: memoryStore(), blobs: memoryBlobs(),
 * })
 * const api = defineApi({ collections: { photos } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const uploads = withProgress(client, ({ loaded, total }) => console.log(`${Math.round((100 * loaded) / total)} %`))
 * await uploads.photos.create({ photo: new Blob(['Hello']) })
 */
export function withProgress<C extends object>(
  client: C,
  onProgress: (progress: UploadProgress) => void,
  { credentials }: ProgressOptions = {},
): C {
  const state = stateOf(client, 'withProgress')
  const upload = browser.XMLHttpRequest ? sendByRequest : sendStream
  const through: Transport = (url, init) =>
    upload(url, { ...init, ...(credentials && { credentials }) }, onProgress, state.fetch)
  return createResources({
    ...state,
    send: (method, path, details) =>
      state.send(method, path, {
        ...details,
        ...(details?.body instanceof FormData && { through }),
      }),
  })
}

/**
 * Reads a file, or anything else of the api that is no JSON, with the token of the client. Like any read it is sent again if
 * there is no response, until the content begins.
 * @param url of the api: `photo.photo_url`.
 * @param options with a `signal`, which ends the content too, and `headers`, such as `Range`.
 * @returns the response, once its head is there: `await response.blob()` gives the content, `response.body` streams it.
 * @throws TypeError for the URL of another server, which would get the token; HttpError, ConnectionError.
 * @example
 * import { createClient } from 'rest-conventions/client'
 * import { download } from 'rest-conventions/client/files'
 * const client = createClient('https://api.example', { auth: 'Bearer secret' })
 * const show = async (photo: { photo_url: string }) =>
 *   URL.createObjectURL(await (await download(client, photo.photo_url)).blob())
 */
export async function download(
  client: object,
  url: string,
  options: CallOptions = {},
): Promise<Response> {
  const state = stateOf(client, 'download')
  const root = new URL(`${state.url}/`, browser.location?.href).href
  if (!url.startsWith(root))
    throw new TypeError(`download: the URL must begin with ${root}, not ${url}`)
  return receive(state, url.slice(root.length), options)
}

/** Options of {@link exportList}. */
export interface ExportOptions extends CallOptions {
  /** A format that the server streams. Default `csv`. */
  readonly format?: 'csv' | 'ndjson'
}

/**
 * Reads a whole list as CSV or NDJSON, with the token of the client. With `limit` it is one page.
 * @param query filters, `sort`, `fields` and `include`, as for `list`.
 * @returns the response, once its head is there: `await response.blob()` gives the content, `response.body` streams it.
 * @example
 * import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
 * import { createClient } from 'rest-conventions/client'
 * import { exportList } from 'rest-conventions/client/files'
 * import { z } from 'zod'
 * const cars = defineCollection({ name: 'cars', schema: z.object({ price: z.int() }), store: memoryStore() })
 * const api = defineApi({ collections: { cars } })
 * const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init)) // default: the global one
 * const client = createClient<typeof api>('https://api.example', { fetch })
 * const response = await exportList(client, 'cars', { price: { gte: 10 }, sort: '-price', fields: ['price'] })
 * console.log(await response.text())
 */
export async function exportList<
  Named,
  N extends keyof Named & string,
  const P extends string = never,
  const F extends string = never,
>(
  client: ClientOf<Named>,
  name: N,
  query: ExportQuery<Named, N, P, F> | undefined = undefined,
  { format = 'csv', ...options }: ExportOptions = {},
): Promise<Response> {
  const path = `${name}.${format}${printQuery(query ?? {}, { name })}`
  return receive(stateOf(client, 'exportList'), path, options)
}

/** The query of a list, by the name of its collection. */
export type ExportQuery<
  Named,
  N extends keyof Named,
  P extends string,
  F extends string,
> = Named[N] extends { readonly def: infer D extends Def }
  ? RelatedQuery<ByClient<D>, Named, P, F>
  : never

/** The parts of a browser that an upload uses. */
interface Browser {
  readonly location?: { readonly href: string }
  readonly XMLHttpRequest?: new () => UploadRequest
}
interface UploadRequest {
  readonly status: number
  readonly response: string
  readonly responseURL: string
  readonly upload: { onprogress: (event: UploadProgress) => void }
  withCredentials: boolean
  onload: () => void
  onerror: () => void
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: FormData): void
  abort(): void
}
const browser = globalThis as Browser // the types of Node lack it

type Transport = NonNullable<FetchOptions['fetch']>
type OnProgress = (progress: UploadProgress) => void

/** Sends a form as a stream of which each chunk is counted. @param own the `fetch` of the client. */
async function sendStream(
  url: string,
  init: RequestInit,
  onProgress: OnProgress,
  own: Transport = fetch,
): Promise<Response> {
  const { headers, body } = new Response(init.body)
  const total = new Blob([...(init.body as FormData).values()]).size // only forms are sent so
  let sent = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      sent += chunk.length
      // The frame of a form has some bytes too.
      onProgress({ loaded: Math.min(sent, total), total })
      controller.enqueue(chunk)
    },
  })
  return own(url, {
    ...init,
    headers: { ...init.headers, 'content-type': headers.get('content-type') },
    body: body?.pipeThrough(counter),
    duplex: 'half',
  } as RequestInit) // some types lack `duplex`, which a stream needs
}

/** Sends a form by `XMLHttpRequest`. */
function sendByRequest(
  url: string,
  { method, headers, body, credentials, signal }: RequestInit,
  onProgress: OnProgress,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const { location, XMLHttpRequest } = browser as Required<Browser> // it has one
    const sender = new XMLHttpRequest()
    sender.open(`${method}`, url)
    sender.withCredentials = credentials === 'include'
    for (const [name, value] of new Headers(headers)) sender.setRequestHeader(name, value)
    sender.upload.onprogress = ({ loaded, total }) => onProgress({ loaded, total })
    sender.onload = () => {
      const { status, response, responseURL } = sender
      const lines = sender.getAllResponseHeaders().trim().split('\r\n')
      // Each line has a colon.
      const answered = new Headers(lines.map(line => line.split(/: ?(.*)/, 2) as [string, string]))
      // It followed a redirect, and may have sent a GET.
      if (responseURL !== new URL(url, location.href).href)
        reject(notAnAnswer({ status: 0, headers: answered }))
      resolve(new Response(status === 204 ? null : response, { status, headers: answered }))
    }
    sender.onerror = () => reject(new TypeError('Failed to fetch'))
    signal?.addEventListener('abort', () => sender.abort())
    sender.send(body as FormData) // only forms are sent so
  })
}
