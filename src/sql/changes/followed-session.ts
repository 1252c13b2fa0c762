// The way to a database whose changes are followed: it tells of each write that has ended.
import type { StoreOptions } from '../../store/store.ts'
import type { SqlDatabase } from '../databases/database.ts'
import type { Runner, SharedWork, SingleStatement } from '../session/runner.ts'
import { Session } from '../session/session.ts'
import type { SharedDatabase } from '../session/shared-database.ts'

export class FollowedSession extends Session {
  readonly #shared: SharedDatabase

  constructor(shared: SharedDatabase, database: SqlDatabase, timeout: number | undefined) {
    super(shared, database, timeout)
    this.#shared = shared
  }

  override write<T>(
    work: (runner: Runner) => Promise<T>,
    options?: StoreOptions,
    single?: boolean,
  ): Promise<T> {
    return this.#tell(super.write(work, options, single))
  }

  override writeShared<Input, Result>(
    input: Input,
    work: SharedWork<Input, Result>,
    options?: StoreOptions,
    single?: SingleStatement,
  ): Promise<Result> {
    return this.#tell(super.writeShared(input, work, options, single))
  }

  override transaction<T>(
    work: (runner: Runner, exclusive: boolean) => Promise<T>,
    options: StoreOptions,
  ): Promise<T> {
    return this.#tell(super.transaction(work, options))
  }

  #tell<T>(written: Promise<T>): Promise<T> {
    const tell = () => {
      for (const wake of this.#shared.listeners ?? []) wake()
    }
    if (this.#shared.listeners?.size) written.then(tell, () => undefined)
    return written
  }
}
