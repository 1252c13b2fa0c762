// The api mounted under a prefix in Express 5, after a body parser.
import express from 'express'
import { carsApi } from './cars-api.ts'
import { seed } from './seed.ts'
import { openStores } from './stores.ts'

const { DATABASE = ':memory:', BLOBS = ':memory:', PORT = '3000' } = process.env
const { storeFor, blobs, seeding } = await openStores(DATABASE, BLOBS)
const cars = carsApi(storeFor, blobs)
await seed(cars, seeding)

const app = express()
app.use(express.json())
app.use('/api', cars.api.handler)
// All other paths come here, below /api too.
app.use((request, response) => {
  response.status(404).type('text/plain').send(`Express has nothing at ${request.originalUrl}\n`)
})

const server = app.listen(Number(PORT), '127.0.0.1', error => {
  if (error) throw error
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  console.log(`Serving http://127.0.0.1:${port}/api/v2/`)
})
