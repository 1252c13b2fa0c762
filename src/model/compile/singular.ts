/** Builds the name of one item: `cars` → `car`, `entries` → `entry`, `boxes` → `box`; a name without a plural ending → `item`. */
export function singular(name: string): string {
  if (/[^aeiou]ies$/.test(name)) return `${name.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|z)es$/.test(name)) return name.slice(0, -2)
  return /[^s]s$/.test(name) ? name.slice(0, -1) : 'item'
}
