// The other end of `asked`: a process that serves, and answers questions about itself.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Listens on any port and says so. Answers every question with its CPU time (µs) and its resident
 * memory; `collect` collects garbage first.
 * @param answers what else it knows.
 */
export function serve(server: Server, answers: Readonly<Record<string, () => unknown>> = {}): void {
  server.listen(0, '127.0.0.1', () => {
    // A server that listens on a port has an address with a port.
    process.send?.({ port: (server.address() as AddressInfo).port })
  })
  process.on('message', async question => {
    if (question === 'collect') global.gc?.()
    const answer = await answers[String(question)]?.()
    const { user, system } = process.cpuUsage()
    process.send?.(answer ?? { cpu: user + system, memory: process.memoryUsage.rss() })
  })
  process.on('disconnect', () => process.exit())
}
