// A JSON file that is the data: read whole, and replaced whole at each write.
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { describeInexact, findInexact } from '../../base/exact-numbers.ts'
import { isObject } from '../../base/values.ts'
import { UnavailableError } from '../../store/errors.ts'
import { CommandError } from '../output/command-error.ts'

/** What a file says. */
interface FileState {
  /** The file as it was read or written last. */
  readonly text: string
  /** By name a list of items, or one object. */
  readonly data: Record<string, unknown>
}

export class JsonFile {
  readonly path: string
  readonly #warn: (line: string) => void
  #state: FileState

  /** @param warn gets what the operator must know. @throws CommandError */
  constructor(path: string, warn: (line: string) => void) {
    // A link stays one.
    this.path = realpathSync(path)
    this.#warn = warn
    this.#state = parse(this.path, read(this.path))
  }

  get data(): Record<string, unknown> {
    return this.#state.data
  }

  /**
   * Reads the file again, and lets its new data be applied. After an error all is as before, and writes are refused:
   * they would undo what another program has written.
   * @returns whether it has changed.
   */
  async reload(apply: () => Promise<void>): Promise<boolean> {
    const before = this.#state
    const text = read(this.path)
    if (text === before.text) return false
    this.#state = parse(this.path, text)
    try {
      await apply()
    } catch (error) {
      this.#state = before
      throw error
    }
    return true
  }

  /**
   * Writes the data beside the file, then over it: whoever reads it finds the old file or the new one.
   * @throws UnavailableError if it cannot be written, or another program has changed it.
   */
  save(): void {
    const { data } = this
    const text = `${JSON.stringify(data, undefined, 2)}\n`
    const beside = `${this.path}.${process.pid}.new`
    try {
      if (read(this.path) !== this.#state.text)
        throw new CommandError(`${this.path} was changed by another program`)
      writeFileSync(beside, text, { flag: 'wx' })
      chmodSync(beside, statSync(this.path).mode)
      syncFile(beside)
      renameSync(beside, this.path)
      this.#state = { text, data }
    } catch (error) {
      rmSync(beside, { force: true })
      this.#warn(`A write is refused: ${error instanceof Error ? error.message : error}\n`)
      throw new UnavailableError('The file cannot be written, or another program has changed it', {
        cause: error,
      })
    }
  }
}

/** So that a loss of power leaves one of the two. */
function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandError(`Cannot read ${path}. ${error instanceof Error ? error.message : error}`)
  }
}

function parse(path: string, text: string): FileState {
  const plain = text.replace(/^\uFEFF/, '')
  const inexact = findNumber(plain)
  if (inexact) throw new CommandError(`${path}: a number ${inexact}`)
  try {
    const data: unknown = JSON.parse(plain)
    if (isObject(data)) return { text, data }
  } catch (error) {
    const why = error instanceof Error ? error.message : error
    throw new CommandError(`${path} is not valid JSON: ${why}`)
  }
  throw new CommandError(
    `${path} must hold an object with a list for each collection, such as { "posts": [] }`,
  )
}

function findNumber(text: string): string | undefined {
  const inexact = findInexact(text)
  return inexact && describeInexact(inexact.digits)
}
