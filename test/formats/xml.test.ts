import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Item, Json } from '../../src/base/values.ts'
import { checkXml } from '../../src/formats/xml/syntax.ts'
import { xml } from '../../src/formats/xml/xml.ts'
import { buildLimits } from '../../src/http/limits.ts'
import { buildValidator } from '../../src/schema/validate.ts'
import { fieldsOf } from '../../src/schema/zod-fields.ts'
import { samples } from '../properties/schemas.ts'
import { runs } from '../random.ts'
import { printed, readBody, refusalOf } from './helpers.ts'
import { anyJson, itemSample, TEXTS } from './values.ts'
import { hasXmllint, lint } from './xmllint.ts'

const Car = z.object({
  color: z.string(),
  price: z.number().optional(),
  doors: z.int().optional(),
  sold: z.boolean().optional(),
  comment: z.string().nullable().optional(),
  built: z.iso.date().optional(),
  tags: z.array(z.string()).optional(),
  model: z.object({ name: z.string(), year: z.int().optional() }).optional(),
  options: z.record(z.string(), z.number()).optional(),
  size: z.union([z.number(), z.string()]).optional(),
  choice: z.union([z.int(), z.boolean()]).optional(),
  extra: z.any().optional(),
})
const fields = fieldsOf(Car)
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

function car(data: Item): Promise<string> {
  return printed(xml, { kind: 'item', name: 'car', fields, data })
}

describe('what is printed', () => {
  const cases: [string, Item, string][] = [
    [
      'scalars',
      { color: 'red', price: 1.5, doors: 5, sold: false },
      '<color>red</color><price>1.5</price><doors>5</doors><sold>false</sold>',
    ],
    [
      'an empty text and null',
      { color: '', comment: null },
      '<color></color><comment nil="true"/>',
    ],
    ['markup', { color: '<a>&]]>' }, '<color>&lt;a&gt;&amp;]]&gt;</color>'],
    ['a carriage return', { color: 'a\r\nb' }, '<color>a&#13;\nb</color>'],
    [
      'a control character',
      { color: 'bell\u0007' },
      '<color encoding="json">"bell\\u0007"</color>',
    ],
    [
      'lists',
      { tags: ['a', 'b'], color: '' },
      '<tags><item>a</item><item>b</item></tags><color></color>',
    ],
    ['an empty list', { tags: [] }, '<tags></tags>'],
    ['nested', { model: { name: 'Clio' } }, '<model><name>Clio</name></model>'],
    [
      'a record',
      { options: { abs: 1, 'cruise control': 2 } },
      '<options><abs>1</abs><member name="cruise control">2</member></options>',
    ],
    ['a union', { size: 5 }, '<size type="number">5</size>'],
    ['a union, as a text', { size: '5' }, '<size>5</size>'],
    [
      'what the schema leaves open',
      { extra: { a: [1, 'b'], c: {} } },
      '<extra><a type="array"><item type="number">1</item><item>b</item></a><c type="object"></c></extra>',
    ],
    [
      'what the schema does not say',
      { color: 5, doors: 1.5, other: 'x' },
      '<color type="number">5</color><doors type="number">1.5</doors><other>x</other>',
    ],
    ['a name with a control character', { 'a\u0001': 'x' }, '<member name="a\\u0001">x</member>'],
  ]
  it.each(cases)('%s', async (_, data, content) => {
    const document = await car(data)
    expect(document).toBe(`${DECLARATION}<car>${content}</car>`)
    expect(await readBody(xml, document, { fields })).toEqual(data)
  })

  it('a list, a document and errors', async () => {
    expect(
      await printed(xml, {
        kind: 'list',
        name: 'cars',
        itemName: 'car',
        fields,
        data: [{ color: 'red' }, { color: 'blue' }],
      }),
    ).toBe(`${DECLARATION}<cars><car><color>red</color></car><car><color>blue</color></car></cars>`)
    expect(
      await printed(xml, { kind: 'list', name: 'cars', itemName: 'car', fields, data: [] }),
    ).toBe(`${DECLARATION}<cars></cars>`)
    expect(await printed(xml, { kind: 'document', name: 'count', data: { count: 3 } })).toBe(
      `${DECLARATION}<count><count type="number">3</count></count>`,
    )
    expect(
      await printed(xml, {
        kind: 'errors',
        status: 404,
        errors: [{ message: 'No <car>', code: 404, field: 'id' }],
      }),
    ).toBe(
      `${DECLARATION}<errors><error><message>No &lt;car&gt;</message><code>404</code><field>id</field></error></errors>`,
    )
  })

  it('what JSON has not: no value, or none that a format can print', async () => {
    expect(await car({ price: Number.NaN })).toContain('<car><price nil="true"/></car>')
    const gone = { color: undefined, price: 1 } as unknown as Item // as a careless hook could leave it
    const text = xml.write?.({ kind: 'item', name: 'car', fields, data: gone }, '')
    expect(text).toContain('<car><price>1</price></car>')
    const data = { extra: () => {} } as unknown as Item // the same
    expect(() => xml.write?.({ kind: 'item', name: 'car', fields, data }, '')).toThrow(TypeError)
  })

  it('no stream', () => {
    const data = (async function* () {})()
    expect(() =>
      xml.write?.({ kind: 'stream', name: 'cars', itemName: 'car', fields, data }, ''),
    ).toThrow(TypeError)
  })
})

describe('what is read', () => {
  const cases: [string, string, Json][] = [
    ['any root name', '<item><color>red</color></item>', { color: 'red' }],
    [
      'indentation',
      '<car>\n  <color>red</color>\n  <tags>\n <item>a</item>\n</tags>\n</car>\n',
      { color: 'red', tags: ['a'] },
    ],
    ['white space of a text', '<car><color> red\n</color></car>', { color: ' red\n' }],
    ['line ends as one newline', '<car><color>a\r\nb\rc</color></car>', { color: 'a\nb\nc' }],
    ['white space of a number', '<car><price> 1.5\n</price></car>', { price: 1.5 }],
    ['leading zeros of a text', '<car><color>007</color></car>', { color: '007' }],
    [
      'references',
      '<car><color>&lt;&#65;&#x1F600;&amp;lt;&apos;&quot;&gt;</color></car>',
      { color: '<A😀&lt;\'">' },
    ],
    [
      'CDATA',
      '<car><color>a<![CDATA[<b>&amp;]]>c<![CDATA[]]></color></car>',
      { color: 'a<b>&amp;c' },
    ],
    [
      'comments',
      '<!-- a --><car><!-- <b> --><color>r<!-- c -->ed</color></car><!-- d -->',
      { color: 'red' },
    ],
    ['a byte order mark', '\ufeff<car><color>red</color></car>', { color: 'red' }],
    [
      'a declaration',
      `<?xml version='1.0' encoding='utf-8' standalone="yes" ?><car><color>x</color></car>`,
      { color: 'x' },
    ],
    [
      'attributes of namespaces',
      '<car xmlns="urn:x" xmlns:xsi="urn:y" xml:lang="en"><comment xsi:nil="true"/></car>',
      { comment: null },
    ],
    ['nil="false"', '<car><color nil="false">x</color></car>', { color: 'x' }],
    ['a list of one', '<car><tags><tag>a</tag></tags></car>', { tags: ['a'] }],
    ['an unknown member', '<car><colour>red</colour></car>', { colour: 'red' }],
    ['a number in a union', '<car><choice>5</choice></car>', { choice: 5 }],
    ['a type that is told', '<car><extra type="number">5</extra></car>', { extra: 5 }],
    [
      'names that objects have by birth',
      '<car><extra><toString>x</toString><hasOwnProperty>y</hasOwnProperty></extra></car>',
      { extra: { toString: 'x', hasOwnProperty: 'y' } },
    ],
    ['no members', '<car/>', {}],
  ]
  it.each(cases)('%s', async (_, document, value) => {
    expect(await readBody(xml, document, { fields })).toEqual(value)
  })

  it('an unknown property is refused by name when it is validated', async () => {
    const value = await readBody(xml, '<car><color>x</color><colour>red</colour></car>', { fields })
    const { errors } = await refusalOf((async () => buildValidator(Car).create(value))())
    expect(errors).toMatchObject([{ field: 'colour', code: 400 }])
  })

  it('without fields every value is a text, an object, or what it says', async () => {
    expect(await readBody(xml, '<x><a>5</a><b><c>d</c></b><e type="array"/></x>')).toEqual({
      a: '5',
      b: { c: 'd' },
      e: [],
    })
  })
})

describe('ill-typed: every issue with its place', () => {
  const cases: [string, string, string[]][] = [
    ['no number', '<car><price>a</price><doors>1.5</doors></car>', ['price', 'doors']],
    ['an empty number', '<car><price/></car>', ['price']],
    ['no boolean', '<car><sold>maybe</sold></car>', ['sold']],
    ['an integer that JavaScript rounds', '<car><doors>9007199254740993</doors></car>', ['doors']],
    ['a number too large', '<car><price>1e400</price></car>', ['price']],
    ['a text for a list', '<car><tags>a</tags></car>', ['tags']],
    ['a text for an object', '<car><model>Clio</model></car>', ['model']],
    ['elements for a text', '<car><color><a/></color></car>', ['color']],
    ['text between elements', '<car><model>x<name>Clio</name></model></car>', ['model']],
    ['a member twice', '<car><color>a</color><color>b</color></car>', ['color']],
    ['an unknown attribute', '<car><color lang="en">red</color></car>', ['color']],
    ['an unknown type', '<car><extra type="date">x</extra></car>', ['extra']],
    ['a nil with content', '<car><comment nil="true">x</comment></car>', ['comment']],
    ['a nil that is none', '<car><comment nil="maybe"/></car>', ['comment']],
    ['an encoding that is none', '<car><color encoding="base64">eA==</color></car>', ['color']],
    ['no JSON in a JSON text', '<car><color encoding="json">x</color></car>', ['color']],
    ['another JSON value in a JSON text', '<car><color encoding="json">5</color></car>', ['color']],
    ['an element in a JSON text', '<car><color encoding="json"><a/></color></car>', ['color']],
    ['a name with other escapes', '<car><member name="\\x">y</member></car>', ['member']],
    ['a root of text', '<car>red</car>', ['']],
    ['none of a union', '<car><choice>x</choice></car>', ['choice']],
    ['U+0000', '<car><color encoding="json">"\\u0000"</color></car>', ['color']],
    ['half a surrogate pair', '<car><color encoding="json">"\\ud800"</color></car>', ['color']],
    [
      'within a list',
      '<car><model><year>x</year></model><options><a>x</a></options></car>',
      ['model.year', 'options.a'],
    ],
  ]
  it.each(cases)('%s', async (_, document, places) => {
    const { status, errors } = await refusalOf(readBody(xml, document, { fields }))
    expect(status).toBe(400)
    expect(errors.map(({ field = '' }) => field)).toEqual(places)
  })
})

it('of very many issues the first hundred are reported', async () => {
  const refusal = await refusalOf(readBody(xml, `<x>${'<a/>'.repeat(4000)}</x>`))
  expect(refusal.errors.length).toBe(100)
})

describe('refused before the parser runs', () => {
  const nested = (levels: number) => `${'<a>'.repeat(levels)}${'</a>'.repeat(levels)}`
  const lol = Array.from(
    { length: 9 },
    (_, at) => `<!ENTITY lol${at + 1} "${`&lol${at};`.repeat(10)}">`,
  )
  const cases: [string, string | Uint8Array, number?][] = [
    ['nothing', ''],
    ['blanks', ' \n'],
    ['plain text', 'hello'],
    ['JSON', '{"a":1}'],
    ['an unclosed element', '<car><color>red</car>'],
    ['an unclosed root', '<car>'],
    ['an unopened element', '</car>'],
    ['closing the wrong element', '<a><b></a></b>'],
    ['two roots', '<car/><car/>'],
    ['text before the root', 'x<car/>'],
    ['text after the root', '<car/>x'],
    ['CDATA outside the root', '<![CDATA[x]]><car/>'],
    [
      'billion laughs',
      `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">${lol.join('')}]><lolz>&lol9;</lolz>`,
    ],
    ['an external entity', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'],
    ['an external DTD', '<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd"><x/>'],
    ['a DTD within the root', '<x><!DOCTYPE x></x>'],
    ['an unknown entity', '<x>&nbsp;</x>'],
    ['a bare ampersand', '<x>a & b</x>'],
    ['an unfinished reference', '<x>&#65</x>'],
    ['U+0000 as a reference', '<x>&#0;</x>'],
    ['a control character as a reference', '<x>&#1;</x>'],
    ['half a surrogate pair as a reference', '<x>&#xD800;</x>'],
    ['a reference beyond Unicode', '<x>&#x110000;</x>'],
    ['an entity in an attribute', '<x type="&e;"/>'],
    ['a control character', '<x>\u0001</x>'],
    ['U+FFFF', '<x>\uffff</x>'],
    [']]> in text', '<x>]]></x>'],
    ['a processing instruction', '<?php echo 1 ?><x/>'],
    ['a processing instruction within', '<x><?a b?></x>'],
    ['a declaration that is not first', ' <?xml version="1.0"?><x/>'],
    ['two declarations', '<?xml version="1.0"?><?xml version="1.0"?><x/>'],
    ['XML 1.1', '<?xml version="1.1"?><x/>'],
    ['a declaration without a version', '<?xml encoding="UTF-8"?><x/>'],
    ['an unfinished declaration', '<?xml version="1.0"'],
    ['another encoding', '<?xml version="1.0" encoding="ISO-8859-1"?><x/>', 415],
    ['UTF-16 as declared', '<?xml version="1.0" encoding="UTF-16"?><x/>', 415],
    ['UTF-7', '<?xml version="1.0" encoding="UTF-7"?><x>+ADw-a/+AD4-</x>', 415],
    ['UTF-16 bytes', Buffer.from('\ufeff<x/>', 'utf16le')],
    ['UTF-16 bytes without a mark', Buffer.from('<x/>', 'utf16le')],
    ['latin1 bytes', Buffer.from('<x>é</x>', 'latin1')],
    ['two byte order marks', '\ufeff\ufeff<x/>'],
    ['an attribute twice', '<x type="a" type="b"/>'],
    ['an attribute without a value', '<x nil/>'],
    ['an attribute without quotes', '<x nil=true/>'],
    ['attributes without a space', '<x a="1"b="2"/>'],
    ['< in an attribute', '<x a="<"/>'],
    ['an attribute that does not end', '<x a="1/>'],
    ['a name that is none', '<1x/>'],
    ['a name with a white space that XML takes for a letter', '<a\u1680b/>'],
    ['an empty tag', '<></>'],
    ['a space before a name', '< x/>'],
    ['a tag that does not end', '<x'],
    ['an end tag with an attribute', '<x></x a="1">'],
    ['a slash in a tag', '<x / >'],
    ['a comment that does not end', '<x><!-- </x>'],
    ['-- in a comment', '<x><!-- a -- b --></x>'],
    ['a comment that ends in --->', '<x><!-- a ---></x>'],
    ['CDATA that does not end', '<x><![CDATA[ </x>'],
    ['CDATA in small letters', '<x><![cdata[x]]></x>'],
    ['__proto__', '<car><__proto__><admin>true</admin></__proto__></car>'],
    ['constructor', '<car><constructor><prototype/></constructor></car>'],
    ['__proto__ as an attribute', '<car __proto__="x"/>'],
    ['__proto__ by a name in an attribute', '<car><member name="__proto__">x</member></car>'],
    ['__proto__ by an escaped name', '<car><member name="__pro\\u0074o__">x</member></car>'],
    ['34 levels', nested(34)],
    ['100,000 levels', nested(100_000)],
    ['100,000 levels that do not end', '<a>'.repeat(100_000)],
    ['6,000 elements', `<x>${'<a/>'.repeat(6000)}</x>`, 413],
    [
      '100,000 attributes',
      `<x ${Array.from({ length: 100_000 }, (_, at) => `a${at}=""`).join(' ')}/>`,
      413,
    ],
    ['one attribute 100,000 times', `<x ${'a="" '.repeat(100_000)}/>`],
    ['1 MB of bare ampersands', `<x>${'&'.repeat(1_000_000)}</x>`],
    ['1 MB of <', '<'.repeat(1_000_000)],
    ['1 MB of spaces in a tag', `<x${' '.repeat(1_000_000)}`],
    ['1 MB of comment openings', '<!--'.repeat(250_000)],
    ['1 MB of CDATA openings', `<x>${'<![CDATA['.repeat(110_000)}`],
    ['1 MB of a name', `<${'a'.repeat(1_000_000)}`],
    ['1 MB of quotes', `<x a=${'"\''.repeat(500_000)}`],
    ['over the limit of bytes', `<x>${'a'.repeat(1024 * 1024)}</x>`, 413],
  ]
  it.each(cases)('%s', async (_, document, status = 400) => {
    const refusal = await refusalOf(readBody(xml, document, { fields }))
    expect(refusal.status).toBe(status)
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })

  it('says no more than the place', async () => {
    const { message } = await refusalOf(
      readBody(xml, '<car><color>&secret;</color></car>', { fields }),
    )
    expect(message).toBe('The body is not valid XML: it has an unknown entity (at character 12)')
  })

  it.each(['text', 'attribute'])('but not for 1 MB of references in %s', async place => {
    const long = '&#65;'.repeat(200_000)
    const member = place === 'text' ? `<a>${long}</a>` : `<member name="${long}">x</member>`
    expect(JSON.stringify(await readBody(xml, `<x>${member}</x>`)).length).toBeGreaterThan(200_000)
  })

  it('reads as deep as JSON is read', async () => {
    expect(await readBody(xml, nested(33))).toBeTypeOf('object')
  })

  it('announced to be too long, or in another charset', async () => {
    expect((await refusalOf(readBody(xml, '<x/>', { length: 2e6 }))).status).toBe(413)
    const parameters = { charset: 'iso-8859-1' }
    expect((await refusalOf(readBody(xml, '<x/>', { parameters }))).status).toBe(415)
  })
})

describe('what is written is read back', () => {
  const limits = { elements: 100_000, depth: 100 }

  it('every item of every schema', async () => {
    await fc.assert(
      fc.asyncProperty(
        itemSample.chain(({ schema, value }) => fc.tuple(fc.constant(schema), value)),
        async ([schema, data]) => {
          const fields = fieldsOf(schema)
          // itemSample makes objects only.
          const item = data as Item
          const document = await printed(xml, { kind: 'item', name: 'thing', fields, data: item })
          expect(await readBody(xml, document, { fields, limits })).toEqual(item)
        },
      ),
      { numRuns: runs(500) },
    )
  })

  it('what a schema returned, read by its input fields', async () => {
    await fc.assert(
      fc.asyncProperty(
        samples.chain(({ schema, values }) => fc.tuple(fc.constant(schema), values)),
        async ([schema, sent]) => {
          const data = await buildValidator(schema).create(sent)
          const input = fieldsOf(schema, 'input')
          const fields = fieldsOf(schema)
          const list = { kind: 'list', name: 'things', itemName: 'thing', fields } as const
          const item = { kind: 'item', name: 'thing', fields, data } as const
          const document = await printed(xml, item)
          expect(await readBody(xml, document, { fields: input, limits })).toEqual(data)
          expect(await printed(xml, { ...list, data: [data] })).toContain(
            document.replace(/^.*\n<thing/, '<thing'),
          )
        },
      ),
      { numRuns: runs(500) },
    )
  })

  it('every value, whatever the schema says of it', async () => {
    await fc.assert(
      fc.asyncProperty(
        itemSample,
        fc.dictionary(fc.constantFrom(...fields.keys(), 'x'), anyJson),
        async ({ schema }, data) => {
          for (const table of [fieldsOf(schema), fields]) {
            const item = JSON.parse(JSON.stringify(data))
            const document = await printed(xml, {
              kind: 'document',
              name: 'x y',
              fields: table,
              data: item,
            })
            expect(await readBody(xml, document, { fields: table, limits })).toEqual(item)
          }
        },
      ),
      { numRuns: runs(300) },
    )
  })

  it('documents of any kind', async () => {
    await fc.assert(
      fc.asyncProperty(anyJson, async data => {
        const document = await printed(xml, { kind: 'document', name: 'action', data })
        expect(await readBody(xml, document, { limits })).toEqual(data)
      }),
    )
  })

  it('a text of 20,000 carriage returns', async () => {
    const data = { color: '\r\n'.repeat(20_000) }
    expect(await readBody(xml, await car(data), { fields })).toEqual(data)
  })

  it('every character that anybody could take for white space, or for another letter', async () => {
    const codes = [
      ...Array(0x3100).keys(),
      ...Array.from({ length: 0x900 }, (_, at) => 0xf800 + at),
    ]
    const names = codes.slice(1).map(code => `a${String.fromCodePoint(code)}a`)
    const data = Object.fromEntries(names.map(name => [name, name]))
    const document = await printed(xml, { kind: 'document', name: 'x', data })
    expect(await readBody(xml, document, { limits })).toEqual(data)
  })

  it('a text that no document can bring, but an older store may hold', async () => {
    expect(await car({ color: '\ud800\0' })).toContain(
      '<color encoding="json">"\\ud800\\u0000"</color>',
    )
  })
})

describe.skipIf(!hasXmllint())('as xmllint sees it', () => {
  it('is a judge', () => {
    expect(lint(['<a>'])).not.toBe('')
  })

  it('every document is well-formed', async () => {
    const samples = fc.sample(
      itemSample.chain(({ schema, value }) => value.map(data => ({ schema, data }))),
      300,
    )
    const documents = await Promise.all([
      ...samples.map(({ schema, data }) =>
        printed(xml, { kind: 'document', name: 'thing', fields: fieldsOf(schema), data }),
      ),
      ...TEXTS.map(text => printed(xml, { kind: 'document', name: text, data: { [text]: text } })),
    ])
    expect(lint(documents)).toBe('')
  })

  it('what our check accepts is well-formed', async () => {
    const seed = '<a b="1" c="x"><!-- c --><d e=\'&lt;\'>f &amp; &#65;<![CDATA[<g>]]></d><h/></a>'
    const pieces = [
      '<',
      '>',
      '/',
      '"',
      "'",
      '=',
      ' ',
      '&',
      ';',
      '-',
      '--',
      ']]>',
      '<!--',
      '-->',
      'a',
      '#',
    ]
    const mutants = fc.sample(
      fc.tuple(
        fc.nat(seed.length),
        fc.nat(4),
        fc.array(fc.constantFrom(...pieces), { maxLength: 2 }),
        fc.nat(seed.length),
        fc.nat(3),
      ),
      4000,
    )
    const accepted = mutants
      .map(([at, cut, added, at2, cut2]) => {
        const once = seed.slice(0, at) + added.join('') + seed.slice(at + cut)
        return once.slice(0, at2) + once.slice(at2 + cut2)
      })
      .filter(document => {
        try {
          checkXml(document, buildLimits())
          return true
        } catch {
          return false
        }
      })
    expect(accepted.length).toBeGreaterThan(100)
    expect(lint(accepted)).toBe('')
  })
})
