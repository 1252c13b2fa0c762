// What a pool of pg needs: listeners for lost connections, and a time-out for silent ones.

/** A connection of pg, as far as it is used here. */
export interface PostgresClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  readonly connection?: {
    readonly stream?: {
      // A socket has it, though the type of pg says less.
      setTimeout?(milliseconds: number, listener: () => void): unknown
      destroy(): unknown
    }
  }
}

/** The pool of pg, as far as it is used here. */
export interface PostgresPool {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** Options of `preparePostgres`. */
export interface PreparePostgresOptions {
  /** Called with each connection that is lost. */
  readonly onError?: ((error: Error) => void) | undefined
  /**
   * After how many milliseconds without a byte a connection is closed, as after a failover that ended
   * none. It must be longer than any statement takes: than the `timeout` of the stores, and than an index
   * that `create` makes. Default 60,000.
   */
  readonly socketTimeout?: number | undefined
}

/**
 * Prepares a pool of pg once, before it is used. Without listeners for lost connections Node ends the
 * process. A call that a lost connection was serving throws an `UnavailableError`; the pool replaces
 * the connection.
 * @param given the options, or `onError` alone.
 */
export function preparePostgres<Pool extends PostgresPool>(
  pool: Pool,
  given: PreparePostgresOptions | ((error: Error) => void) = {},
): Pool {
  const { onError = () => {}, socketTimeout = 60_000 } =
    typeof given === 'function' ? { onError: given } : given
  pool.on('error', onError)
  // A connection in use tells its own listeners only.
  pool.on('connect', client => {
    client.on('error', onError)
    const socket = client.connection?.stream
    socket?.setTimeout?.(socketTimeout, () => socket.destroy())
  })
  return pool
}
