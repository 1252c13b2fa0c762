// One contestant's server in a process of its own: node serve.js <file> <work>.
import { makeCars } from './cars.js'

const [, , file, work] = process.argv
const { start } = await import(`./contestants/${file}.js`)
const server = await start(makeCars(), work)
if (!server.listening) await new Promise(resolve => server.once('listening', resolve))

process.on('message', question => {
  if (question === 'collect') global.gc()
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system, memory: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())
process.send({ port: server.address().port })
