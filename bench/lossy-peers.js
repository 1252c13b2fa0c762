// Clients of others for lossy.ts, each with the server that belongs to it. A counter is raised by one step of
// the server, the safest that such an api can offer.

import { createServer } from 'node:http'
import { serve } from '@hono/node-server'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import { ClientRetryPlugin } from '@orpc/client/plugins'
import { os } from '@orpc/server'
import { RPCHandler } from '@orpc/server/node'
import { Hono } from 'hono'
import { hc } from 'hono/client'
import createFetchClient from 'openapi-fetch'

const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

/** A fetch that sends a request again as our client does: after network errors, 429 and 503. */
const retrying = retries => async (input, init) => {
  for (let count = 0; ; count++) {
    const again = input instanceof Request ? input.clone() : input
    try {
      const response = await fetch(again, init)
      if (count >= retries || (response.status !== 429 && response.status !== 503)) return response
    } catch (error) {
      if (count >= retries) throw error
    }
    await wait(Math.random() * Math.min(100 * 2 ** count, 10_000))
  }
}

function requireOk(response) {
  if (!response.ok) throw new Error(`${response.status}`)
}

/** Hono, and its own client. */
function hono(retries) {
  return {
    start() {
      const names = []
      let counter = 0
      const app = new Hono()
        .post('/cars', async context => {
          names.push((await context.req.json()).name)
          return context.json({}, 201)
        })
        .post('/counter/raise', context => context.json({ counter: ++counter }))
      return new Promise(resolve => {
        const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
          resolve({
            url: `http://127.0.0.1:${port}`,
            found: async () => ({ names, counter }),
            close: () => server.close(),
          }),
        )
      })
    },
    connect(url) {
      const client = hc(url, { fetch: retries > 0 ? retrying(retries) : fetch })
      return {
        create: async name => requireOk(await client.cars.$post({ json: { name } })),
        raise: async () => requireOk(await client.counter.raise.$post()),
      }
    },
  }
}

/** oRPC, and its own client with its plugin for retries. */
function orpc(retries) {
  return {
    start() {
      const names = []
      let counter = 0
      const router = {
        create: os.handler(({ input }) => void names.push(input.name)),
        raise: os.handler(() => ++counter),
      }
      const handler = new RPCHandler(router)
      const server = createServer(async (request, response) => {
        const { matched } = await handler.handle(request, response, { context: {} })
        if (!matched) response.writeHead(404).end()
      })
      return new Promise(resolve => {
        server.listen(0, '127.0.0.1', () =>
          resolve({
            url: `http://127.0.0.1:${server.address().port}`,
            found: async () => ({ names, counter }),
            close: () => server.close(),
          }),
        )
      })
    },
    connect(url) {
      const retryDelay = ({ attemptIndex }) =>
        Math.random() * Math.min(100 * 2 ** attemptIndex, 10_000)
      const plugins = [new ClientRetryPlugin({ default: { retry: retries, retryDelay } })]
      const client = createORPCClient(new RPCLink({ url, plugins }))
      return { create: name => client.create({ name }), raise: () => client.raise() }
    },
  }
}

/** openapi-fetch against ours: it sends no keys of itself, and raises the counter under `If-Match`. */
function openapiFetch(retries, ours) {
  return {
    start: ours,
    connect(url, counter) {
      const client = createFetchClient({
        baseUrl: url,
        fetch: retries > 0 ? retrying(retries) : fetch,
      })
      const params = { path: { id: counter } }
      return {
        create: async name =>
          requireOk((await client.POST('/cars', { body: { name, price: 0 } })).response),
        async raise() {
          for (;;) {
            const { data, response } = await client.GET('/cars/{id}', { params })
            requireOk(response)
            const headers = { 'if-match': response.headers.get('etag') }
            const body = { price: data.price + 1 }
            const changed = await client.PATCH('/cars/{id}', { params, body, headers })
            if (changed.response.status !== 412) return requireOk(changed.response)
            await wait(Math.random() * 500)
          }
        },
      }
    },
  }
}

/** By name, each with as many retries. @param ours starts the server of ours. */
export const peers = (retries, ours) => ({
  'hc of Hono, as it comes': hono(0),
  'hc of Hono, with a `fetch` that retries': hono(retries),
  'openapi-fetch, as it comes': openapiFetch(0, ours),
  'openapi-fetch, with a `fetch` that retries': openapiFetch(retries, ours),
  'oRPC, with its `ClientRetryPlugin`': orpc(retries),
})
