// The syntax of XML 1.0 (fifth edition) as far as a data format needs it: a strict check of
// well-formedness; character data and names, printed and read.
import { HttpError, quote } from '../../errors.ts'
import type { Limits } from '../../http/limits.ts'
import { checkName, tooDeep } from '../json-value.ts'

// The ranges of §2.3 without U+1680 and U+FEFF: fast-xml-parser treats them as white space.
const START =
  'A-Z_a-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02ff\\u0370-\\u037d\\u037f-\\u167f\\u1681-\\u1fff' +
  '\\u200c\\u200d\\u2070-\\u218f\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufefe' +
  '\\uff00-\\ufffd\\u{10000}-\\u{effff}'
const REST = `${START}.0-9\\u00b7\\u0300-\\u036f\\u203f\\u2040-`
const NAME = `[:${START}][:${REST}]*`
const PLAIN_NAME = new RegExp(`^(?![xX][mM][lL])[${START}][${REST}]*$`, 'u')

const TAG_START = new RegExp(`<(${NAME})(>?)`, 'uy')
const ATTRIBUTE = new RegExp(
  `[ \\t\\r\\n]+(${NAME})[ \\t\\r\\n]*=[ \\t\\r\\n]*(?:"([^<"]*)"|'([^<']*)')`,
  'uy',
)
const TAG_END = /[ \t\r\n]*(\/?)>/y
const END_TAG = new RegExp(`</(${NAME})[ \\t\\r\\n]*>`, 'uy')
const REFERENCE = /&(?:(lt|gt|amp|apos|quot)|#([0-9]{1,8}|x[0-9A-Fa-f]{1,8}));/g
const NO_REFERENCE = /&(?!(?:lt|gt|amp|apos|quot|#[0-9]{1,8}|#x[0-9A-Fa-f]{1,8});)/

/** Whether a text can name an element: without a prefix, and not reserved by XML. */
export function isElementName(text: string): boolean {
  return PLAIN_NAME.test(text)
}

const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/
const SPECIAL = /[&<>\r\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]/

/** Prints a text as character data; `undefined` if XML 1.0 cannot carry it (§2.2). */
export function printText(text: string): string | undefined {
  if (!SPECIAL.test(text)) return text
  if (FORBIDDEN.test(text) || !text.isWellFormed()) return undefined
  return escapeMarkup(text).replaceAll('\r', '&#13;')
}

/** Prints any text as a JSON string literal in character data. */
export function printJsonText(text: string): string {
  const literal = JSON.stringify(text).replace(/[\ufffe\uffff]/g, unit =>
    unit === '\ufffe' ? '\\ufffe' : '\\uffff',
  )
  return escapeMarkup(literal)
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const PREDEFINED = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['apos', "'"],
  ['quot', '"'],
])

/** Resolves the references of checked character data, or of a checked attribute. */
export function readText(raw: string): string {
  return raw.replace(
    REFERENCE,
    (_, name = '', digits = '') => PREDEFINED.get(name) ?? String.fromCodePoint(toCode(digits)),
  )
}

/** Converts the digits of a reference: `65` or `x41`. */
function toCode(digits: string): number {
  return Number(`0${digits}`)
}

/** Whether a code point is a character of §2.2. */
function isChar(code: number): boolean {
  if (code < 0x20) return code === 9 || code === 10 || code === 13
  return code < 0xd800 || (code > 0xdfff && code < 0xfffe) || (code > 0xffff && code < 0x110000)
}

const DECLARATION =
  /^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][\w.-]*)"|'([A-Za-z][\w.-]*)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/

/**
 * Checks that a text is one well-formed XML 1.0 document within the limits, without document type,
 * processing instructions and entities beyond the five. Namespaces are not checked.
 * @throws HttpError 400 for anything else, 413 for too many elements and attributes, 415 for an
 * encoding other than UTF-8.
 */
export function checkXml(text: string, limits: Limits): void {
  const forbidden = FORBIDDEN.exec(text)
  if (forbidden) throw malformed(forbidden.index, 'holds a character that XML forbids')
  let at = skipDeclaration(text)
  let rooted = false
  let count = 0
  const open: string[] = []

  while (at < text.length) {
    const tag = text.indexOf('<', at)
    const run = text.slice(at, tag === -1 ? text.length : tag)
    if (open.length > 0) checkCharacters(run, at)
    else if (!isBlank(run)) throw malformed(at, 'has text outside its root element')
    at += run.length
    if (tag === -1) break
    const next = text[tag + 1]
    if (next === '!') at = skipSection(text, tag, open.length > 0)
    else if (next === '?')
      throw malformed(tag, 'has a processing instruction, which is not supported')
    else if (next === '/') closeTag(tag)
    else openTag(tag)
  }
  const unclosed = open.pop()
  if (unclosed !== undefined) throw malformed(at, `does not close the element ${brief(unclosed)}`)
  if (!rooted) throw malformed(at, 'has no root element')

  /** Goes past a token; `null` where the text has another one. */
  function take(token: RegExp): RegExpExecArray | null {
    token.lastIndex = at
    const found = token.exec(text)
    if (found) at = token.lastIndex
    return found
  }

  function closeTag(start: number): void {
    const [, name] = take(END_TAG) ?? []
    if (name === undefined) throw malformed(start, 'has a malformed end tag')
    const last = open.pop()
    if (name === last) return
    const what = last === undefined ? 'which is not open' : `while ${brief(last)} is open`
    throw malformed(start, `closes ${brief(name)}, ${what}`)
  }

  function openTag(start: number): void {
    const [, name, end] = take(TAG_START) ?? []
    if (name === undefined) throw malformed(start, 'has a tag without a name')
    if (rooted && open.length === 0) throw malformed(start, 'has more than one root element')
    rooted = true
    countNode(name)
    if (open.length > limits.depth) throw tooDeep(limits.depth)
    if (end) {
      open.push(name)
      return
    }
    const attributes = new Set<string>()
    for (let found = take(ATTRIBUTE); found; found = take(ATTRIBUTE)) {
      const [, attribute = '', quoted, value = quoted ?? ''] = found
      countNode(attribute)
      if (attributes.has(attribute)) {
        throw malformed(found.index, `gives the attribute ${brief(attribute)} twice`)
      }
      attributes.add(attribute)
      checkReferences(value, at - value.length - 1)
    }
    const [, slash] = take(TAG_END) ?? []
    if (slash === undefined)
      throw malformed(at, `has a malformed start tag ${brief(name)}; write attributes as a="b"`)
    if (slash === '') open.push(name)
  }

  function countNode(name: string): void {
    checkName(name, name)
    count++
    if (count > limits.elements) {
      const message = `The body may have at most ${limits.elements} elements and attributes`
      throw new HttpError(413, [{ message, type: 'too_many_elements' }])
    }
  }
}

function skipDeclaration(text: string): number {
  if (!/^<\?xml[ \t\r\n?]/.test(text)) return 0
  const declaration = DECLARATION.exec(text)
  if (!declaration) throw malformed(0, 'has a malformed XML declaration')
  const encoding = declaration[1] ?? declaration[2] ?? 'UTF-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(encoding)) {
    const message = `The encoding must be UTF-8, not ${brief(encoding)}`
    throw new HttpError(415, [{ message, type: 'unsupported_charset' }])
  }
  return declaration[0].length
}

/** Skips a comment, or a CDATA section inside the root; every other `<!` is a document type. */
function skipSection(text: string, start: number, inside: boolean): number {
  if (text.startsWith('<!--', start)) {
    const dashes = text.indexOf('--', start + 4)
    if (dashes === -1 || text[dashes + 2] !== '>') throw malformed(start, 'has a malformed comment')
    return dashes + 3
  }
  if (inside && text.startsWith('<![CDATA[', start)) {
    const end = text.indexOf(']]>', start + 9)
    if (end === -1) throw malformed(start, 'has an unfinished CDATA section')
    return end + 3
  }
  throw malformed(start, 'has a document type or other declaration, which is not supported')
}

/** Checks character data that begins at a place of the document. */
function checkCharacters(run: string, place: number): void {
  const end = run.indexOf(']]>')
  if (end !== -1) throw malformed(place + end, 'has "]]>" outside a CDATA section')
  checkReferences(run, place)
}

function checkReferences(run: string, place: number): void {
  if (!run.includes('&')) return
  const unknown = NO_REFERENCE.exec(run)
  if (unknown) throw malformed(place + unknown.index, 'has an unknown entity')
  for (const { 2: digits, index } of run.matchAll(REFERENCE)) {
    if (digits !== undefined && !isChar(toCode(digits)))
      throw malformed(place + index, 'refers to a character that XML forbids')
  }
}

/** Whether a text is only white space. */
export function isBlank(text: string): boolean {
  return !/[^ \t\r\n]/.test(text)
}

function brief(name: string): string {
  return quote(name)
}

function malformed(at: number, what: string): HttpError {
  const message = `The body is not valid XML: it ${what} (at character ${at})`
  return new HttpError(400, [{ message, type: 'invalid_xml' }])
}
