// The difference of two modules, by their lines, whatever formatter went over one of them.

/** The lines around a change. */
const CONTEXT = 2
/** Beyond that many cells the rest counts as changed. */
const MAX_CELLS = 16_000_000

type Line = readonly [sign: ' ' | '-' | '+', text: string]

/** Lists the lines that differ, with some around them: `-` those of the first text alone, `+` those of the second. */
export function diffLines(before: string, after: string): string {
  const lines = alignLines(before.trimEnd().split('\n'), after.trimEnd().split('\n'))
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(([sign]) => sign !== ' ')
  let head = ''
  const shown = lines.flatMap(([sign, text], at) => {
    if (/^export const /.test(text)) head = text
    if (!isNear(at)) return []
    // A part that does not begin with it says which declaration it is of.
    const isFirst = (at === 0 || !isNear(at - 1)) && head !== text
    return [...(isFirst ? [`… ${head}\n`] : []), `${sign} ${text}\n`]
  })
  return shown.join('')
}

/** What makes a line: no formatter changes it. */
function toKey(line: string): string {
  return line.replace(/["`]/g, "'").replace(/[\s;,]+/g, '')
}

/** Aligns lines by the longest sequence that both have. */
function alignLines(before: readonly string[], after: readonly string[]): Line[] {
  const [own, other] = [before.map(toKey), after.map(toKey)]
  const width = other.length + 1
  if (own.length * width > MAX_CELLS)
    return [...before.map((text): Line => ['-', text]), ...after.map((text): Line => ['+', text])]
  // Of the lines from two places on: how many are the same.
  const same = new Uint32Array((own.length + 1) * width)
  const at = (row: number, column: number) => same[row * width + column] ?? 0
  for (let row = own.length - 1; row >= 0; row--) {
    for (let column = other.length - 1; column >= 0; column--) {
      same[row * width + column] =
        own[row] === other[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const lines: Line[] = []
  let [row, column] = [0, 0]
  while (row < own.length || column < other.length) {
    if (row < own.length && column < other.length && own[row] === other[column]) {
      lines.push([' ', after[column++] ?? ''])
      row++
    } else if (
      column >= other.length ||
      (row < own.length && at(row + 1, column) >= at(row, column + 1))
    )
      lines.push(['-', before[row++] ?? ''])
    else lines.push(['+', after[column++] ?? ''])
  }
  return lines
}
