// One contestant's server in a process of its own: node serve.js <file> <work> [cars].
import { makeCars } from './cars.js'

const [, , file, work, cars] = process.argv
const before = performance.now()
const cpuBefore = process.cpuUsage()
const { start } = await import(`./contestants/${file}.js`)
const server = await start(makeCars(cars && Number(cars)), work)
if (!server.listening) await new Promise(resolve => server.once('listening', resolve))
const loaded = performance.now()
const { user, system } = process.cpuUsage(cpuBefore)

process.on('message', question => {
  if (question === 'collect') global.gc()
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system, memory: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())
process.send({
  port: server.address().port,
  // Milliseconds from the first import, and from the start of the process, until it listens; of the CPU, from the
  // first import.
  load: loaded - before,
  start: loaded,
  cpu: (user + system) / 1000,
  memory: process.memoryUsage.rss(),
})
