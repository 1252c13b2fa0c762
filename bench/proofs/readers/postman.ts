// Postman's converter: how large its collection is, and whether the requests in it, as they are, are answered well.
import { drawCar } from '../../../examples/picture.ts'
import { listen, load, openExample, report } from './common.ts'

interface Postman {
  readonly default: {
    convertV2(
      source: { readonly type: 'json'; readonly data: object },
      options: object,
      done: (error: unknown, result: { readonly output?: readonly { data: Folder }[] }) => void,
    ): void
  }
}

interface Field {
  readonly key: string
  readonly value?: string
  readonly disabled?: boolean
}

/** A folder of requests, or one of them. */
interface Folder {
  readonly name: string
  readonly item?: readonly Folder[]
  readonly request?: {
    readonly method: string
    readonly header?: readonly Field[]
    readonly url: { readonly path: readonly string[]; readonly query?: readonly Field[] }
    readonly body?: {
      readonly raw?: string
      readonly formdata?: readonly (Field & { type: string })[]
    }
  }
}

/** What Postman's dialog has as «Parameter generation: Example» and «Enable optional parameters» off. */
const OPTIONS = {
  parametersResolution: 'Example',
  enableOptionalParameters: false,
  folderStrategy: 'Tags',
}

const postman = (await load<Postman>('openapi-to-postmanv2')).default

export async function convert(title: string, document: object, maxBytes: number): Promise<void> {
  const collection = await new Promise<Folder>((resolve, reject) =>
    postman.convertV2(
      { type: 'json', data: structuredClone(document) },
      OPTIONS,
      (error, result) => {
        const { data } = result?.output?.[0] ?? {}
        if (data) resolve(data)
        else reject(error)
      },
    ),
  )
  const bytes = JSON.stringify(collection).length
  const complaints = bytes > maxBytes ? [`More than ${maxBytes} bytes`] : []
  const { url, stop } = await listen(openExample().handler)
  const requests = listRequests(collection)
  const counts = new Map<number, number>()
  // What is created first is what others refer to. Deletions come last.
  const order = ['POST', 'GET', 'PATCH', 'PUT', 'DELETE']
  requests.sort((one, other) => orderOf(one) - orderOf(other))
  for (const { name, request } of requests) {
    if (!request) continue
    const { status, text } = await send(url, request)
    counts.set(status, (counts.get(status) ?? 0) + 1)
    // A second item with the same unique values is a conflict; what is sold or deleted cannot be changed again.
    if (status >= 400 && ![404, 409].includes(status)) complaints.push(`${name}: ${status} ${text}`)
  }
  function orderOf({ request }: Folder): number {
    return order.indexOf(request?.method ?? '')
  }
  stop()
  const told = [...counts].sort().map(([status, count]) => `${count} × ${status}`)
  report(`postman, ${title}`, complaints, `, ${bytes} bytes, ${told.join(', ')}`)
}

function listRequests({ item, ...one }: Folder): Folder[] {
  return item ? item.flatMap(listRequests) : [one]
}

async function send(
  url: string,
  { method, header = [], url: to, body }: NonNullable<Folder['request']>,
) {
  const isOn = ({ disabled }: Field) => disabled !== true
  // The ids of its samples are at random.
  const path = to.path.map(part => (part.startsWith(':') ? '1' : part)).join('/')
  const query = new URLSearchParams(
    (to.query ?? []).filter(isOn).map(({ key, value = '' }): [string, string] => [key, value]),
  )
  const headers = header
    .filter(each => isOn(each) && !(body?.formdata && each.key === 'Content-Type'))
    .map(({ key, value = '' }): [string, string] => [key, value])
  const answer = await fetch(`${url}/${path}?${query}`, {
    method,
    headers,
    redirect: 'manual',
    ...(body?.raw && { body: body.raw }),
    ...(body?.formdata && { body: toForm(body.formdata) }),
  })
  return { status: answer.status, text: await answer.text() }
}

/** A file is chosen by hand there. */
function toForm(fields: readonly (Field & { type: string })[]): FormData {
  const form = new FormData()
  for (const { key, value = '', type, disabled } of fields) {
    if (disabled) continue
    const image = new Uint8Array(drawCar('red', 4))
    form.set(key, type === 'file' ? new Blob([image], { type: 'image/png' }) : value)
  }
  return form
}
