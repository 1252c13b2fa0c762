import { createServer } from 'node:http'
import { z } from 'zod'
import { defineCollection, memoryStore } from '../src/index.ts'

const Car = z.object({ immatriculation: z.string(), color: z.string(), price: z.number() })
const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore() })
const server = createServer(cars.handler).listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
server.once('listening', () => console.log('Serving /cars', server.address()))
