// `npx tsx bench/load-hostile.ts [seconds] [clients]`: a server under clients of which one request in
// twenty is hostile. 60 s, 500 clients that keep their connections. Fails where an answer to a good
// request is wrong, or one to a hostile request is a 5xx. It ends by itself, whatever the server does.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { runClients, type Target } from './hostile-clients.ts'
import { residentOf } from './memory.ts'

const [, , first = '60', second = '500'] = process.argv
const [seconds, clients] = [Number(first), Number(second)]

/** Seconds beside the load itself: the start, the last answers, the counting. */
const MARGIN = 60
setTimeout(
  () => {
    console.error(`No end ${MARGIN} s after it was due`)
    process.exit(1)
  },
  (seconds + MARGIN) * 1000,
).unref()

const file = fileURLToPath(new URL('../test/guards/hostile-node.ts', import.meta.url))
const server = fork(file, { execArgv: ['--import', 'tsx', '--expose-gc'] })
const end = once(server, 'exit').then(([code, signal]) => {
  throw new Error(`The server ended: ${code ?? signal}`)
})
const [message] = await Promise.race([once(server, 'message'), end])
const target: Target = message

/** What the server says of itself, its garbage collected. */
async function ask(question: string): Promise<{ readonly cpu: number; readonly failures: number }> {
  const answer = once(server, 'message')
  server.send(question)
  return (await Promise.race([answer, end]))[0]
}

/** Resident memory at times, in seconds from the beginning. */
const memory: { readonly time: number; readonly bytes: number }[] = []
const step = Math.min(10, seconds / 6)
const started = performance.now()
const timer = setInterval(() => {
  const time = Math.round((performance.now() - started) / 100) / 10
  memory.push({ time, bytes: residentOf(server.pid) })
}, step * 1000)

const before = await ask('cpu')
const { tally, kinds } = await Promise.race([runClients(target, clients, seconds), end])
const took = (performance.now() - started) / 1000
clearInterval(timer)
const after = await ask('cpu')
const collected = residentOf(server.pid)
server.disconnect()

const { good, wrong, hostile, unanswered, again, latency } = tally
const refused = [...hostile].sort(([one], [other]) => one - other)
const wrongs = [...wrong.values()].reduce((sum, each) => sum + each, 0)
const hostiles = refused.reduce((sum, [, each]) => sum + each, unanswered)
const answers = good + hostiles
const ms = (percent: number) => `${(latency.percentile(percent) / 1000).toFixed(1)} ms`
const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`
// What is compiled and grown once is no leak: the first reading is the first after warm-up.
const [warm] = memory
const last = memory.at(-1)

console.log(`npx tsx bench/load-hostile.ts ${seconds} ${clients}`)
console.log(`${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`)
console.log(`answers              ${answers}, ${Math.round(answers / took)}/s`)
console.log(`CPU of the server    ${Math.round((after.cpu - before.cpu) / answers)} µs an answer`)
console.log(`good                 ${good}, of which wrong: ${wrongs}`)
for (const [what, times] of wrong) console.log(`                     ${times} × ${what}`)
console.log(`hostile              ${hostiles} of ${kinds} kinds`)
for (const [digit, times] of refused) {
  console.log(`  ${digit === 0 ? 'closed unanswered' : `${digit}xx`.padEnd(17)}  ${times}`)
}
console.log(`  neither            ${unanswered}`)
console.log(`connections renewed  ${again}`)
console.log(`latency of good      p50 ${ms(50)}, p99 ${ms(99)}, max ${ms(100)}`)
console.log(
  `memory               ${memory.map(({ time, bytes }) => `${time} s ${mib(bytes)}`).join(', ')}`,
)
if (warm && last) console.log(`growth after warm-up ${mib(last.bytes - warm.bytes)}`)
console.log(`after a collection   ${mib(collected)}`)
console.log(`failures             ${after.failures}`)
if (wrongs + unanswered + after.failures > 0 || hostile.has(5)) process.exitCode = 1
