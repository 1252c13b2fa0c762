// The example server: `npm start`, or `npm start -- --port 8080 --database :memory:`.
import { createServer } from 'node:http'
import { type CarsApi, carsApi } from './cars-api.ts'
import { drain, listen } from './listen.ts'
import { OptionError, type Options, parseOptions, StartError, USAGE } from './options.ts'
import { seed } from './seed.ts'
import { openStores } from './stores.ts'

async function start({ port, host, database, blobs }: Options): Promise<void> {
  const stopping = new AbortController()
  let stop: (() => Promise<void>) | undefined
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
    void stop?.()
    console.log('Stopping: what runs ends first')
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)

  const stores = await openStores(database, blobs)
  const cars = carsApi(stores.storeFor, stores.blobs)
  const close = async () => {
    await cars.api.close()
    process.exit(0)
  }
  if ((await stores.seeding.read()) !== 'done') console.log(`Filling ${database}`)
  const made = await seed(cars, stores.seeding, stopping.signal)
  if (stopping.signal.aborted) return close()
  const server = createServer(cars.api.handler)
  const address = await listen(server, port, host)
  stop = async () => {
    await drain(server)
    await close()
  }
  if (stopping.signal.aborted) return stop()
  console.log(await greeting(cars, address, database, made))
}

/** What is served, and three lines to try. */
async function greeting({ api }: CarsApi, address: string, database: string, made: number) {
  const { name, collections } = api.definition.defaultVersion
  const root = `${address}/${name}/`
  const [car] = await api.collection('cars').list({ limit: 1 })
  return [
    `Serving ${root} from ${database}${made > 0 ? `, with ${made} new items` : ''}`,
    ...[...collections.keys()].map(collection => `  ${root}${collection}`),
    'Try:',
    `  curl ${root}`,
    `  curl -gi '${root}cars?color=red&price[lt]=20000&sort=-price&fields=id,model.name,price&limit=5'`,
    `  curl -i -d name='Roof rack' -d price=250 ${root}cars/${car?.id ?? 1}/options`,
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
