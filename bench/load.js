// The load generator, in a process of its own: each message is one round.
import autocannon from 'autocannon'

process.on('message', async ({ port, requests, connections, duration, status }) => {
  const url = `http://127.0.0.1:${port}`
  // The end of a round is seen when a sample is taken.
  const result = await autocannon({ url, requests, connections, duration, sampleInt: 10 })
  const { [status]: right, ...wrong } = result.statusCodeStats
  process.send({ seconds: result.duration, answers: right?.count ?? 0, wrong })
})
process.on('disconnect', () => process.exit())
process.send({})
