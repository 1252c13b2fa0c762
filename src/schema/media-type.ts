// Media types of uploads: read from the first bytes, compared with those that a property accepts.

/** It may hold scripts, so that no wildcard means it: a property that accepts it names it. */
const SVG = 'image/svg+xml'

/** Whether a media type matches one of the patterns, such as `image/*`. */
export function isAccepted(type: string, accept: readonly string[] = ['*/*']): boolean {
  return accept.some(pattern => {
    if (pattern === type) return true
    if (type === SVG) return false
    return pattern === '*/*' || (pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1)))
  })
}

/** How many bytes {@link sniffType} reads. */
export const SNIFFED_BYTES = 1024

/** The first bytes of each type (WHATWG MIME Sniffing §6), as Latin-1. */
const SIGNATURES: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[\s\S]{4}WEBPVP/, 'image/webp'],
  [/^[\s\S]{4}ftypavi[fs]/, 'image/avif'],
  [/^[\s\S]{4}ftyp(?:hei[cxms]|hev[cx])/, 'image/heic'],
  [/^[\s\S]{4}ftypm[is]f1/, 'image/heif'],
  [/^(?:II[*+]\0|MM\0[*+])/, 'image/tiff'],
  [/^(?:\xff\x0a|\0\0\0\x0cJXL \r\n\x87\n)/, 'image/jxl'],
  [/^BM/, 'image/bmp'],
  [/^\0\0\x01\0/, 'image/x-icon'],
  [/^%PDF-/, 'application/pdf'],
  [/^[\s\S]{4}ftyp/, 'video/mp4'],
  [/^\x1aE\xdf\xa3/, 'video/webm'],
  [/^OggS\0/, 'application/ogg'],
  [/^RIFF[\s\S]{4}WAVE/, 'audio/wave'],
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, 'audio/mpeg'],
  [/^PK\x03\x04/, 'application/zip'],
  [/^\x1f\x8b\x08/, 'application/gzip'],
]

/**
 * What contents may be whose bytes look alike: then the client says which. No browser runs them, but for SVG, and all of
 * them are downloads. HTML, XHTML and scripts stay `text/plain`.
 */
const ALIKE: Readonly<Record<string, readonly string[]>> = {
  'text/plain': [
    ...['text/csv', 'text/tab-separated-values', 'text/markdown', 'text/calendar', 'text/vcard'],
    ...['application/json', 'application/geo+json', 'application/xml', 'application/yaml', SVG],
  ],
  'application/zip': [
    ...['wordprocessingml.document', 'spreadsheetml.sheet', 'presentationml.presentation'].map(
      each => `application/vnd.openxmlformats-officedocument.${each}`,
    ),
    ...['text', 'spreadsheet', 'presentation'].map(
      each => `application/vnd.oasis.opendocument.${each}`,
    ),
    'application/epub+zip',
  ],
}

const ALIASES: Readonly<Record<string, string>> = {
  'text/xml': 'application/xml',
  'audio/wav': 'audio/wave',
}

/** Returns the name under which {@link detectType} knows a media type. */
export function normalizeType(type: string): string {
  return ALIASES[type] ?? type
}

const UNKNOWN = 'application/octet-stream'

/** The types that {@link detectType} gives. */
export function listDetectedTypes(): readonly string[] {
  const types = new Set([...SIGNATURES.map(([, type]) => type), 'text/plain', UNKNOWN])
  return [...types, ...Object.values(ALIKE).flat()]
}

/** Whether {@link detectType} gives a media type, or one of a range such as `image/*`. */
export function isDetected(type: string): boolean {
  return type === '*/*' || listDetectedTypes().some(known => isAccepted(known, [type]))
}

/**
 * Detects the media type of a content: by its first bytes, and where these look alike by what the client says.
 * @param declared what the client says; it knows no better where it says nothing, or `application/octet-stream`.
 * @returns the type that is accepted, if one is.
 */
export function detectType(
  start: Uint8Array,
  declared: string = UNKNOWN,
  accept?: readonly string[],
): string {
  const sniffed = sniffType(start)
  const alike = ALIKE[sniffed] ?? []
  // Windows with Excel says so of a CSV.
  const isCsv = declared === 'application/vnd.ms-excel' && sniffed === 'text/plain'
  const said = isCsv ? 'text/csv' : normalizeType(declared)
  const types = [
    ...alike.filter(each => each === said),
    sniffed,
    ...(declared === UNKNOWN ? alike : []),
  ]
  return types.find(each => isAccepted(each, accept)) ?? types[0] ?? sniffed
}

/** Detects a media type by the first bytes alone: of a text it is always `text/plain`. */
export function sniffType(start: Uint8Array): string {
  const text = Buffer.from(start.subarray(0, SNIFFED_BYTES)).toString('latin1')
  for (const [signature, type] of SIGNATURES) if (signature.test(text)) return type
  return /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text) ? UNKNOWN : 'text/plain'
}
