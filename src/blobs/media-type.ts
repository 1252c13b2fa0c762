// Media types of uploads: read from the first bytes, compared with those that a property accepts.

/** Whether a media type matches one of the patterns, such as `image/*`. */
export function isAccepted(type: string, accept: readonly string[] = ['*/*']): boolean {
  return accept.some(
    pattern =>
      pattern === '*/*' ||
      pattern === type ||
      (pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1))),
  )
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
 * Detects the media type of a content by its first bytes. A text is always `text/plain`, so that HTML,
 * SVG and scripts are never served as such.
 */
export function sniffType(start: Uint8Array): string {
  const text = Buffer.from(start.subarray(0, SNIFFED_BYTES)).toString('latin1')
  for (const [signature, type] of SIGNATURES) if (signature.test(text)) return type
  return /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text) ? 'application/octet-stream' : 'text/plain'
}
