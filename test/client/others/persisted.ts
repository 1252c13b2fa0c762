// A mutation that waits for the network goes on after a reload, by the persister of TanStack Query. This keeps a QueryClient of
// its own version: two of them in one project, as pnpm lays them out.
import { persistQueryClient } from '@tanstack/query-persist-client-core'
import { createSyncStoragePersister } from '@tanstack/query-sync-storage-persister'
import { defineApi, defineCollection, memoryStore } from 'rest-conventions'
import { createClient, versionOf } from 'rest-conventions/client'
import { createQueries } from 'rest-conventions/query'
import { z } from 'zod'
import {
  MutationObserver,
  onlineManager,
  QueryClient,
  QueryObserver,
} from '../@tanstack/query-persist-client-core/node_modules/@tanstack/query-core/build/modern/index.js'

const cars = defineCollection({
  name: 'cars',
  schema: z.object({ price: z.int() }),
  store: memoryStore(),
  id: 'integer',
})
const api = defineApi({ collections: { cars } })
const fetch = (url: string, init: RequestInit) => api.fetch(new Request(url, init))
const kept = new Map<string, string>()
const storage = {
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, text: string) => void kept.set(name, text),
  removeItem: (name: string) => void kept.delete(name),
}

/** A page: what a browser makes anew at a reload. */
async function openPage() {
  const client = createClient<typeof api>('https://api.example', { fetch })
  const q = createQueries(client)
  const queries = new QueryClient()
  const patch = q.cars.patch.mutationOptions()
  queries.setMutationDefaults(patch.mutationKey, patch)
  const persister = createSyncStoragePersister({ storage, throttleTime: 0 })
  const [forget, restored] = persistQueryClient({ queryClient: queries, persister })
  await restored
  return { client, q, queries, patch, forget }
}

/** Patches while the network is away, reloads, and goes on; somebody else may have patched meanwhile. */
async function reload(isTaken: boolean) {
  const before = await openPage()
  const made = await before.client.cars.create({ price: 5 })
  const car = await before.queries.fetchQuery(before.q.cars.read(made.id).queryOptions())
  onlineManager.setOnline(false)
  const observer = new MutationObserver(before.queries, before.patch)
  const variables = [car.item, { price: 9 }, { version: versionOf(car.item) }] as const
  void observer.mutate([...variables]).catch(() => {})
  while (!/"isPaused":true/.test([...kept.values()].join(''))) await new Promise(setImmediate)
  before.forget()
  const other = createClient<typeof api>('https://api.example', { fetch })
  if (isTaken) await other.cars.patch(made.id, { price: 6 })

  const after = await openPage()
  onlineManager.setOnline(true)
  await after.queries.resumePausedMutations()
  const options = after.q.cars.read(made.id).queryOptions({ staleTime: 60_000 })
  const { data } = new QueryObserver(after.queries, options).getCurrentResult()
  const [mutation] = after.queries.getMutationCache().getAll()
  after.forget()
  kept.clear()
  return [mutation?.state.status, data?.price, (await other.cars.read(made.id)).price]
}

console.log(JSON.stringify([await reload(false), await reload(true)]))
process.exit() // TanStack Query's timers wait for minutes.
