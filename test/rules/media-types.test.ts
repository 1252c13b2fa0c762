import { expect, it } from 'vitest'
import { sniffType } from '../../src/schema/media-type.ts'

it.each([
  ['\0\0\0\x18ftypheic', 'image/heic'],
  ['\0\0\0\x18ftyphevx', 'image/heic'],
  ['\0\0\0\x18ftypmif1', 'image/heif'],
  ['\0\0\0\x18ftypmsf1', 'image/heif'],
  ['\0\0\0\x18ftypavif', 'image/avif'],
  ['\0\0\0\x18ftypisom', 'video/mp4'],
  ['II*\0', 'image/tiff'],
  ['MM\0*', 'image/tiff'],
  ['\xff\x0a', 'image/jxl'],
  ['\0\0\0\x0cJXL \r\n\x87\n', 'image/jxl'],
])('the first bytes %j are %s', (start, type) => {
  expect(sniffType(Buffer.from(`${start}\x01\x02`, 'latin1'))).toBe(type)
})
