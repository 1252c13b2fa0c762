// The syntax of XML 1.0 (fifth edition) as far as a data format needs it: a strict check of
// well-formedness; character data, attribute values and names, printed and read.
import { HttpError } from '../../errors.ts'
import type { Limits } from '../../http/limits.ts'
import { checkName } from '../json-value.ts'

/** Numeric references in one run of text, printed or read. */
const MAX_REFERENCES = 1000

// The ranges of §2.3 without U+1680 and U+FEFF: fast-xml-parser treats them as white space.
const START =
  'A-Z_a-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02ff\\u0370-\\u037d\\u037f-\\u167f\\u1681-\\u1fff' +
  '\\u200c\\u200d\\u2070-\\u218f\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufefe' +
  '\\uff00-\\ufffd\\u{10000}-\\u{effff}'
const REST = `${START}.0-9\\u00b7\\u0300-\\u036f\\u203f\\u2040-`
const NAME = new RegExp(`[:${START}][:${REST}]*`, 'uy')
const PLAIN_NAME = new RegExp(`^(?![xX][mM][lL])[${START}][${REST}]*$`, 'u')

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
  const escaped = escapeMarkup(text)
  if (!escaped.includes('\r')) return escaped
  const pieces = escaped.split('\r')
  return pieces.length > MAX_REFERENCES ? undefined : pieces.join('&#13;')
}

/** Prints any text as a JSON string literal in character data. */
export function printJsonText(text: string): string {
  const literal = JSON.stringify(text).replace(/[\ufffe\uffff]/g, unit =>
    unit === '\ufffe' ? '\\ufffe' : '\\uffff',
  )
  return escapeMarkup(literal)
}

/** Prints a text as the value of an attribute in double quotes; `undefined` if XML cannot carry it. */
export function printAttribute(text: string): string | undefined {
  const escaped = /[\t\n\r]/.test(text) ? undefined : printText(text)
  return escaped?.replaceAll('"', '&quot;')
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const REFERENCE = /&(?:(lt|gt|amp|apos|quot)|#([0-9]{1,8})|#x([0-9A-Fa-f]{1,8}));/y
const REFERENCES = new RegExp(REFERENCE, 'g')
const PREDEFINED = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['apos', "'"],
  ['quot', '"'],
])

/** Resolves the references of checked character data. */
export function readText(raw: string): string {
  if (!raw.includes('&')) return raw
  return raw.replace(
    REFERENCES,
    (_, name?: string, decimal?: string, hex?: string) =>
      PREDEFINED.get(name ?? '') ?? String.fromCodePoint(codePoint(decimal, hex)),
  )
}

/** Reads a checked attribute value: white space becomes spaces (§3.3.3). */
export function readAttribute(raw: string): string {
  return readText(raw.replace(/[\t\n\r]/g, ' '))
}

function codePoint(decimal: string | undefined, hex = ''): number {
  return decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
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
 * @throws HttpError 400 for anything else, 413 for too many elements, attributes or references, 415
 * for an encoding other than UTF-8.
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
    const end = tag === -1 ? text.length : tag
    if (open.length > 0) checkCharacters(text.slice(at, end), at)
    else if (spaceEnd(text, at) < end) throw malformed(at, 'has text outside its root element')
    at = end
    if (tag === -1) break
    const next = text[tag + 1]
    if (next === '!') at = skipSection(text, tag, open.length > 0)
    else if (next === '?')
      throw malformed(tag, 'has a processing instruction, which is not supported')
    else if (next === '/') at = closeTag(tag)
    else {
      if (rooted && open.length === 0) throw malformed(tag, 'has more than one root element')
      rooted = true
      at = openTag(tag)
    }
  }
  const unclosed = open.pop()
  if (unclosed !== undefined) throw malformed(at, `does not close the element ${brief(unclosed)}`)
  if (!rooted) throw malformed(at, 'has no root element')

  function closeTag(start: number): number {
    const name = nameAt(text, start + 2)
    const expected = open.pop()
    if (name !== expected) throw malformed(start, `closes ${brief(name)}, which is not open`)
    const end = spaceEnd(text, start + 2 + name.length)
    if (text[end] !== '>') throw malformed(end, 'has an unfinished end tag')
    return end + 1
  }

  function openTag(start: number): number {
    const name = nameAt(text, start + 1)
    checkName(name, name)
    countNode()
    if (open.length > limits.depth) {
      const message = `The body is nested deeper than ${limits.depth} levels`
      throw new HttpError(400, [{ message, type: 'too_deep' }])
    }
    const attributes = new Set<string>()
    let position = start + 1 + name.length
    for (;;) {
      const place = spaceEnd(text, position)
      if (text[place] === '>') {
        open.push(name)
        return place + 1
      }
      if (text[place] === '/' && text[place + 1] === '>') return place + 2
      if (place === position) throw malformed(place, `has a malformed start tag ${brief(name)}`)
      const attribute = nameAt(text, place)
      checkName(attribute, attribute)
      countNode()
      if (attributes.has(attribute)) {
        throw malformed(place, `gives the attribute ${brief(attribute)} twice`)
      }
      attributes.add(attribute)
      position = skipValue(text, place + attribute.length)
    }
  }

  function countNode(): void {
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

/** Skips ` = "…"` after an attribute's name. */
function skipValue(text: string, start: number): number {
  const equals = spaceEnd(text, start)
  if (text[equals] !== '=') throw malformed(equals, 'has an attribute without a value')
  const quoteAt = spaceEnd(text, equals + 1)
  const quote = text[quoteAt]
  const end = quote === '"' || quote === "'" ? text.indexOf(quote, quoteAt + 1) : -1
  if (end === -1) throw malformed(quoteAt, 'has an attribute whose value is not in quotes')
  const value = text.slice(quoteAt + 1, end)
  if (value.includes('<')) throw malformed(quoteAt, 'has "<" in an attribute')
  checkReferences(value, quoteAt + 1)
  return end + 1
}

/** Checks character data that begins at a place of the document. */
function checkCharacters(run: string, place: number): void {
  if (run.includes(']]>')) throw malformed(place, 'has "]]>" outside a CDATA section')
  checkReferences(run, place)
}

function checkReferences(run: string, place: number): void {
  let numeric = 0
  let at = run.indexOf('&')
  while (at !== -1) {
    REFERENCE.lastIndex = at
    const [whole, name, decimal, hex] = REFERENCE.exec(run) ?? []
    if (whole === undefined) throw malformed(place + at, 'has an unknown entity')
    if (name === undefined) {
      if (!isChar(codePoint(decimal, hex)))
        throw malformed(place + at, 'refers to a character that XML forbids')
      numeric++
      if (numeric > MAX_REFERENCES) {
        const message = `A text may have at most ${MAX_REFERENCES} numeric references`
        throw new HttpError(413, [{ message, type: 'too_many_references' }])
      }
    }
    at = run.indexOf('&', at + whole.length)
  }
}

function nameAt(text: string, start: number): string {
  NAME.lastIndex = start
  const name = NAME.exec(text)?.[0]
  if (name === undefined) throw malformed(start, 'lacks a name')
  return name
}

function spaceEnd(text: string, start: number): number {
  let at = start
  while (at < text.length && isSpaceCode(text.charCodeAt(at))) at++
  return at
}

function isSpaceCode(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9
}

/** Whether a text is only white space. */
export function isBlank(text: string): boolean {
  return spaceEnd(text, 0) === text.length
}

function brief(name: string): string {
  return JSON.stringify(name.slice(0, 64))
}

function malformed(at: number, what: string): HttpError {
  const message = `The body is not valid XML: it ${what} (at character ${at})`
  return new HttpError(400, [{ message, type: 'invalid_xml' }])
}
