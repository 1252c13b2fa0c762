// The same with statements by hand, prepared once, on the driver that ours uses; it commits as ours
// does: to the disk.
import Database from 'libsql'
import { serve } from './fastify.js'

export const name = 'Fastify + libsql by hand'

const COLUMNS =
  'immatriculation, color, model_name, model_brand, price, mileage, sold, created_at, updated_at'

export function start(cars) {
  const database = new Database(process.env.DATABASE)
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  database.exec(`create table cars (
    id integer primary key autoincrement, immatriculation text not null, color text not null,
    model_name text not null, model_brand text not null, price real not null,
    mileage integer not null, sold integer not null,
    created_at text not null, updated_at text not null
  )`)
  database.exec('create index cars_color on cars (color, id)')
  const store = sqliteStore(database)
  database.transaction(() => {
    for (const { created_at, ...values } of cars) store.create(values, created_at)
  })()
  return serve(store)
}

function sqliteStore(database) {
  const get = database.prepare('select * from cars where id = ?')
  const page = database.prepare('select * from cars where color = ? order by id limit ? offset ?')
  const count = database.prepare('select count(*) as total from cars where color = ?')
  const insert = database.prepare(
    `insert into cars (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return {
    get(id) {
      const row = get.get(id)
      return row && carOf(row)
    },
    page: (color, offset, limit) => ({
      items: page.all(color, limit, offset).map(carOf),
      total: count.get(color).total,
    }),
    create(values, date = new Date().toISOString()) {
      const { immatriculation, color, model, price, mileage, sold } = values
      const row = [immatriculation, color, model.name, model.brand, price, mileage, sold ? 1 : 0]
      const { lastInsertRowid } = insert.run(...row, date, date)
      return { ...values, id: Number(lastInsertRowid), created_at: date, updated_at: date }
    },
  }
}

function carOf({ model_name, model_brand, sold, ...row }) {
  return { ...row, model: { name: model_name, brand: model_brand }, sold: sold === 1 }
}
