// A JSON file as a database: it is read as a whole, and each write replaces it as a whole.
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

/** The content of a file. */
interface FileState {
  /** The JSON as it was last read or written. */
  readonly text: string
  /** Lists of items and single objects, by name. */
  readonly data: Readonly<Record<string, unknown>>
}

export class JsonFile {
  readonly path: string
  readonly #warn: (line: string) => void
  #state: FileState

  /** @param warn gets lines for the operator. @throws CommandError */
  constructor(path: string, warn: (line: string) => void) {
    // A symbolic link stays: a write replaces the file that it points to.
    this.path = realpathSync(path)
    this.#warn = warn
    this.#state = parse(this.path, read(this.path))
  }

  get data(): FileState['data'] {
    return this.#state.data
  }

  /**
   * Reads the file again and applies its new data. After an error the old data stay, and writes fail: they would
   * overwrite what another program wrote.
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
   * Replaces the value of a name. The data go to a temporary file, which is renamed to the path: a reader finds the old
   * file or the new one.
   * @throws UnavailableError if it cannot be written, or another program has changed it.
   */
  save(name: string, value: unknown): void {
    const data = { ...this.data, [name]: value }
    const text = `${JSON.stringify(data, undefined, 2)}\n`
    const temporary = `${this.path}.${process.pid}.new`
    try {
      if (read(this.path) !== this.#state.text)
        throw new CommandError(`${this.path} was changed by another program`)
      writeFileSync(temporary, text, { flag: 'wx' })
      chmodSync(temporary, statSync(this.path).mode)
      syncFile(temporary)
      renameSync(temporary, this.path)
      this.#state = { text, data }
    } catch (error) {
      rmSync(temporary, { force: true })
      this.#warn(`A write failed: ${error instanceof Error ? error.message : error}\n`)
      throw new UnavailableError('The file cannot be written, or another program has changed it', {
        cause: error,
      })
    }
  }
}

/** Flushes a file to the disk, so that a loss of power leaves the old file or the new one. */
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
  const inexact = findInexact(plain)
  if (inexact) throw new CommandError(`${path}: a number ${describeInexact(inexact.digits)}`)
  try {
    const data: unknown = JSON.parse(plain)
    if (isObject(data)) return { text, data }
  } catch (error) {
    const why = error instanceof Error ? error.message : error
    throw new CommandError(`${path} is not valid JSON, nor a SQLite file: ${why}`)
  }
  throw new CommandError(
    `${path} must hold an object with a list for each collection, such as { "posts": [] }`,
  )
}
