import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port of this machine that nobody listens on, at this moment. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  const closed = once(probe, 'close')
  probe.close()
  await closed
  if (typeof address !== 'object' || !address) throw new Error('No port was given')
  return address.port
}
