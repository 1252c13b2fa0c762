// json-server 0.17 with its data in memory: nothing is validated, nothing written to a file.
import jsonServer from 'json-server'

export const name = 'json-server 0.17'
export const works = ['W1', 'W2', 'W3', 'W4']
export const page = (color, offset) => `/cars?color=${color}&_start=${offset}&_limit=25`
export const readPage = ({ body, headers }) => ({
  items: body,
  total: Number(headers.get('x-total-count')),
})

export function start(cars) {
  const app = jsonServer.create()
  app.use(jsonServer.defaults({ logger: false, readOnly: false, noCors: false }))
  app.use(jsonServer.router({ cars }))
  return app.listen(0, '127.0.0.1')
}
