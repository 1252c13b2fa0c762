// Which requests `serve` answers: those that name it as their host, and writes that no foreign page has sent.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isSafe } from '../../http/methods.ts'

export interface Admission {
  /** Where the server listens. */
  readonly host: string
  /** The origins whose pages may read and write; `*` is any. Default: those of this machine. */
  readonly origins: readonly string[]
}

/** A request that is refused, as its error says. */
export interface Refusal {
  readonly status: 400 | 403
  readonly message: string
  readonly field?: string
  readonly type: 'invalid_host' | 'cross_origin'
}

const LOCAL = ['localhost', '127.0.0.1', '[::1]']
const ANY = ['0.0.0.0', '::']
/** Also of another port: a front end in development has one of its own. */
const LOCAL_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/

/** Whether pages of an origin may read and write. */
export function isOwnOrigin(origin: string, { origins }: Admission): boolean {
  if (origins.length === 0) return LOCAL_ORIGIN.test(origin)
  return origins.includes('*') || origins.includes(origin)
}

/**
 * Refuses a host that is another's: a page may make its own name lead to this machine, and then reads as one of the
 * same origin. An address of numbers is no such name.
 */
export function refuse(request: IncomingMessage, admission: Admission): Refusal | undefined {
  const { url = '', method = '' } = request
  const { host = '', origin, 'sec-fetch-site': site } = request.headers
  const name = host.replace(/:\d*$/, '').toLowerCase()
  if (!isServed(name, admission.host) || !(url.startsWith('/') || url === '*')) {
    const given = JSON.stringify(host.slice(0, 100))
    const message = `The host must be ${[...LOCAL, ...others(admission.host)].join(', ')}, not ${given}. Start serve with --host for another.`
    return { status: 400, message, field: 'host', type: 'invalid_host' }
  }
  const isForeign =
    origin === undefined
      ? site !== undefined && site !== 'none' && site !== 'same-origin'
      : origin !== `http://${host}` && !isOwnOrigin(origin, admission)
  if (isSafe(method) || !isForeign) return undefined
  const message = `Pages of ${origin?.slice(0, 100) ?? 'another site'} may not write here. Start serve with --cors to let them.`
  return { status: 403, message, type: 'cross_origin' }
}

const others = (host: string) => (LOCAL.includes(host) || ANY.includes(host) ? [] : [host])

function isServed(name: string, host: string): boolean {
  if (LOCAL.includes(name) || name === host.toLowerCase() || name === `[${host}]`) return true
  return ANY.includes(host) && isIP(name.replace(/^\[|\]$/g, '')) > 0
}
