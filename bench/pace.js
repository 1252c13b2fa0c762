// A load generator that keeps a rate, whatever the server does: each message is one round.
import { Agent, request as httpRequest } from 'node:http'

// First in, first out: a connection that rests too long is closed by the server.
const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: 'fifo' })

process.on('message', async ({ port, requests, rate, seconds }) => {
  const times = []
  const wrong = {}
  const total = Math.round(rate * seconds)
  const begin = performance.now()
  let sent = 0
  let open = 0
  await new Promise(done => {
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((performance.now() - begin) / 1000) * rate))
      while (sent < due) ask(requests[sent++ % requests.length])
      if (sent === total && open === 0) {
        clearInterval(timer)
        done()
      }
    }, 1)
  })
  times.sort((one, other) => one - other)
  const at = part => times[Math.floor((times.length - 1) * part)] ?? Number.NaN
  process.send({ answers: times.length, wrong, p50: at(0.5), p99: at(0.99), most: at(1) })

  /** Its time counts from here: waiting for a free connection is a part of it. */
  function ask({ body, ...options }) {
    const start = performance.now()
    open++
    const end = status => {
      open--
      if (status >= 200 && status < 400) times.push(performance.now() - start)
      else wrong[status] = (wrong[status] ?? 0) + 1
    }
    httpRequest({ agent, port, host: '127.0.0.1', timeout: 10_000, ...options })
      .once('response', response => {
        response.resume().once('close', () => end(response.complete ? response.statusCode : 'cut'))
      })
      .once('timeout', function () {
        this.destroy(new Error('timeout'))
      })
      .once('error', error => end(error.code ?? error.message))
      .end(body)
  }
})
process.on('disconnect', () => process.exit())
process.send({})
