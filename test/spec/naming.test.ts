// Specification, "Naming conventions for fields": each row, as a schema that follows it.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  blob,
  defineApi,
  defineCollection,
  type Item,
  memoryBlobs,
  memoryStore,
} from '../../src/index.ts'
import { eachHandler } from '../handlers.ts'

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

function named() {
  const makers = defineCollection({
    name: 'makers',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    idField: 'identifier',
  })
  const numbers = defineCollection({
    name: 'numbers',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    idField: 'identifier',
    id: 'integer',
  })
  const cars = defineCollection({
    name: 'cars',
    schema: z.object({
      name: z.string(),
      maker_identifier: z.string().optional(),
      number_id: z.int().optional(),
      manual_url: z.url().optional(),
      manual_href: z.url().optional(),
      registered_on: z.iso.date().optional(),
      inspected_at: z.iso.datetime({ offset: true }).optional(),
    }),
    store: memoryStore(),
    parents: { maker_identifier: 'makers', number_id: 'numbers' },
  })
  const photos = {
    name: 'photos',
    schema: z.object({ comment: z.string().default(''), photo: blob() }),
    store: memoryStore(),
    blobs: memoryBlobs(),
  }
  return defineApi({
    versions: [
      { version: 1, collections: [makers, numbers, cars, defineCollection(photos)] },
      { version: 2, collections: [defineCollection({ ...photos, binary: 'object' })] },
    ],
  })
}

describe('Naming conventions for fields', () => {
  eachHandler(named, handler => {
    const create = async (path: string, json: object) => {
      const answer = await handler.request(path, { method: 'POST', json })
      return { answer, item: answer.json as Item }
    }

    it('identify a resource: id', async () => {
      const { item } = await create('/v1/cars', { name: 'a' })
      expect(Object.keys(item)[0]).toBe('id')
      expect(await handler.request(`/v1/cars/${item.id}`)).toMatchObject({
        status: 200,
        json: { id: item.id },
      })
    })

    it('identify a resource: identifier', async () => {
      const { item, answer } = await create('/v1/makers', { name: 'a' })
      expect(item).not.toHaveProperty('id')
      expect(Object.keys(item)[0]).toBe('identifier')
      expect(answer.headers.get('location')).toBe(`${handler.base}/v1/makers/${item.identifier}`)
      expect(
        await handler.request(`/v1/makers?identifier=${item.identifier}&fields=identifier`),
      ).toMatchObject({ json: [{ identifier: item.identifier }] })
      expect(await handler.request('/v1/makers?sort=-identifier')).toMatchObject({ status: 200 })
      const put = await handler.request(`/v1/makers/${item.identifier}`, {
        method: 'PUT',
        json: { ...item, identifier: 'x' },
      })
      expect(put).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'identifier', type: 'immutable_field' }] },
      })
      expect((await create('/v1/numbers', { name: 'a' })).item).toMatchObject({ identifier: 1 })
      const same = await handler.request('/v1/numbers/1', {
        method: 'PUT',
        json: { name: 'a', identifier: '1' },
      })
      expect(same).toMatchObject({ status: 303 })
      const other = await handler.request('/v1/numbers/1', {
        method: 'PUT',
        json: { name: 'a', identifier: '2' },
      })
      expect(other.status).toBe(400)
      const created = await create('/v1/numbers', { name: 'b', identifier: null })
      expect(created.item).toMatchObject({ identifier: 2 })
      expect(await handler.request('/v1/numbers/1')).toMatchObject({ json: { identifier: 1 } })
    })

    for (const name of ['manual_url', 'manual_href']) {
      it(`reference another resource by address: ${name}`, async () => {
        const value = 'https://docs.example/clio.pdf?page=1&x=a,b'
        const { item } = await create('/v1/cars', { name: 'a', [name]: value })
        expect(item).toMatchObject({ [name]: value })
        expect(
          await handler.request(`/v1/cars?${name}=${encodeURIComponent(value)}`),
        ).toMatchObject({
          json: [{ [name]: value }],
        })
        expect(
          (await create('/v1/cars', { name: 'a', [name]: 'no address' })).answer,
        ).toMatchObject({ status: 400, json: { errors: [{ field: name }] } })
      })
    }

    it('reference another entity by identifier: the suffix _identifier, served as a sub-collection too', async () => {
      const { item: maker } = await create('/v1/makers', { name: 'a' })
      const { item: car } = await create(`/v1/makers/${maker.identifier}/cars`, { name: 'b' })
      expect(car).toMatchObject({ maker_identifier: maker.identifier })
      expect(await handler.request(`/v1/makers/${maker.identifier}/cars`)).toMatchObject({
        json: [car],
      })
      expect(
        (await create('/v1/cars', { name: 'b', maker_identifier: 'nobody' })).answer,
      ).toMatchObject({ status: 400, json: { errors: [{ field: 'maker_identifier' }] } })
    })

    it('reference another entity by identifier: the suffix _id, of a counted one', async () => {
      await create('/v1/numbers', { name: 'a' })
      const { item: car } = await create('/v1/numbers/1/cars', { name: 'b' })
      expect(car).toMatchObject({ number_id: 1 })
      expect(await handler.request('/v1/numbers/1/cars')).toMatchObject({ json: [car] })
    })

    it('binary property, by download address: <property>_url', async () => {
      const { item } = await create('/v1/photos', { photo_data: PNG })
      expect(item.photo_url).toMatch(new RegExp(`^${handler.base}/v1/photos/${item.id}/photo`))
      expect((await handler.request(String(item.photo_url))).headers.get('content-type')).toBe(
        'image/png',
      )
    })

    it('binary property, by download address: url in an object', async () => {
      const { item } = await create('/v2/photos', { photo: { data: PNG } })
      expect(item.photo).toMatchObject({
        url: expect.stringContaining(`${handler.base}/v2/photos/${item.id}/photo`),
      })
    })

    it('binary property, inline: <property>_data', async () => {
      const { item } = await create('/v1/photos', { photo_data: PNG })
      expect(await handler.request(`/v1/photos/${item.id}?fields=photo_data`)).toMatchObject({
        json: { photo_data: PNG },
      })
    })

    it('binary property, inline: data in an object', async () => {
      const { item } = await create('/v2/photos', { photo: { data: PNG } })
      expect(await handler.request(`/v2/photos/${item.id}?fields=photo.data`)).toMatchObject({
        json: { photo: { data: PNG } },
      })
    })

    it('binary property, inline: <property>_data of an object, by both names', async () => {
      const { item } = await create('/v2/photos', { photo: { data: PNG } })
      const answers = await Promise.all(
        ['photo_data', 'photo_data,photo.data', 'photo_data,photo.url'].map(fields =>
          handler.request(`/v2/photos/${item.id}?fields=${fields}`),
        ),
      )
      expect(answers.map(({ json }) => json)).toEqual([
        { photo_data: PNG },
        { photo: { data: PNG }, photo_data: PNG },
        { photo: { url: expect.any(String) }, photo_data: PNG },
      ])
      const list = await handler.request('/v2/photos?fields=photo_data')
      expect(list.json).toContainEqual({ photo_data: PNG })
    })

    const dates: readonly [field: string, value: string, status: number][] = [
      ['registered_on', '2024-02-29', 201],
      ['registered_on', '2023-02-29', 400],
      ['registered_on', '2024-02-30', 400],
      ['registered_on', '29/02/2024', 400],
      ['registered_on', '2024-2-9', 400],
      ['registered_on', '2024-02-29T00:00:00Z', 400],
      ['inspected_at', '2024-02-29T10:00:00Z', 201],
      ['inspected_at', '2024-02-29T10:00:00.123+01:00', 201],
      ['inspected_at', '2023-02-29T10:00:00Z', 400],
      ['inspected_at', '2024-02-29T25:00:00Z', 400],
      ['inspected_at', '2024-02-29', 400],
      ['inspected_at', 'Thu, 29 Feb 2024 10:00:00 GMT', 400],
    ]
    for (const [field, value, status] of dates) {
      it(`${field === 'registered_on' ? 'date, ISO 8601 short' : 'date and time, ISO 8601 full'}: ${value} is ${status === 201 ? 'one' : 'none'}`, async () => {
        const { answer, item } = await create('/v1/cars', { name: 'a', [field]: value })
        expect(answer.status).toBe(status)
        if (status === 201) expect(item[field]).toBe(value)
        else expect(answer.json).toMatchObject({ errors: [{ field }] })
      })
    }

    it('the dates of the server are of the full form', async () => {
      const { item } = await create('/v1/cars', { name: 'a' })
      for (const name of ['created_at', 'updated_at']) {
        expect(item[name]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        expect(Number.isNaN(Date.parse(String(item[name])))).toBe(false)
      }
    })
  })

  it('an id of another name is a TypeError at definition', () => {
    const store = memoryStore()
    const schema = z.object({ id: z.int(), name: z.string() })
    expect(() => defineCollection({ name: 'x', schema, store })).toThrow(TypeError)
    expect(() =>
      defineCollection({ name: 'x', schema: z.object({ created_at: z.string() }), store }),
    ).toThrow(TypeError)
  })
})
