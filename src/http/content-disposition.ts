// `Content-Disposition` of a download (RFC 6266).

/** Types that a browser may display: none that can run scripts. */
const DISPLAYED = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp|x-icon)|video\/|audio\/)/

/**
 * Prints `Content-Disposition`. The file name is cut to one path segment and printed in both forms, so
 * that it can neither name a folder nor end the header.
 */
export function printDisposition({ type, name }: { type: string; name?: string }): string {
  const how = DISPLAYED.test(type) ? 'inline' : 'attachment'
  const file = (name ?? '')
    .replace(/^.*[/\\]/s, '')
    .replace(/\p{Cc}/gu, '')
    .slice(0, 255)
    .toWellFormed()
  if (file === '' || file === '.' || file === '..') return how
  const ascii = file.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(file).replace(
    /['()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${how}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
