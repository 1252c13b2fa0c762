import { expect, test } from 'vitest'
import { drawCar } from '../../examples/picture.ts'
import { parseLink } from '../../src/rules/index.ts'
import { jsonOf, start } from './running.ts'

interface Root {
  readonly url: string
  readonly resources: Readonly<Record<string, { readonly url: string }>>
  readonly versions: unknown
}

interface Photo {
  readonly id: string
  readonly comment: string
}

const png = drawCar('red', 16)

test('under a prefix in Express 5, after a body parser', async () => {
  const running = start('express', [], { PORT: '0', DATABASE: ':memory:' })
  const [, root = ''] = await running.until(/^Serving (\S+)\n/)
  const origin = new URL(root).origin
  expect(root).toBe(`${origin}/api/v2/`)

  // Every address that it prints begins with the mount and leads somewhere.
  const described = await jsonOf<Root>(await fetch(`${origin}/api`))
  expect(described.url).toBe(`${origin}/api/`)
  expect(described.versions).toEqual({ v1: { url: `${origin}/api/v1/` }, v2: { url: root } })
  for (const { url } of Object.values(described.resources)) {
    expect(url.startsWith(root)).toBe(true)
    expect((await fetch(url)).status).toBe(200)
  }
  const page = await fetch(`${root}cars?color=red&limit=2`)
  const links = parseLink(page.headers.get('link') ?? '') ?? []
  expect(links.map(({ rel }) => rel)).toContain('next')
  for (const { href } of links) {
    expect(href.startsWith(`${root}cars?`)).toBe(true)
    expect((await fetch(href)).status).toBe(200)
  }

  // A body that express.json() has read already; one that it leaves alone.
  const made = await fetch(`${root}photos`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ comment: 'Parsed before', photo_data: png.toString('base64') }),
  })
  const photo = await jsonOf<Photo>(made)
  expect([made.status, photo.comment]).toEqual([201, 'Parsed before'])
  expect(made.headers.get('location')).toBe(`${root}photos/${photo.id}`)
  const body = new FormData()
  body.set('comment', 'Changed')
  body.set('photo', new Blob([new Uint8Array(png)]), 'car.png')
  const put = await fetch(`${root}photos/${photo.id}`, { method: 'PUT', body })
  expect([put.status, put.url, (await jsonOf<Photo>(put)).comment]).toEqual([
    200,
    `${root}photos/${photo.id}`,
    'Changed',
  ])

  // What is not the api's own goes on to the routes that follow.
  for (const path of ['/', '/other', '/api/v9/cars', '/api/nothing', '/apiv1/cars']) {
    const response = await fetch(origin + path)
    expect([response.status, await response.text()]).toEqual([
      404,
      `Express has nothing at ${path}\n`,
    ])
  }
  // What is missing below one of its paths does not.
  const missing = await fetch(`${root}cars/999999`)
  expect(missing.status).toBe(404)
  expect(await missing.json()).toMatchObject({ errors: [{ code: 404 }] })
  await running.ended('SIGTERM')
})
