// The bounds that plain checks of a table set: `price >= 0`, `length(name) <= 20`, `color in ('red', 'blue')`.
import { NAME, nameOf, takeStrings } from '../../sql/table/condition-text.ts'

/** What the values of a column must be. */
export interface CheckBounds {
  min?: number
  max?: number
  above?: number
  below?: number
  /** The fewest and most characters. */
  minLength?: number
  maxLength?: number
  labels?: readonly string[]
  /** Whether it is JSON in a text. */
  isJson?: boolean
}

const LENGTH = '(?:(length|char_length|character_length) ?\\()?'
const COMPARISON = new RegExp(
  `^${LENGTH}\\(*${NAME}\\)* ?(>=|<=|>|<|=|<>|!=) ?\\(?(-?\\d+(?:\\.\\d+)?|'\\d+')$`,
  'i',
)
const CHOICE = new RegExp(`^\\(*${NAME}\\)* ?(?:in ?\\(|= any ?\\(+array\\[)([^\\])]*)\\]?$`, 'i')
const JSON_VALID = new RegExp(`^\\(*json_valid ?\\( ?${NAME} ?\\)`, 'i')

/** Finds the bounds of columns, by their names in lower case. What is not plain is left to the database. */
export function findBounds(checks: readonly string[]): ReadonlyMap<string, CheckBounds> {
  const found = new Map<string, CheckBounds>()
  for (const check of checks) readCheck(check, found)
  return found
}

/** Longer ones are not plain. */
const MAX_CHECK = 4_000

function readCheck(check: string, found: Map<string, CheckBounds>): void {
  if (check.length > MAX_CHECK) return
  const { text: whole, literalOf } = takeStrings(check)
  const text = whole.replace(/\s+/g, ' ')
  const boundsOf = (names: readonly (string | undefined)[]) => {
    const name = nameOf(names).toLowerCase()
    const bounds = found.get(name) ?? {}
    found.set(name, bounds)
    return bounds
  }
  const [valid, i, j, k, l] = JSON_VALID.exec(text) ?? []
  if (valid !== undefined) boundsOf([i, j, k, l]).isJson = true
  if (/\b(?:or|not|is|case|null)\b/i.test(text)) return
  for (const plain of listConditions(text)) {
    const [, length, a, b, c, d, operator = '', value = ''] = COMPARISON.exec(plain) ?? []
    const [, e, f, g, h, list] = CHOICE.exec(plain) ?? []
    if (list !== undefined) {
      const labels = list.split(',').map(each => each.trim())
      if (labels.every(each => /^'\d+'$/.test(each)))
        boundsOf([e, f, g, h]).labels = labels.map(literalOf)
    } else if (value.startsWith("'")) {
      const isFilled = /^(?:<>|!=)$/.test(operator) && literalOf(value) === '' && !length
      if (isFilled) boundsOf([a, b, c, d]).minLength = 1
    } else if (value !== '') {
      setBound(boundsOf([a, b, c, d]), operator, Number(value), length !== undefined)
    }
  }
}

/** Lists what must hold, without parentheses around it; `x between 1 and 5` is two conditions. */
function listConditions(text: string): readonly string[] {
  let between: string | undefined
  return text.split(/ and /i).map(part => {
    const plain = omitParentheses(part.trim())
    if (between !== undefined) {
      const last = `${between} <= ${plain}`
      between = undefined
      return last
    }
    const [name = '', low] = plain.split(/ between /i)
    if (low === undefined) return plain
    between = name
    return `${name} >= ${low}`
  })
}

function omitParentheses(text: string): string {
  let [first, end] = [0, text.length]
  while (text[first] === '(') first++
  while (end > first && text[end - 1] === ')') end--
  return text.slice(first, end)
}

function setBound(bounds: CheckBounds, operator: string, value: number, isLength: boolean): void {
  if (isLength) {
    if (operator === '>=' || operator === '>') bounds.minLength = value + Number(operator === '>')
    if (operator === '<=' || operator === '<') bounds.maxLength = value - Number(operator === '<')
  } else if (operator === '>=') bounds.min = value
  else if (operator === '<=') bounds.max = value
  else if (operator === '>') bounds.above = value
  else if (operator === '<') bounds.below = value
}
