// The other end of `askProcess`: a process that serves, and answers questions about itself.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Says the port that a server listens on. Then every question is answered with the CPU time (µs) and
 * the resident memory of the process; `collect` collects garbage first.
 * @param answers what else it knows.
 */
export async function answerQuestions(
  server: Server,
  answers: Readonly<Record<string, () => unknown>> = {},
): Promise<void> {
  process.on('message', async question => {
    if (question === 'collect') global.gc?.()
    const answer = await answers[String(question)]?.()
    const { user, system } = process.cpuUsage()
    process.send?.(answer ?? { cpu: user + system, memory: process.memoryUsage.rss() })
  })
  process.on('disconnect', () => process.exit())
  if (!server.listening) await once(server, 'listening')
  // A server that listens on a port has an address with a port.
  process.send?.({ port: (server.address() as AddressInfo).port })
}
