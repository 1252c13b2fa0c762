// One queue for all work that can wait: pipelined requests, the next pieces of streams, slices of long
// scans. Between two turns the event loop runs, and new requests are served first: libuv accepts one
// connection in each pass of the event loop.

/** As it is now: a test that replaces the timers must not stop the line. */
const atNextPass = setImmediate

const line: (() => void)[] = []
/** Whether this pass of the event loop has its turn, or the next one is scheduled. */
let scheduled = false
/** Whether a connection or a request has arrived since the last check. */
let arrived = false
/** Until when new requests are served before the next turn, by `performance.now()`; 0 while a turn lasts. */
let until = 0

/** When the last turn began. */
let began = 0

/** New requests are served first for as long as the last turn took, within these milliseconds. */
const MIN_PATIENCE_MS = 5
const MAX_PATIENCE_MS = 50

/**
 * Takes the one turn of this pass of the event loop, or waits for one, first come first served.
 * @param long whether the work takes long: then even the first waits while requests arrive.
 */
export function takeTurn(long = false): Promise<void> | undefined {
  const waits = scheduled || (long && arrived)
  if (!scheduled) schedule()
  if (!waits) return undefined
  return new Promise(resolve => {
    line.push(resolve)
  })
}

/** Work of many short steps takes a turn after so many milliseconds. */
const STEPS_MS = 10

/** Takes a turn where the present one has lasted long: for steps of work that may be many. */
export function takeTurnIfDue(): Promise<void> | undefined {
  return performance.now() - began < STEPS_MS ? undefined : takeTurn(true)
}

/** Notes that a connection or its first request has arrived: others may wait to be accepted. */
export function noteArrival(): void {
  arrived = true
}

/** Waits for the next pass of the event loop, which may accept one connection. */
export function waitForPass(): Promise<void> {
  return new Promise(resolve => atNextPass(resolve))
}

function schedule(): void {
  scheduled = true
  until = 0
  began = performance.now()
  atNextPass(serveNext)
}

function serveNext(): void {
  if (line.length > 0 && arrived && isPatient()) {
    arrived = false
    atNextPass(serveNext)
    return
  }
  const next = line.shift()
  scheduled = false
  if (!next) return
  schedule()
  next()
}

/** Whether new requests are still served first. */
function isPatient(): boolean {
  const now = performance.now()
  if (until === 0) until = now + Math.min(Math.max(now - began, MIN_PATIENCE_MS), MAX_PATIENCE_MS)
  return now < until
}
