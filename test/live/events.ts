// Reads live lists as a client does: what it has of each, event by event.

/** One event of a stream, and what the client would send as `Last-Event-ID` after it. */
export interface LiveEvent {
  readonly event: string
  readonly data: unknown
  readonly id: string
}

/** Parses server-sent events (WHATWG HTML, "Interpreting an event stream"). */
export async function* parseEvents(
  body: AsyncIterable<Uint8Array> | null,
  last = '',
): AsyncGenerator<LiveEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let [id, event, data] = [last, '', '']
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (name === 'id') id = value
      else if (name === 'event') event = value
      else if (name === 'data') data += value
      else if (line === '') {
        if (data !== '') yield { event, data: JSON.parse(data), id }
        ;[event, data] = ['', '']
      }
    }
  }
}

type Row = Readonly<Record<string, unknown>>

/** The list of a client, as three lines of a browser keep it. */
export class Board {
  readonly items = new Map<unknown, Row>()
  readonly events: LiveEvent[] = []
  last = ''
  isReady = false
  ended: Promise<void> | undefined
  #wake = () => {}
  #stop = new AbortController()

  /** @param open asks for the stream. */
  async connect(
    open: (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>,
  ): Promise<Response> {
    this.#stop = new AbortController()
    this.isReady = false
    const last = this.last === '' ? undefined : { 'Last-Event-ID': this.last }
    const headers = { Accept: 'text/event-stream', ...last }
    const response = await open(headers, this.#stop.signal)
    if (response.ok) this.ended = this.#follow(response).catch(() => {})
    return response
  }

  async #follow({ body }: Response): Promise<void> {
    for await (const each of parseEvents(body as AsyncIterable<Uint8Array> | null, this.last))
      this.apply(each)
    this.#wake()
  }

  apply(each: LiveEvent): void {
    this.events.push(each)
    this.last = each.id
    const rows = Array.isArray(each.data) ? each.data : []
    if (each.event === 'reset') this.items.clear()
    else if (each.event === 'items') for (const row of rows) this.items.set(row.id, row)
    else if (each.event === 'removed') for (const id of rows) this.items.delete(id)
    else if (each.event === 'ready') this.isReady = true
    this.#wake()
  }

  disconnect(): Promise<void> | undefined {
    this.#stop.abort()
    return this.ended
  }

  /** Waits until the board is as it should be. @throws Error with what it has, in the end. */
  async until(holds: () => unknown, time = 20_000): Promise<void> {
    const end = performance.now() + time
    while (!(await holds())) {
      if (performance.now() > end)
        throw new Error(
          `It has ${JSON.stringify([...this.items.values()])} of ${JSON.stringify(this.events.slice(-5))}`,
        )
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 50)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}
