// The methods that are served (RFC 9110 §9.3): what each means for a request is said here alone.

/** What a method means, whatever it is sent to. */
interface MethodTraits {
  /** Whether it only reads (§9.2.1): no cross-site check, no idempotency key. */
  readonly safe: boolean
  /** Whether its content means something (§9.3). That of a DELETE does for an action alone. */
  readonly readsBody: boolean
  /** Whether a condition may save the transfer by a 304 (§13.1.2). */
  readonly conditional: boolean
  /** Whether `Range` counts (§14.2). */
  readonly ranged: boolean
}

const NOTHING: MethodTraits = { safe: false, readsBody: false, conditional: false, ranged: false }
const READ: MethodTraits = { ...NOTHING, safe: true, conditional: true }
const WRITE: MethodTraits = { ...NOTHING, readsBody: true }

const GET: MethodTraits = { ...READ, ranged: true }

const METHODS: ReadonlyMap<string, MethodTraits> = new Map([
  ['GET', GET],
  ['HEAD', READ],
  // RFC 10008: a GET whose parameters stand in its body.
  ['QUERY', { ...GET, readsBody: true }],
  ['OPTIONS', { ...NOTHING, safe: true }],
  ['POST', WRITE],
  ['PUT', WRITE],
  ['PATCH', WRITE],
  ['DELETE', WRITE],
])

/** A read asks for its method seven times: a GET is not looked up (`npx tsx bench/instructions.ts --works=W1`: 2 %). */
function traitsOf(method: string): MethodTraits {
  return method === 'GET' ? GET : (METHODS.get(method) ?? NOTHING)
}

export function isSafe(method: string): boolean {
  return traitsOf(method).safe
}

export function readsBody(method: string): boolean {
  return traitsOf(method).readsBody
}

export function isConditional(method: string): boolean {
  return traitsOf(method).conditional
}

export function isRanged(method: string): boolean {
  return traitsOf(method).ranged
}
