// One line for all work that can wait: what is queued behind other requests of its connection, and the
// next piece of a stream. Between two turns the event loop is reached, and new requests are answered.

const line: (() => void)[] = []
/** Whether the turn of this pass of the event loop is taken. */
let taken = false

/** Takes the one turn of this pass of the event loop, or waits for one, first come first served. */
export function takeTurn(): Promise<void> | undefined {
  if (taken) {
    return new Promise(resolve => {
      line.push(resolve)
    })
  }
  taken = true
  setImmediate(serveNext)
  return undefined
}

function serveNext(): void {
  const next = line.shift()
  taken = next !== undefined
  if (!next) return
  setImmediate(serveNext)
  next()
}
