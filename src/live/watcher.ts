// One stream of a live list: the list, then its changes, as server-sent events (WHATWG HTML, "Server-sent events").

import type { LiveBody, LiveSink } from '../http/message.ts'
import type { Id } from '../store/store.ts'
import type { Follower, Followers, Hub, ListUpdate } from './hub.ts'
import type { Shown } from './shown.ts'

/** How much a client may leave unread, in characters, before it gets no more until it has read that. */
const MAX_UNREAD = 16 * 1024

/** The empty id: who loses the connection within the list that follows must not go on from an earlier position. */
const RESET = 'event: reset\nid:\ndata: {}\n\n'

interface WatcherOptions {
  /** By `performance.now()`. */
  readonly endAt: number
  /** How long the client waits before it comes again, in milliseconds. */
  readonly retry: number
  readonly onEnd: (watcher: Watcher) => void
}

export class Watcher implements Follower, LiveBody {
  sink: LiveSink | undefined
  shown: Shown
  group: Followers | undefined
  /** When its rights are checked again, when it last said something, and when it ends; by `performance.now()`. */
  checkAt = 0
  beatAt = 0
  readonly endAt: number
  ids: Set<Id> | undefined
  readonly #hub: Hub
  readonly #onEnd: (watcher: Watcher) => void
  readonly #retry: number
  readonly #abort = new AbortController()
  #queue: string[] = []
  #unread = 0
  /** The position of the last change that it got. */
  #position = ''
  /** Whether it has shown the whole list. */
  #isReady = false
  /** Whether it goes on from its position once the client has read what waits. */
  #isPaused = false
  #ended = false
  /** Counts the starts: what an earlier one still reads is dropped. */
  #start = 0
  /** Whether what is written must wait for the client. */
  #isBlocked = true
  #onTaken: (() => void) | undefined

  constructor(shown: Shown, hub: Hub, { endAt, retry, onEnd }: WatcherOptions) {
    this.shown = shown
    this.#hub = hub
    this.endAt = endAt
    this.#onEnd = onEnd
    this.#retry = retry
  }

  get ended(): boolean {
    return this.#ended
  }

  resume(): void {
    this.#isBlocked = false
    const text = this.#queue.join('')
    this.#forget()
    if (text !== '') this.#write(text)
    if (this.#ended) this.sink?.end()
    else if (!this.#isBlocked) this.#goOn()
  }

  #goOn(): void {
    this.#onTaken?.()
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#hub.join(this, this.#position)
  }

  #write(text: string): void {
    this.#isBlocked = !this.sink?.write(text)
  }

  /** Ends it; what is queued is still read. @param resets whether the client is to forget the list. */
  end(resets = false): void {
    if (this.#ended) return
    if (resets) {
      this.#forget()
      this.push(RESET)
    }
    this.#ended = true
    this.#start++
    this.#leave()
    this.#abort.abort(new Error('The stream has ended'))
    this.#onTaken?.()
    if (!this.#isBlocked) this.sink?.end()
    this.#onEnd(this)
  }

  /** Begins, or begins anew. @param position from which the client goes on; absent: with the whole list. */
  begin(position?: string): void {
    if (this.#ended) return
    this.#leave()
    this.#forget()
    this.push(`retry: ${this.#retry}\n\n`)
    this.#isReady = false
    const start = ++this.#start
    if (position !== undefined && this.shown.matches) this.#hub.join(this, position)
    else this.#list(start).catch(error => this.#fail(start, error))
  }

  #leave(): void {
    this.group?.delete(this)
    this.group = undefined
    this.#isPaused = false
  }

  /** Drops what the client has not read. */
  #forget(): void {
    this.#queue = []
    this.#unread = 0
  }

  /** Says that it is alive; and from where it would go on, so that this does not become too old. */
  beat(): void {
    if (this.#unread > 0) return
    const seconds = Math.floor(this.#hub.late / 1000)
    const late = seconds > 0 ? `event: late\ndata: {"seconds":${seconds}}\n` : ':\n'
    this.push(`${late}${this.#printId()}\n`)
  }

  tell(update: ListUpdate, position: string, isCurrent: boolean): void {
    this.#position = position
    if (this.#isReady) {
      update.printed ??= printUpdate(update, this.#printId())
      this.push(update.printed)
    } else {
      this.#isReady = isCurrent
      const ready = isCurrent ? `event: ready\n${this.#printId()}data: {}\n\n` : ''
      this.push(printUpdate(update, '') + ready)
    }
    if (this.#unread <= MAX_UNREAD) return
    this.#leave()
    this.#isPaused = true
  }

  /** Prints the position of the last event, if the client may go on from there. */
  #printId(): string {
    const isKnown = this.#isReady && this.shown.matches
    return isKnown ? `id: ${this.shown.key}.${this.#position}\n` : ''
  }

  push(text: string): void {
    if (this.#ended || text === '') return
    this.beatAt = performance.now()
    if (!this.#isBlocked) this.#write(text)
    else {
      this.#queue.push(text)
      this.#unread += text.length
    }
  }

  /** Shows the list as it is, piece by piece as the client reads it. */
  async #list(start: number): Promise<void> {
    const { shown } = this
    const isOver = () => this.#start !== start
    this.ids = shown.matches ? undefined : new Set()
    this.push(RESET)
    await this.#taken()
    const position = isOver() ? '' : await this.#hub.findPosition()
    if (isOver()) return
    for await (const batch of shown.list(this.#abort.signal)) {
      if (isOver()) return
      for (const { id } of batch) this.ids?.add(id)
      const items = await shown.print(batch)
      if (isOver()) return
      this.push(`event: items\ndata: [${items}]\n\n`)
      await this.#taken()
      if (isOver()) return
    }
    this.#hub.join(this, position)
  }

  #fail(start: number, error: unknown): void {
    if (this.#start !== start) return
    this.#hub.report(error)
    this.end()
  }

  /** Waits until all that is queued is read. */
  async #taken(): Promise<void> {
    while (this.#isBlocked && !this.#ended) {
      await new Promise<void>(resolve => {
        this.#onTaken = resolve
      })
    }
  }
}

/** @param id only of the last event: who misses the others reads them again. */
function printUpdate({ items, removed }: ListUpdate, id: string): string {
  const put = items && `event: items\n${removed ? '' : id}data: [${items}]\n\n`
  return removed ? `${put}event: removed\n${id}data: [${removed}]\n\n` : put
}
