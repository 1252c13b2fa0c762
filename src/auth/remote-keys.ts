// The keys that an issuer publishes at an address (RFC 7517 §5): fetched when needed, and again while they are used.

/** How long a fetch may take, and the least time between two of them, in milliseconds. */
const TIMEOUT_MS = 2000
const PAUSE_MS = 5000

export interface RemoteKeysOptions<KeySet> {
  /** How old a set may be until it is asked for again, in milliseconds; at least 5,000 count. */
  readonly maxAge: number
  /** For how long an older one serves while none comes, in milliseconds. */
  readonly staleTime: number
  /** Builds a set from the JSON of the issuer. @throws for what is none. */
  readonly build: (json: unknown) => KeySet
}

/** Fetches the keys at an address: one fetch serves all who need it. */
export class RemoteKeys<KeySet> {
  readonly #uri: string
  readonly #options: RemoteKeysOptions<KeySet>
  readonly #maxAge: number
  #set: KeySet | undefined
  #text = ''
  #came = Number.NEGATIVE_INFINITY
  #asked = Number.NEGATIVE_INFINITY
  /** Why the last fetch failed; `undefined` after one that brought a set. */
  #failure: unknown
  #fetching: Promise<void> | undefined
  /** Counts the different sets that came: what was verified by an earlier one counts no more. */
  generation = 0

  constructor(uri: string, options: RemoteKeysOptions<KeySet>) {
    this.#uri = uri
    this.#options = options
    this.#maxAge = Math.max(options.maxAge, PAUSE_MS)
  }

  /** How long what is verified now may count without another look, in milliseconds. */
  get lifetime(): number {
    const until = this.#failure === undefined ? this.#came + this.#maxAge : this.#asked + PAUSE_MS
    return until - performance.now()
  }

  /** Gets the set. @throws why the last fetch failed, where no set is young enough. */
  async get(): Promise<KeySet> {
    if (performance.now() >= this.#came + this.#maxAge) {
      const fetching = this.#fetch()
      // After a failure nobody waits for the next one: the old set serves meanwhile.
      if (IS_WORKERS || this.#failure === undefined || !this.#findUsable()) await fetching
    }
    const set = this.#findUsable()
    if (set) return set
    throw this.#failure
  }

  /** Gets the set after it lacked a key: a new one, unless one has just come. @throws why the last fetch failed. */
  async getNewer(): Promise<KeySet> {
    await this.#fetch()
    if (this.#failure !== undefined) throw this.#failure
    return this.get()
  }

  #findUsable(): KeySet | undefined {
    const until = this.#came + this.#maxAge + this.#options.staleTime
    return performance.now() < until ? this.#set : undefined
  }

  /** Fetches a set, or waits for the fetch that runs; at once where the last one began a moment ago. */
  #fetch(): Promise<void> | undefined {
    if (this.#fetching && !IS_WORKERS) return this.#fetching
    if (!this.#fetching && performance.now() < this.#asked + PAUSE_MS) return undefined
    this.#asked = performance.now()
    const fetching = this.#load().finally(() => {
      if (this.#fetching === fetching) this.#fetching = undefined
    })
    this.#fetching = fetching
    return fetching
  }

  async #load(): Promise<void> {
    try {
      const response = await fetch(this.#uri, {
        headers: { accept: 'application/json, application/jwk-set+json' },
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      if (response.status !== 200)
        throw new Error(`The keys at ${this.#uri} give ${response.status}, not 200`)
      const text = await response.text()
      const set = this.#options.build(JSON.parse(text))
      if (text !== this.#text) this.generation++
      this.#text = text
      this.#set = set
      this.#came = performance.now()
      this.#failure = undefined
    } catch (error) {
      this.#failure = error
    }
  }
}

/** There no request may wait for what another one began, which ends with that. */
const IS_WORKERS =
  // Node 20 has no navigator.
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent ===
  'Cloudflare-Workers'
