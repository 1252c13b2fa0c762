// Checks which requests `serve` handles: `Host` must name this server, and a page of another origin must not write.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isCrossSite } from '../../auth/cross-site.ts'
import { isSafe } from '../../http/methods.ts'

export interface Admission {
  /** The host that the server listens on. */
  readonly host: string
  /** The origins whose pages may read and write; `*` is any. Default: those of this machine. */
  readonly origins: readonly string[]
}

/** An error response, before it is sent. */
export interface AdmissionError {
  readonly status: 400 | 403
  readonly message: string
  readonly field?: string
  readonly type: 'invalid_host' | 'cross_origin'
}

const LOCAL = ['localhost', '127.0.0.1', '[::1]']
const ANY = ['0.0.0.0', '::']
/** Any port of this machine: the development server of a front end listens on another port. */
const LOCAL_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/

/** Whether pages of an origin may read and write. */
export function isOwnOrigin(origin: string, { origins }: Admission): boolean {
  if (origins.length === 0) return LOCAL_ORIGIN.test(origin)
  return origins.includes('*') || origins.includes(origin)
}

/**
 * Finds what is wrong with the host or the origin of a request; `undefined` if the server handles it. The check of
 * `Host` prevents DNS rebinding: a page whose domain resolves to this machine would share its origin. An IP address
 * cannot be rebound.
 */
export function findAdmissionError(
  request: IncomingMessage,
  admission: Admission,
): AdmissionError | undefined {
  const { url = '', method = '' } = request
  const { host = '', origin, 'sec-fetch-site': site } = request.headers
  const name = host.replace(/:\d*$/, '').toLowerCase()
  if (!isServed(name, admission.host) || !(url.startsWith('/') || url === '*')) {
    const given = JSON.stringify(host.slice(0, 100))
    const message = `The host must be ${[...LOCAL, ...others(admission.host)].join(', ')}, not ${given}. Start serve with --host for another.`
    return { status: 400, message, field: 'host', type: 'invalid_host' }
  }
  const sent = { headers: { origin, 'sec-fetch-site': site } }
  const isForeign = isCrossSite(sent, `http://${host}`, each => isOwnOrigin(each, admission))
  if (isSafe(method) || !isForeign) return undefined
  const message = `Pages of ${origin?.slice(0, 100) ?? 'another site'} may not write here. Start serve with --cors to let them.`
  return { status: 403, message, type: 'cross_origin' }
}

const others = (host: string) => (LOCAL.includes(host) || ANY.includes(host) ? [] : [host])

function isServed(name: string, host: string): boolean {
  if (LOCAL.includes(name) || name === host.toLowerCase() || name === `[${host}]`) return true
  return ANY.includes(host) && isIP(name.replace(/^\[|\]$/g, '')) > 0
}
