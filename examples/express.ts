// The api as a guest: mounted under a prefix in Express 5, after a body parser.
import express from 'express'
import { carsApi } from './cars-api.ts'
import { seed } from './seed.ts'
import { openStores } from './stores.ts'

const cars = carsApi(await openStores(process.env.DATABASE || ':memory:'))
await seed(cars)

const app = express()
app.use(express.json())
app.use('/api', cars.api.handler)
// Whatever is not the api's own comes here, below /api too.
app.use((request, response) => {
  response.status(404).type('text/plain').send(`Express has nothing at ${request.originalUrl}\n`)
})

const server = app.listen(Number(process.env.PORT || 3000), '127.0.0.1', error => {
  if (error) throw error
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  console.log(`Serving http://127.0.0.1:${port}/api/v1/`)
})
