// A picture of a car as a PNG (ISO/IEC 15948), drawn: the examples carry no binary files.
import { crc32, deflateSync } from 'node:zlib'

type Rgb = readonly [red: number, green: number, blue: number]

const PAINTS: Readonly<Record<string, Rgb>> = {
  black: [40, 42, 46],
  blue: [45, 95, 200],
  green: [40, 140, 80],
  grey: [125, 130, 135],
  orange: [235, 130, 35],
  red: [200, 45, 45],
  silver: [185, 190, 198],
  white: [248, 248, 246],
  yellow: [240, 200, 50],
}
const SKY: Rgb = [205, 225, 240]
const ROAD: Rgb = [150, 150, 155]
const GLASS: Rgb = [95, 120, 140]
const TYRE: Rgb = [25, 25, 28]
const RIM: Rgb = [215, 215, 220]

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A car of a colour, so many pixels wide and half as high. */
export function drawCar(color: string, width: number): Buffer {
  const paint = PAINTS[color] ?? [125, 130, 135]
  const height = width / 2
  // Each row begins with its filter: none.
  const rows = Buffer.alloc((1 + 3 * width) * height)
  for (let at = 0, y = 0; y < height; y++) {
    rows[at++] = 0
    for (let x = 0; x < width; x++, at += 3) {
      rows.set(pixel((2 * (x + 0.5)) / width, (y + 0.5) / height, paint), at)
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits each of red, green and blue.
  header.set([8, 2], 8)
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND')]
  return Buffer.concat([SIGNATURE, ...chunks])
}

/** The colour at a place: `x` from 0 to 2, `y` from 0 at the top to 1. */
function pixel(x: number, y: number, paint: Rgb): Rgb {
  for (const wheel of [0.55, 1.45]) {
    const distance = Math.hypot(x - wheel, y - 0.74)
    if (distance < 0.14) return distance < 0.07 ? RIM : TYRE
  }
  const slope = (y - 0.3) * 0.7
  if (y > 0.33 && y < 0.48 && x > 0.74 - slope && x < 1.26 + slope) {
    return Math.abs(x - 1) < 0.02 ? paint : GLASS
  }
  if (y > 0.28 && y <= 0.5 && x > 0.66 - slope && x < 1.34 + slope) return paint
  if (y > 0.5 && y < 0.74 && x > 0.25 && x < 1.75) return paint
  return y > 0.8 ? ROAD : SKY
}

function chunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
