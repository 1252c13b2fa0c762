// Bodies of every format whose parts repeat: a reader that looks back, or on to the end, once for each part takes
// longer than they are long.
import { z } from 'zod'
import type { LimitOptions } from '../../src/http/limits.ts'
import { defineApi, defineCollection, memoryStore } from '../../src/index.ts'

/** A request of about so many bytes. */
export type Shape = (bytes: number) => Request

/** The limits that would end the reading of most shapes before they are long. */
const LIMITS: LimitOptions = {
  target: 1e8,
  body: 1e8,
  members: 1e8,
  elements: 1e8,
  parameters: 1e6,
  parts: 1e6,
  filters: 1e6,
  values: 1e6,
  arrayItems: 1e6,
}

const thing = z.object({
  name: z.string().optional(),
  count: z.int().optional(),
  tags: z.array(z.string()).optional(),
  any: z.json().optional(),
  lists: z.record(z.string(), z.array(z.string())).optional(),
  inner: z.object({ name: z.string().optional() }).optional(),
  either: z.array(z.union([z.string(), z.strictObject({ name: z.string() })])).optional(),
})

export type ShapesApi = Awaited<ReturnType<typeof createShapesApi>>

/** An api that takes the bodies, with one thing to patch. */
export async function createShapesApi() {
  const things = defineCollection({ name: 'things', schema: thing, store: memoryStore() })
  const api = defineApi({ collections: [things], limits: LIMITS, onError: console.error })
  await api.fetch(send('POST', 'application/json', '{"tags":["a"]}'))
  return api
}

function send(method: string, type: string, body: string | Uint8Array, path = '/things'): Request {
  const headers = { 'content-type': type }
  return new Request(`http://shapes.test${path}`, { method, headers, body })
}

/** Repeats a part until the text is so long. */
function fill(bytes: number, part: string | ((at: number) => string), join = ''): string {
  if (typeof part === 'string') {
    const times = Math.max(1, Math.floor(bytes / (part.length + join.length)))
    return (part + join).repeat(times - 1) + part
  }
  const parts: string[] = []
  for (let at = 0, length = 0; length < bytes; at++) {
    const next = part(at)
    parts.push(next)
    length += next.length + join.length
  }
  return parts.join(join)
}

/** Wraps what is repeated. */
function within(open: string, part: Parameters<typeof fill>[1], close: string, join = '') {
  return (bytes: number) => open + fill(bytes - open.length - close.length, part, join) + close
}

/** A name that takes half of the bytes, and what repeats below it. */
function below(part: string, [open, close]: readonly [string, string] = ['[', ']']) {
  return (bytes: number) =>
    `{"${'n'.repeat(bytes / 2)}":${open}${fill(bytes / 2, part, ',')}${close}}`
}

/** Texts of JSON values; some are broken. */
const VALUES: Readonly<Record<string, (bytes: number) => string>> = {
  'a text': within('"', 'a', '"'),
  'a text of escapes': within('"', '\\n', '"'),
  'a text of escaped units': within('"', '\\u0041', '"'),
  'a text of pairs': within('"', '\\ud83d\\ude00', '"'),
  'a text with half a pair at its end': within('"', '\\ud83d\\ude00', '\\ud83d"'),
  'a text of several bytes a character': within('"', 'ü漢', '"'),
  texts: within('[', '"a"', ']', ','),
  numbers: within('[', '1', ']', ','),
  'long numbers': within('[', '9007199254740992', ']', ','),
  fractions: within('[', '0.1234567890123456789', ']', ','),
  'one number': within('', '1', ''),
  'one fraction': within('0.', '1', ''),
  'one exponent': within('1e', '0', '1'),
  'lists in a list': within('[', '[]', ']', ','),
  'objects in a list': within('[', '{}', ']', ','),
  'objects of one property': within('[', '{"name":1}', ']', ','),
  'objects of different names': within('[', at => `{"n${at}":1}`, ']', ','),
  properties: within('{', at => `"n${at}":1`, '}', ','),
  'properties of one name': within('{', '"a":1', '}', ','),
  'properties with numbers for names': within('{', at => `"${at}":1`, '}', ','),
  'properties of escaped names': within('{', at => `"\\"n${at}":1`, '}', ','),
  'a long name': below('1'),
  'a long name with objects': below('{"name":1}'),
  'a name that is not allowed at the end': within('{', at => `"n${at}":1`, ',"__proto__":1}', ','),
  'white space': within('[', ' ', ']'),
  'line ends': within('[', '\r\n', ']'),
  'open brackets': within('', '[', ''),
  'open braces': within('', '{"a":', ''),
  'an open text': within('"', 'a', ''),
  'an open text of quotes': within('"', '\\"', ''),
  commas: within('[', ',', ']'),
  'deep lists': within('['.repeat(20), '1', ']'.repeat(20), ','),
}

function mapValues(toRequest: (text: string) => Request) {
  return Object.fromEntries(
    Object.entries(VALUES).map(([title, text]) => [
      title,
      (bytes: number) => toRequest(text(bytes)),
    ]),
  )
}

/** Shapes of one media type, from the text of a body. */
function bodies(
  method: string,
  type: string,
  texts: Readonly<Record<string, (bytes: number) => string>>,
  path?: string,
): Record<string, Shape> {
  return Object.fromEntries(
    Object.entries(texts).map(([title, text]) => [
      title,
      (bytes: number) => send(method, type, text(bytes), path),
    ]),
  )
}

const JSON_TYPE = 'application/json'

const json = {
  ...mapValues(text => send('POST', JSON_TYPE, `{"any":${text}}`)),
  ...bodies('POST', JSON_TYPE, {
    'texts that are numbers': within('{"tags":[', '1', ']}', ','),
    'a text that is long': within('{"count":"', '1', '"}'),
    'unknown properties': within('{', at => `"n${at}":1`, '}', ','),
    'inner unknown properties': within('{"inner":{', at => `"n${at}":1`, '}}', ','),
    'an unknown property with a long name': within('{"', 'n', '":1}'),
    'issues below a long name': bytes => `{"lists":${below('1')(bytes)}}`,
    'none of several types': within('{"either":[', '1', ']}', ','),
    'none of several objects': within('{"either":[', '{"name":1}', ']}', ','),
    items: within('[', '{"name":"a"}', ']', ','),
    'invalid items': within('[', '{"name":1}', ']', ','),
  }),
}

const ITEM = '/things/1'

const mergePatch = {
  ...mapValues(text => send('PATCH', 'application/merge-patch+json', `{"any":${text}}`, ITEM)),
  ...bodies(
    'PATCH',
    'application/merge-patch+json',
    {
      'properties to remove': within('{"any":{', at => `"n${at}":null`, '}}', ','),
      'unknown properties': within('{', at => `"n${at}":1`, '}', ','),
      'issues below a long name': bytes => `{"lists":${below('1')(bytes)}}`,
    },
    ITEM,
  ),
}

const jsonPatch = {
  ...mapValues(text =>
    send(
      'PATCH',
      'application/json-patch+json',
      `[{"op":"add","path":"/any","value":${text}}]`,
      ITEM,
    ),
  ),
  ...bodies(
    'PATCH',
    'application/json-patch+json',
    {
      tests: within('[', '{"op":"test","path":"/tags/0","value":"a"}', ']', ','),
      'values at the end of a list': within(
        '[',
        '{"op":"add","path":"/tags/-","value":"a"}',
        ']',
        ',',
      ),
      'values in front of a list': within(
        '[',
        '{"op":"add","path":"/tags/0","value":"a"}',
        ']',
        ',',
      ),
      'a deep path': within('[{"op":"remove","path":"', '/a', '"}]'),
      'a path of empty names': within('[{"op":"remove","path":"', '/', '"}]'),
      'a path of escapes': within('[{"op":"remove","path":"/', '~1~0', '"}]'),
      'a path with a bad end': within('[{"op":"remove","path":"/', '~1', '~2"}]'),
      'a long index': within('[{"op":"test","path":"/tags/', '1', '","value":1}]'),
      'no operations': within('[', '1', ']', ','),
    },
    ITEM,
  ),
}

const ndjson = {
  ...mapValues(text => send('POST', 'application/x-ndjson', `{"any":${text}}\n`)),
  ...bodies('POST', 'application/x-ndjson', {
    lines: within('', '{"name":"a"}', '', '\n'),
    'invalid lines': within('', '{"name":1}', '', '\n'),
    'empty lines': within('', '\n', ''),
    'line ends of Windows': within('', '{}', '', '\r\n'),
    'a broken last line': within('', '{}', '\n{', '\n'),
  }),
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

const csv = {
  ...mapValues(text => send('POST', 'text/csv', `any,name\r\n${quoted(text)},a\r\n`)),
  ...bodies('POST', 'text/csv', {
    rows: within('name,count\r\n', 'a,1\r\n', ''),
    'invalid rows': within('name,count\r\n', 'a,b\r\n', ''),
    'rows of long numbers': within('count\r\n', '12345678901234567\r\n', ''),
    'rows that end in LF': within('name\n', 'a\n', ''),
    'rows that end in CR': within('name\r', 'a\r', ''),
    'empty rows': within('name\r\n', '\r\n', ''),
    columns: bytes => `${fill(bytes / 2, at => `n${at}`, ',')}\r\n${fill(bytes / 2, 'a', ',')}`,
    'columns of one name': within('', 'name', '', ','),
    'columns without a name': within('', ',', ''),
    'a column of many parts': within('', 'a', '', '.'),
    'a column with a long name': within('any.', 'n', '\r\n1'),
    'cells beyond the columns': within('name\r\n', 'a', '', ','),
    'empty cells': within('name\r\n', ',', ''),
    'doubled quotes': within('name\r\n"', '""', '"'),
    'an open quote': within('name\r\n"', '""', ''),
    'quoted cells': within('name\r\n', '"a"\r\n', ''),
    'a quoted cell of lines': within('name\r\n"', 'a\n', '"'),
    'guarded formulas': within('name\r\n', "'=1\r\n", ''),
    'guards alone': within('name\r\n', "'", ''),
    digits: within('count\r\n', '1', ''),
    'digits with an end': within('count\r\n', '1', 'x'),
  }),
}

const FORM = 'application/x-www-form-urlencoded'

const form = {
  ...mapValues(text => send('POST', FORM, `any:json=${encodeURIComponent(text)}`)),
  ...bodies('POST', FORM, {
    elements: within('', 'tags=a', '', '&'),
    'elements with brackets': within('', 'tags[]=a', '', '&'),
    'elements with numbers': within('', at => `tags[${at}]=a`, '', '&'),
    'elements on lines': within('tags:lines=', 'a%0A', ''),
    'numbers that are none': within('', 'count=a', '', '&'),
    'unknown keys': within('', at => `n${at}=1`, '', '&'),
    'keys of a record': within('', at => `lists[n${at}]=a`, '', '&'),
    'keys below a long name': bytes =>
      fill(bytes, at => `lists[${'n'.repeat(bytes / 20)}${at}]=a`, '&'),
    'a deep key': within('a', '[a]', '=1'),
    'a deep dotted key': within('a', '.a', '=1'),
    'open brackets': within('a', '[', '=1'),
    'closed brackets': within('a', ']', '=1'),
    'empty brackets': within('tags', '[]', '=1'),
    colons: within('a', ':json', '=1'),
    ampersands: within('', '&', ''),
    'equal signs': within('name', '=', ''),
    spaces: within('name=', '+', ''),
    escapes: within('name=', '%41', ''),
    'escapes of several bytes': within('name=', '%F0%9F%98%80', ''),
    'a broken escape at the end': within('name=', '%41', '%'),
    digits: within('count=', '1', ''),
    methods: within('', '_method=POST', '', '&'),
    'line ends': within('name:text=', '%0D%0A', ''),
  }),
}

const MULTIPART = 'multipart/form-data; boundary=B'
const PART = '\r\n--B\r\nContent-Disposition: form-data; name="name"'

const multipart = {
  ...mapValues(text =>
    send(
      'POST',
      MULTIPART,
      `--B\r\nContent-Disposition: form-data; name="any"\r\nContent-Type: application/json\r\n\r\n${text}\r\n--B--`,
    ),
  ),
  ...bodies('POST', MULTIPART, {
    delimiters: within('', '\r\n--B', ''),
    'delimiters before a head': within('', '\r\n--B', '\r\n\r\n'),
    'closing delimiters': within('', '\r\n--B--', ''),
    'delimiters after the end': within('--B--', '\r\n--B', ''),
    'beginnings of delimiters': within('', '\r\n--', ''),
    'line ends': within(`${PART}\r\n\r\n`, '\r\n', '\r\n--B--'),
    'line feeds': within(`${PART}\r\n\r\n`, '\n', '\r\n--B--'),
    'carriage returns': within(`${PART}\r\n\r\n`, '\r', '\r\n--B--'),
    dashes: within(`${PART}\r\n\r\n`, '-', '\r\n--B--'),
    parts: within('', `${PART}\r\n\r\na`, '\r\n--B--'),
    'parts without an end': within('', `${PART}\r\n\r\na`, ''),
    'parts of different names': within(
      '',
      at => `\r\n--B\r\nContent-Disposition: form-data; name="lists[n${at}]"\r\n\r\na`,
      '\r\n--B--',
    ),
    'parts without a disposition': within('', '\r\n--B\r\nA: b\r\n\r\na', '\r\n--B--'),
    'parts without a head': within('', '\r\n--B\r\n\r\n', '\r\n--B--'),
    'a head': within(PART, '\r\nA: b', '\r\n\r\na\r\n--B--'),
    'a head without an end': within(PART, '\r\nA: b', ''),
    'a head of types': within(PART, '\r\nContent-Type: a', '\r\n\r\na\r\n--B--'),
    'a head of spaces': within(`${PART}\r\nContent-Type:`, ' ', 'a\r\n\r\na\r\n--B--'),
    'a head of parameters': within(
      `${PART}\r\nContent-Type: text/plain`,
      '; a=b',
      '\r\n\r\na\r\n--B--',
    ),
    'heads of parameters': within(
      '',
      `${PART}\r\nContent-Type: text/plain${';  '.repeat(500)}\r\n\r\na`,
      '\r\n--B--',
    ),
    'names of escapes': within(
      `\r\n--B\r\nContent-Disposition: form-data; name="`,
      '\\"',
      '"\r\n\r\na\r\n--B--',
    ),
    'encoded names': within(
      `\r\n--B\r\nContent-Disposition: form-data; name*=UTF-8''`,
      '%41',
      '\r\n\r\na\r\n--B--',
    ),
    'texts before': within('', 'a', `${PART}\r\n\r\na\r\n--B--`),
    'lines before': within('', '\r\n', `${PART}\r\n\r\na\r\n--B--`),
    'texts after': within(`${PART}\r\n\r\na\r\n--B--`, 'a', ''),
    'lines after': within(`${PART}\r\n\r\na\r\n--B--`, '\r\n', ''),
    files: within('', `${PART}; filename=a\r\nContent-Type: image/png\r\n\r\na`, '\r\n--B--'),
    'several texts': within('', `${PART.replace('"name"', '"tags"')}\r\n\r\na`, '\r\n--B--'),
  }),
  'dashes as a boundary': (bytes: number) =>
    send(
      'POST',
      `multipart/form-data; boundary=${'-'.repeat(70)}`,
      '\r\n'.concat('-'.repeat(bytes)),
    ),
}

const XML = 'application/xml'

const xml = bodies('POST', XML, {
  elements: within('<a><tags>', '<item>a</item>', '</tags></a>'),
  'empty elements': within('<a><tags>', '<item/>', '</tags></a>'),
  'unknown elements': within('<a>', at => `<n${at}/>`, '</a>'),
  'repeated elements': within('<a>', '<name>a</name>', '</a>'),
  'invalid elements': within('<a><lists><n>', '<item nil="true"/>', '</n></lists></a>'),
  'elements below a long name': bytes =>
    `<a><lists>${['<', '</'].map(open => `${open}${'n'.repeat(bytes / 4)}>`).join(fill(bytes / 2, '<item type="number">a</item>'))}</lists></a>`,
  'numbers that are none': within(
    '<a><any type="array">',
    '<item type="number">a</item>',
    '</any></a>',
  ),
  'long numbers': within(
    '<a><any type="array">',
    '<item type="number">9007199254740992</item>',
    '</any></a>',
  ),
  properties: within('<a><any>', at => `<n${at}>a</n${at}>`, '</any></a>'),
  members: within('<a><any>', at => `<member name="n ${at}">a</member>`, '</any></a>'),
  'JSON texts': within('<a><tags>', '<item encoding="json">"a"</item>', '</tags></a>'),
  'open elements': within('', '<a>', ''),
  'closing tags': within('<a>', '</a>', ''),
  'a text': within('<a><name>', 'a', '</name></a>'),
  'a text of references': within('<a><name>', '&lt;', '</name></a>'),
  'a text of numbers': within('<a><name>', '&#65;', '</name></a>'),
  'a text of ampersands': within('<a><name>', '&', '</name></a>'),
  'a text of brackets': within('<a><name>', ']', '</name></a>'),
  sections: within('<a><name>', '<![CDATA[a]]>', '</name></a>'),
  'a section of brackets': within('<a><name><![CDATA[', ']', ']]></name></a>'),
  'an open section': within('<a><name><![CDATA[', ']]', ''),
  comments: within('<a>', '<!---->', '</a>'),
  'comments in a text': within('<a><name>', 'a<!---->', '</name></a>'),
  'an open comment': within('<a><!--', '-', ''),
  'text between elements': within('<a><any>', 'a<b/>', '</any></a>'),
  'space between elements': within('<a>', ' <name/>', '</a>'),
  attributes: within('<a', at => ` n${at}="a"`, '/>'),
  'attributes of elements': within('<a><any>', '<b type="string">a</b>', '</any></a>'),
  'a long attribute': within('<a xml:lang="', 'a', '"/>'),
  'an attribute of references': within('<a xml:lang="', '&lt;', '"/>'),
  'space in a tag': within('<a', ' ', '/>'),
  'space in a tag without an end': within('<a', ' ', ''),
  'a long name': within('<', 'a', '/>'),
  'colons in a name': within('<a', ':', '/>'),
  'an open attribute': within('<a b="', "'", ''),
  'equal signs': within('<a b', '=', '/>'),
  instructions: within('<a>', '<?a?>', '</a>'),
  'a declaration of spaces': within('<?xml version="1.0"', ' ', '?><a/>'),
})

function where(text: string): Request {
  return new Request(`http://shapes.test/things?where=${encodeURIComponent(text)}`)
}

const filters = Object.fromEntries(
  Object.entries({
    ...Object.fromEntries(
      Object.entries(VALUES).map(([title, text]) => [
        title,
        (bytes: number) => `{"name":${text(bytes)}}`,
      ]),
    ),
    'any of conditions': within('{"or":[', '{"name":"a"}', ']}', ','),
    'all of conditions': within('{"and":[', '{"name":"a"}', ']}', ','),
    'nested groups': within('', '{"not":', ''),
    'empty groups': within('{"or":[', '{"or":[]}', ']}', ','),
    'unknown fields': within('{', at => `"n${at}":1`, '}', ','),
    'a dotted name': within('{"name', '.name', '":1}'),
    'an unknown operator': within('{"name":{"', 'a', '":1}}'),
    'a pattern': within('{"name":{"like":"', '*a', '"}}'),
    values: within('{"name":{"in":[', at => `"${at}"`, ']}}', ','),
    'numbers that are none': within('{"count":[', '"a"', ']}', ','),
  }).map(([title, text]) => [title, (bytes: number) => where(text(bytes))]),
)

const query = Object.fromEntries(
  Object.entries({
    properties: within('{', at => `"n${at}":1`, '}', ','),
    values: within('{"name":[', at => `"${at}"`, ']}', ','),
    'a long name': below('"a":1', ['{', '}']),
    'a long name with lists': below('1'),
    'a long name with properties': (bytes: number) =>
      `{"${'n'.repeat(bytes / 2)}":{${fill(bytes / 2, at => `"n${at}":1`, ',')}}}`,
    conditions: within('{"where":{"or":[', '{"name":"a"}', ']}}', ','),
  }).map(([title, text]) => [title, (bytes: number) => send('QUERY', JSON_TYPE, text(bytes / 25))]),
)

/** How many bytes the longest body of a format may have, where no limit of an api says so. */
export const LONGEST: Readonly<Record<string, number>> = { QUERY: 64_000 }

/** By format and title. */
export const SHAPES: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  json,
  'merge patch': mergePatch,
  'JSON Patch': jsonPatch,
  ndjson,
  csv,
  form,
  multipart,
  xml,
  where: filters,
  QUERY: query,
}
