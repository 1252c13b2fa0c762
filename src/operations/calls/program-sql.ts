// The SQL of a program's own within a transaction: `tx.sql(cars)`.
import type { FindSql, NamedCollection } from '../../model/types/hooks.ts'
import type { CallScope } from './context.ts'
import { resolveCollection } from './resolve-collection.ts'

/** Creates the function that finds the query builder of a collection's database, in the transaction of the scope. */
export function createFindSql(scope: CallScope): FindSql {
  const find = (wanted: NamedCollection = scope.own ?? '') => {
    const { collection } = resolveCollection(scope, wanted)
    const { name } = collection
    const { transaction } = scope
    if (!transaction)
      throw new TypeError(
        `${name}: sql() needs a transaction. Call it as tx.sql() in transaction(), or set transaction: true for the hooks or the action`,
      )
    transaction.requireMember(collection)
    const { sql } = transaction.storeOf(collection)
    if (sql === undefined)
      throw new TypeError(
        `${name}: sql() needs a store of a SQL database, such as sqlStore({ db }). Set that store, or use collection('${name}')`,
      )
    return sql
  }
  return find as FindSql // the types come with the collection
}
