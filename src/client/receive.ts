// Reads of what is no JSON: contents, exports, streams.
import type { CallOptions } from '../model/types/resource.ts'
import type { ClientState } from './place.ts'

/**
 * Reads what is no JSON: errors are those of any read, and nothing is read of the content.
 * @param headers by default any content will do: of a proxy it would be no better than none.
 */
export async function receive(
  state: ClientState,
  path: string,
  options: CallOptions,
  headers: Readonly<Record<string, string | undefined>> = { accept: '*/*' },
): Promise<Response> {
  let received = new Response()
  await state.send('GET', path, {
    headers,
    options,
    through: async (url, init) => {
      received = await (state.fetch ?? fetch)(url, init)
      return received.ok || received.status === 304 ? new Response(null, received) : received
    },
  })
  // By now the request has no signal any more. Types alone tell an option that is undefined from one that is absent.
  const body = received.body?.pipeThrough(new TransformStream(), {
    signal: options.signal as AbortSignal,
  })
  return new Response(body, received)
}
