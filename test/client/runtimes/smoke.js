// What the client must do in every runtime; run with the address of an api, prints what came out of it.

/** @param createClient of the bundle. @param url of the api, over a line that loses the answer of the first write. */
export async function smoke(createClient, url) {
  const { cars, photos } = createClient(url, { timeout: 10_000 })
  const made = await cars.create({ color: 'red', price: 1 })
  const [one, same] = [await cars.read(made.id), await cars.read(made.id)]
  const patched = await cars.patch(made, { price: 2 })
  const lost = await cars
    .patch(made, { price: 3 })
    .catch(({ name, theirs }) => [name, theirs.price])
  const changed = await cars.change(made.id, ({ price }) => ({ price: price + 10 }))
  const seen = []
  for await (const { price } of cars.list({ color: ['red'], price: { gte: 2 } })) seen.push(price)
  const photo = new Blob(['GIF89a'], { type: 'image/gif' })
  const { comment } = await photos.create({ comment: 'Sun', photo })
  const aborted = await cars.count({}, { signal: AbortSignal.abort() }).catch(({ name }) => name)
  const invalid = await cars
    .create({ color: 7 })
    .catch(({ errors }) => errors.map(({ field }) => field))
  const count = await cars.count()
  // A QUERY of the runtime itself: from a page of another origin it needs a preflight.
  const query = '{"where":{"or":[{"price":12},{"color":"blue"}]},"fields":"price"}'
  const headers = { 'content-type': 'application/json' }
  const queried = await fetch(`${url}/cars`, { method: 'QUERY', headers, body: query })
  const found = await queried.json()
  await cars.delete(changed)
  const done = [one === same, patched.price, lost, seen, comment, aborted, invalid, count]
  return JSON.stringify([...done, found])
}
