// Runs in a page: the texts whose color is too near to that of their background (WCAG 2.2 §1.4.3, 4.5:1).
export const LOW_CONTRASTS = String.raw`(() => {
  const channels = color => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = color => {
    const [red, green, blue] = channels(color).slice(0, 3).map(value => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const backgroundOf = element => {
    if (!element) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return channels(backgroundColor)[3] === 0 ? backgroundOf(element.parentElement) : backgroundColor
  }
  const low = []
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())
    if (!own || element.getClientRects().length === 0) continue
    const one = luminance(getComputedStyle(element).color)
    const other = luminance(backgroundOf(element))
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    if (contrast < 4.5) {
      low.push(element.tagName + ' ' + element.textContent.trim().slice(0, 40) + ' ' + contrast.toFixed(2))
    }
  }
  return low
})()`

/** Unfolds everything there is. */
export const UNFOLD = "document.querySelectorAll('details').forEach(each => (each.open = true))"
