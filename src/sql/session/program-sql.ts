// The Kysely of a transaction: statements of the program's own, in their turn among those of the stores.
import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
  Transaction,
} from 'kysely'
import type { SqlDatabase } from '../databases/database.ts'
import type { StatementSession } from './runner.ts'
import type { AnyKysely } from './shared-database.ts'

/** Statements that begin or end a transaction, or set savepoints, which the store does itself. */
const CONTROL =
  /^(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction|set\s+(?:local\s+|session\s+)?transaction)\b/i

/** What begins a string, a name or a comment: no statement begins within one. */
const OPENING = /'|"|--|\/\*|\$\w*\$/g
const CLOSINGS: Readonly<Record<string, string>> = { '--': '\n', '/*': '*/' }

/** Creates a Kysely whose statements are part of a transaction. Each may fail alone, as a write of a store does. */
export function createProgramSql(
  db: AnyKysely,
  session: StatementSession,
  database: SqlDatabase,
): Kysely<unknown> {
  const connection = new ProgramConnection(session, database)
  const executor = db
    .getExecutor()
    .withConnectionProvider({ provideConnection: consumer => consumer(connection) })
  return new ProgramSql({
    config: { dialect: REFUSED },
    driver: REFUSED,
    dialect: REFUSED,
    executor,
  })
}

class ProgramSql extends Transaction<unknown> {
  override transaction(): never {
    return refuse()
  }

  override startTransaction(): never {
    return refuse()
  }

  override async destroy(): Promise<never> {
    return refuse()
  }
}

class ProgramConnection implements DatabaseConnection {
  readonly #session: StatementSession
  readonly #database: SqlDatabase

  constructor(session: StatementSession, database: SqlDatabase) {
    this.#session = session
    this.#database = database
  }

  async executeQuery<R>(query: Parameters<DatabaseConnection['executeQuery']>[0]) {
    if (listStatements(query.sql, this.#database).some(each => CONTROL.test(each))) refuse()
    const session = this.#session
    session.running = (session.running ?? 0) + 1
    try {
      const result = await session.write(runner => runner.run({ ...query }))
      return result as QueryResult<R> // the type that the program gives its rows
    } finally {
      session.running--
    }
  }

  /** The rows come at once: a stream would hold the connection of the transaction. */
  async *streamQuery<R>(query: Parameters<DatabaseConnection['executeQuery']>[0]) {
    yield await this.executeQuery<R>(query)
  }
}

/** Splits a text into its statements. SQLite takes one alone, and so it is where the body of a function may hold others. */
function listStatements(text: string, database: SqlDatabase): readonly string[] {
  const plain = omitQuoted(text).trimStart()
  if (database.serial || /^create\b/i.test(plain)) return [plain]
  return plain.split(';').map(each => each.trimStart())
}

/** Leaves out strings, names and comments. A doubled quote ends one, and begins the next. */
function omitQuoted(text: string): string {
  let plain = ''
  let at = 0
  for (;;) {
    OPENING.lastIndex = at
    const opening = OPENING.exec(text)
    plain += text.slice(at, opening?.index)
    if (!opening) return plain
    plain += ' '
    const closing = CLOSINGS[opening[0]] ?? opening[0]
    const end = text.indexOf(closing, OPENING.lastIndex)
    if (end < 0) return plain
    at = end + closing.length
  }
}

function refuse(): never {
  throw new TypeError(
    'sql() runs in a transaction that the library begins and ends. Leave out begin, commit, rollback and savepoints. Throw an error to undo it.',
  )
}

/** The parts of a Kysely that would begin transactions, end them, or open connections. */
const REFUSED: Dialect & Driver = {
  createDriver: refuse,
  createQueryCompiler: refuse,
  createAdapter: refuse,
  createIntrospector: refuse,
  init: refuse,
  acquireConnection: refuse,
  beginTransaction: refuse,
  commitTransaction: refuse,
  rollbackTransaction: refuse,
  releaseConnection: refuse,
  destroy: refuse,
}
