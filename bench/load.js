// The load generator, in a process of its own: each message is one round. node load.js [awake]
import autocannon from 'autocannon'

// Where the server is the slower side the load generator would sleep before each answer, and to wake it
// is the server's work: on a virtual machine it made an answer's `writev` take 122 µs in place of 36.
if (process.argv[2] === 'awake') stayAwake()

function stayAwake() {
  setImmediate(stayAwake)
}

/** More requests than that are shared out: each connection makes its own text of each request it is given. */
const MANY = 100

function shareOut(requests, connections) {
  let next = 0
  return client => {
    const own = next++
    client.setRequests(requests.filter((_request, at) => at % connections === own))
  }
}

process.on('message', async ({ port, requests, connections, duration, status }) => {
  const url = `http://127.0.0.1:${port}`
  // The end of a round is seen when a sample is taken.
  const setupClient = shareOut(requests, connections)
  const result = await autocannon({
    ...{ url, requests: requests.slice(0, MANY), connections, duration, sampleInt: 10 },
    ...(requests.length > MANY && { setupClient }),
  })
  const isRight = code => (status === undefined ? code >= 200 && code < 400 : code === `${status}`)
  const all = Object.entries(result.statusCodeStats)
  const answers = all.reduce((sum, [code, { count }]) => sum + (isRight(code) ? count : 0), 0)
  const wrong = Object.fromEntries(all.filter(([code]) => !isRight(code)))
  process.send({ seconds: result.duration, answers, wrong })
})
process.on('disconnect', () => process.exit())
process.send({})
