// One line for all work that can wait: what is queued behind other requests of its connection, the next
// piece of a stream, and what looks at much. Between two turns the event loop is reached, and who has come
// meanwhile is served first: libuv accepts one connection in each pass of the event loop.

const line: (() => void)[] = []
/** Whether this pass of the event loop has its turn, or somebody waits for the next one. */
let scheduled = false
/** Whether a connection or a request has come since somebody last looked. */
let arrived = false
/** Until when those who come are served before the next turn, by `performance.now()`; 0 while a turn lasts. */
let until = 0

/** When the last turn began. */
let began = 0

/** Others are served first for as long as the last turn took, within these milliseconds. */
const MIN_PATIENCE_MS = 5
const MAX_PATIENCE_MS = 50

/**
 * Takes the one turn of this pass of the event loop, or waits for one, first come first served.
 * @param long whether what follows takes long: then even the first waits until nobody comes.
 */
export function takeTurn(long = false): Promise<void> | undefined {
  const waits = scheduled || (long && arrived)
  if (!scheduled) schedule()
  if (!waits) return undefined
  return new Promise(resolve => {
    line.push(resolve)
  })
}

/** Says that a connection or its first request has come: others may wait to be accepted. */
export function noteArrival(): void {
  arrived = true
}

function schedule(): void {
  scheduled = true
  until = 0
  began = performance.now()
  setImmediate(serveNext)
}

function serveNext(): void {
  if (line.length > 0 && arrived && isPatient()) {
    arrived = false
    setImmediate(serveNext)
    return
  }
  const next = line.shift()
  scheduled = false
  if (!next) return
  schedule()
  next()
}

/** Whether those who come are still served first. */
function isPatient(): boolean {
  const now = performance.now()
  if (until === 0) until = now + Math.min(Math.max(now - began, MIN_PATIENCE_MS), MAX_PATIENCE_MS)
  return now < until
}
