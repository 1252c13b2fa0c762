// `fields` selects columns too; a table has the name of a file; an XML item with its server-owned properties is accepted back.
import { expect, it } from 'vitest'
import { z } from 'zod'
import { csv } from '../../src/formats/csv.ts'
import { xml } from '../../src/formats/xml/xml.ts'
import { defineApi, defineCollection, json, memoryStore } from '../../src/index.ts'

const Car = z.object({ color: z.string(), model: z.object({ name: z.string(), year: z.int() }) })

function carsApi() {
  const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore(), id: 'integer' })
  return { cars, api: defineApi({ collections: [cars], formats: [json, xml, csv] }) }
}

it('CSV has the selected columns and no others', async () => {
  const { api, cars } = carsApi()
  await api.collection(cars).create({ color: 'red', model: { name: 'Clio', year: 2020 } })
  const answer = await api.fetch(new Request('http://api.test/cars.csv?fields=model.name,id'))
  expect(await answer.text()).toBe('id,model.name\r\n1,Clio\r\n')
})

it.each([
  ['GET', 'cars.csv', 'attachment; filename="cars.csv"; filename*=UTF-8\'\'cars.csv'],
  ['HEAD', 'cars.csv', 'attachment; filename="cars.csv"; filename*=UTF-8\'\'cars.csv'],
  ['GET', 'cars.csv?limit=1', 'attachment; filename="cars.csv"; filename*=UTF-8\'\'cars.csv'],
  ['HEAD', 'cars.csv?limit=1', 'attachment; filename="cars.csv"; filename*=UTF-8\'\'cars.csv'],
  ['GET', 'cars/count.csv', null],
  ['GET', 'cars.csv?colour=red', null],
  ['GET', 'cars.xml', null],
  ['GET', 'cars', null],
])('%s /%s has the name of a file: %s', async (method, path, expected) => {
  const { api } = carsApi()
  const { headers } = await api.fetch(new Request(`http://api.test/${path}`, { method }))
  expect(headers.get('content-disposition')).toBe(expected)
})

it('an XML item is accepted back by PUT as it is', async () => {
  const { api, cars } = carsApi()
  const { id } = await api
    .collection(cars)
    .create({ color: 'red', model: { name: 'Clio', year: 2020 } })
  const url = `http://api.test/cars/${id}.xml`
  const body = await (await api.fetch(new Request(url))).text()
  expect(body).toContain('<id>1</id>')
  const headers = { 'content-type': 'application/xml' }
  const answer = await api.fetch(new Request(url, { method: 'PUT', headers, body }))
  expect(answer.status).toBe(303)
})
