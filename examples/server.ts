// The example server: `npm start`, or `npm start -- --port 8080 --database :memory:`,
// or `npm start -- --store postgres://user:password@host/database`.
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Policies, RateLimitPolicy } from 'rest-conventions'
import { harden, shutDown } from 'rest-conventions/node'
import { explainAudience, readSchemes } from './auth.ts'
import { type CarsApi, carsApi } from './cars-api.ts'
import { listen } from './listen.ts'
import {
  DEFAULTS,
  findSystem,
  OptionError,
  type Options,
  parseOptions,
  StartError,
  USAGE,
} from './options.ts'
import { seed } from './seed.ts'
import { openStores, type Stores } from './stores.ts'

async function start(options: Options): Promise<void> {
  const { port, host, baseUrl, database, blobs, auth, tls, rateLimit } = options
  const stopping = new AbortController()
  let stop: (() => Promise<void>) | undefined
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
    void stop?.()
    console.log('Shutting down; finishing running requests (Ctrl-C again to force)')
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)

  const stores = await openStores(database, blobs)
  const policies: Policies = {
    baseUrl,
    ...(auth && { schemes: readSchemes(process.env, baseUrl), access: { root: 'public' } }),
    ...(rateLimit && { rateLimit: { policies: [await createPolicy(rateLimit, stores)] } }),
  }
  const cars = carsApi(stores.storeFor, stores.blobs, policies)
  const close = async () => {
    await cars.api.close()
    await stores.close()
    process.exit(0)
  }
  // A table that lacks a column says so now, with the SQL that adds it.
  await cars.api.open()
  const made = await stores.seeding.alone(async () => {
    if ((await stores.seeding.read()) !== 'done')
      console.log(`Filling ${withoutPassword(database)}`)
    return seed(cars, stores.seeding, stopping.signal)
  })
  if (stopping.signal.aborted) return close()
  const server = harden(createHttpServer(cars.api.handler, tls))
  const address = await listen(server, port, host)
  stop = async () => {
    await shutDown(server)
    await close()
  }
  if (stopping.signal.aborted) return stop()
  console.log(await greeting(cars, address, database, made, auth))
  if (auth && process.env.AUTH_ISSUER && process.env.AUTH_AUDIENCE) {
    console.log(explainAudience(process.env.AUTH_AUDIENCE, baseUrl ?? address))
  }
}

/** @throws StartError for files that do not hold a key and a certificate. */
function createHttpServer(listener: RequestListener, tls: Options['tls']) {
  if (!tls) return createServer(listener)
  try {
    const [key, cert] = [readFileSync(tls.key), readFileSync(tls.cert)]
    return createTlsServer({ key, cert }, listener)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`Cannot serve with TLS: ${reason}`, { cause: error })
  }
}

/** Counts for all servers only if the limit was asked for: that costs a write for each request. */
async function createPolicy(
  rateLimit: NonNullable<Options['rateLimit']>,
  { limiterOf }: Stores,
): Promise<RateLimitPolicy> {
  if (!limiterOf || rateLimit === DEFAULTS.rateLimit) return rateLimit
  const { limit, window } = rateLimit
  return { name: `${limit}/${window}`, limiter: await limiterOf(limit, window) }
}

/** Prints the address of a database without its password. */
function withoutPassword(database: string): string {
  if (!findSystem(database)) return database
  const { protocol, host, pathname } = new URL(database)
  return `${protocol}//${host}${pathname}`
}

/** Says what is served, where to look at it, and three commands to try. */
async function greeting(
  { api }: CarsApi,
  address: string,
  database: string,
  made: number,
  auth: boolean,
) {
  const root = `${address}/v2/`
  const car = await api.collection('cars').list().first()
  // curl asks for the password.
  const user = auth && process.env.BASIC_USER ? ` -u ${process.env.BASIC_USER}` : ''
  return [
    `Serving ${root} from ${withoutPassword(database)}${made > 0 ? `, with ${made} new items` : ''}`,
    ...Object.keys(api.collections).map(collection => `  ${root}${collection}`),
    `Open ${root} in a browser, or try:`,
    `  curl ${root}`,
    `  curl -gi${user} '${root}cars?color=red&price[lt]=20000&sort=-price&fields=id,model.name,price&limit=5'`,
    `  curl -i${user} -d name='Roof rack' -d price=250 ${root}cars/${car?.id ?? 1}/options`,
  ].join('\n')
}

try {
  const options = parseOptions(process.argv.slice(2), process.env)
  if (options === 'help') console.log(USAGE)
  else await start(options)
} catch (error) {
  if (error instanceof OptionError) console.error(`${error.message}\n\n${USAGE}`)
  else if (error instanceof StartError) console.error(error.message)
  else console.error(error)
  process.exit(1)
}
