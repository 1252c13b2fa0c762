// Tells a file of SQLite by its first bytes.
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { CommandError } from '../output/command-error.ts'

const HEADER = 'SQLite format 3'
const NAMED = /\.(?:db3?|sqlite3?)$/i

/** Whether a file is one of SQLite, which an empty file is too if it is named so. @throws CommandError */
export function isSqliteFile(path: string): boolean {
  if (!existsSync(path)) throw new CommandError(`Cannot read ${path}. There is no such file`)
  if (!statSync(path).isFile()) throw new CommandError(`${path} is not a file`)
  const file = openSync(path, 'r')
  try {
    const first = Buffer.alloc(HEADER.length)
    const length = readSync(file, first)
    if (first.toString('latin1') === HEADER) return true
    if (length > 0 && NAMED.test(path))
      throw new CommandError(
        `${path} is not a SQLite file: it does not begin with "${HEADER}". Give another file, or rename it if it is JSON`,
      )
    return length === 0 && NAMED.test(path)
  } finally {
    closeSync(file)
  }
}
