import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  escapeHtml,
  Markup,
  markup,
  type Part,
  raw,
  safeAddress,
} from '../../src/html/markup/markup.ts'
import { sourceFiles } from '../source.ts'

const HOSTILE = `<script>alert('x')</script>&"`
const ESCAPED = '&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;'

describe('a template', () => {
  it.each<[string, Part, string]>([
    ['a text', HOSTILE, ESCAPED],
    ['a number', 7, '7'],
    ['zero', 0, '0'],
    ['an empty text', '', ''],
    ['nothing', undefined, ''],
    ['null', null, ''],
    ['false', false, ''],
    ['markup', markup`<b>${'<'}</b>`, '<b>&lt;</b>'],
    ['a list', ['<', markup`<br>`, [1, undefined]], '&lt;<br>1'],
    ['our own text', raw('a > b'), 'a > b'],
  ])('prints %s', (_, part, html) => {
    expect(markup`<p>${part}</p>`.toString()).toBe(`<p>${html}</p>`)
    expect(markup`<p title="${part}">`.toString()).toBe(`<p title="${html}">`)
  })

  it('allows an equals sign before a text', () => {
    expect(markup`<p>a=${'<'}</p>`.toString()).toBe('<p>a=&lt;</p>')
    expect(markup`<p>${'a'} = ${'<'}</p>`.toString()).toBe('<p>a = &lt;</p>')
  })

  it.each([
    ['href', (to: string) => markup`<a href="${to}">`],
    ['src', (to: string) => markup`<img src="${to}">`],
    ['action', (to: string) => markup`<form action="${to}">`],
  ])('lets no %s run a script', (name, print) => {
    expect(print('javascript:alert(1)').toString()).toMatch(new RegExp(`${name}="#">$`))
    expect(print('/a?b=1&c="').toString()).toMatch(new RegExp(`${name}="/a\\?b=1&amp;c=&quot;">$`))
  })
})

/** What stands before a value: an attribute whose value has no double quotes, and one with an address. */
const UNQUOTED = /[\w-]=\s*(?:'[^']*)?$/
const ADDRESS = /\w*(?:href|src|action)="[^"]*$/

test('every value in an attribute has double quotes, and every address is one value', () => {
  const templates = sourceFiles().flatMap(({ path, nodes }) =>
    nodes.flatMap(({ type, tag, quasi }) => {
      if (type !== 'TaggedTemplateExpression' || Object(tag).name !== 'markup') return []
      const texts: { value: { raw: string } }[] = Object(quasi).quasis
      return texts.slice(1).map(({ value: { raw: after } }, at) => {
        return { path, before: String(texts[at]?.value.raw), after }
      })
    }),
  )
  const addresses = templates.flatMap(({ before, after }) => {
    const [start] = ADDRESS.exec(before) ?? []
    return start === undefined ? [] : [start + after.slice(0, 1)]
  })
  expect([...new Set(addresses)].sort()).toEqual(['action=""', 'href=""', 'href="#"', 'src=""'])
  expect(templates.length).toBeGreaterThan(100)
  expect(templates.filter(({ before }) => UNQUOTED.test(before))).toEqual([])
  for (const unquoted of ['<p title=', "<p title='", "<p title='a ", '" lang=', ' title='])
    expect(unquoted).toMatch(UNQUOTED)
})

it.each([
  ['/cars', '/cars'],
  ['/cars?a=1#b', '/cars?a=1#b'],
  ['?page=2', '?page=2'],
  ['#main', '#main'],
  ['http://a.example/x', 'http://a.example/x'],
  ['HTTPS://a.example', 'HTTPS://a.example'],
  ['', '#'],
  ['//evil.example', '#'],
  ['/\\evil.example', '#'],
  ['/\t/evil.example', '#'],
  ['\u0001javascript:alert(1)', '#'],
  ['java\nscript:alert(1)', '#'],
  ['javascript:alert(1)', '#'],
  ['data:text/html,x', '#'],
  ['vbscript:x', '#'],
  ['cars', '#'],
  ['http:///evil', '#'],
])('the address %j becomes %j', (href, kept) => expect(safeAddress(href)).toBe(kept))

test('every value is escaped', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const html = markup`${text}|${[text]}`.toString()
      expect(html.replace(/&(?:amp|lt|gt|quot|#39);/g, '')).not.toMatch(/[&<>"']/)
      const back = html.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) =>
        String({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }[name]),
      )
      expect(back).toBe(`${text}|${text}`)
      expect(new Markup(escapeHtml(text)).toString()).toBe(escapeHtml(text))
    }),
  )
})

test('every address leads to http or https', () => {
  const schemes = fc.constantFrom('', 'javascript:', 'data:', '//', '/', 'http://', '\t', '\\', '?')
  const address = fc.array(fc.oneof(schemes, fc.string({ unit: 'binary', maxLength: 4 })), {
    maxLength: 4,
  })
  fc.assert(
    fc.property(address, parts => {
      const base = 'https://own.example/dir/'
      const kept = safeAddress(parts.join(''))
      if (!URL.canParse(kept, base)) return
      const { protocol, host } = new URL(kept, base)
      expect(protocol).toMatch(/^https?:$/)
      if (!/^https?:/i.test(kept)) expect(host).toBe('own.example')
    }),
  )
})
