import { createServer } from 'node:http'
import { harden, shutDown } from 'rest-conventions/node'
import { api } from './api.ts'

await api.open() // says what does not fit the database
const server = harden(createServer(api.handler))
const port = Number(process.env.PORT ?? 3000)
// Only this machine, because everybody may write: add schemes to api.ts, then set HOST=0.0.0.0.
const host = process.env.HOST ?? '127.0.0.1'
server.once('error', ({ message }) => {
  console.error(`${message}. Use another port, such as PORT=3001`)
  process.exit(1)
})
server.listen(port, host, () => {
  console.log(`http://${host}:${port} is ready. Everybody may write: add schemes to api.ts.`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await shutDown(server)
    await api.close()
    process.exit()
  })
}
