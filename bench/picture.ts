// Lines over sizes as an SVG: panels beside each other, both axes logarithmic and the same in all.

export interface Panel {
  readonly title: string
  readonly lines: readonly Line[]
}

export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

const COLUMNS = 3
const WIDTH = 250
const HEIGHT = 180
const MARGIN = { left: 44, top: 54, right: 14, bottom: 22 }
/** Told apart without colours too. */
const STYLES = [
  { color: '#2f7ed8', dash: 'none' },
  { color: '#d9730d', dash: '6 3' },
  { color: '#2a9d6a', dash: '2 3' },
]

/** @returns the SVG; its colours follow whether the reader prefers dark. */
export function drawPanels(title: string, panels: readonly Panel[]): string {
  const points = panels.flatMap(({ lines }) => lines.flatMap(line => line.points))
  const across = axisOf(points.map(([x]) => x))
  const upwards = axisOf(points.map(([, y]) => y))
  const names = [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))]
  const width = COLUMNS * WIDTH
  const height = Math.ceil(panels.length / COLUMNS) * HEIGHT + MARGIN.bottom
  const drawn = panels.map((panel, at) => {
    const place = `translate(${(at % COLUMNS) * WIDTH} ${Math.floor(at / COLUMNS) * HEIGHT})`
    return `<g transform="${place}">${drawPanel(panel, names, across, upwards)}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>
  svg { background: #fff; font: 11px system-ui, sans-serif }
  text { fill: #333 }
  .head { font-weight: 600 }
  .grid { stroke: #ddd }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c }
    text { fill: #ccc }
    .grid { stroke: #3a3d44 }
  }
</style>
<text x="${MARGIN.left}" y="16" class="head">${escaped(title)}</text>
${legend(names, width)}
${drawn.join('\n')}
</svg>
`
}

interface Axis {
  /** Powers of ten, from the one below the least value to the one above the most. */
  readonly decades: readonly number[]
  /** Where a value is, from 0 to 1. */
  at(value: number): number
}

function axisOf(values: readonly number[]): Axis {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))))
  const decades = Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at))
  return { decades, at: value => (Math.log10(value) - first) / (last - first) }
}

function drawPanel(panel: Panel, names: readonly string[], across: Axis, upwards: Axis): string {
  const [left, right] = [MARGIN.left, WIDTH - MARGIN.right]
  const [top, bottom] = [MARGIN.top, HEIGHT]
  const x = (value: number) => round(left + across.at(value) * (right - left))
  const y = (value: number) => round(bottom - upwards.at(value) * (bottom - top))
  const rows = upwards.decades.map(
    decade =>
      `<path class="grid" d="M${left} ${y(decade)}H${right}"/>` +
      `<text x="${left - 5}" y="${y(decade) + 4}" text-anchor="end">${printPower(decade)}</text>`,
  )
  const columns = across.decades.map(
    decade =>
      `<text x="${x(decade)}" y="${bottom + 14}" text-anchor="middle">${printPower(decade)}</text>`,
  )
  const lines = panel.lines.map(({ name, points }) => {
    const path = points.map(([one, other]) => `${x(one)} ${y(other)}`).join('L')
    return `<path d="M${path}" ${strokeOf(names.indexOf(name))}/>`
  })
  const title = `<text x="${left}" y="${top - 8}" class="head">${escaped(panel.title)}</text>`
  return [title, ...rows, ...columns, ...lines].join('')
}

function legend(names: readonly string[], width: number): string {
  return names
    .map((name, at) => {
      const x = width - MARGIN.right - (names.length - at) * 100
      return `<path d="M${x} 12h22" ${strokeOf(at)}/><text x="${x + 28}" y="16">${escaped(name)}</text>`
    })
    .join('')
}

function strokeOf(at: number): string {
  const { color, dash } = STYLES[at % STYLES.length] ?? { color: 'gray', dash: 'none' }
  return `fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"`
}

/** A power of ten: `100`, `10³`. */
function printPower(value: number): string {
  const power = Math.round(Math.log10(value))
  return power >= 0 && power < 3 ? String(value) : `10${'⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(power)}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
