// The text of a condition, as a catalog or a statement has it: its names, and its strings apart.

/** Matches a name in each way that SQL quotes it, by a group each. */
export const NAME = '(?:"((?:[^"]|"")+)"|`([^`]+)`|\\[([^\\]]+)\\]|([A-Za-z_][\\w$]*))'
const CAST =
  /::(?:character varying|double precision|timestamp with(?:out)? time zone|"[^"]+"|[a-z_][\w.]*)(?:\([\d,]+\))?(?:\[\])?/gi

/** Finds the name among the groups of {@link NAME}. */
export function nameOf(groups: readonly (string | undefined)[]): string {
  return (groups.find(each => each !== undefined) ?? '').replaceAll('""', '"')
}

/** Replaces each string by its number, `'0'`, which `literalOf` leads back to it, and omits casts. */
export function takeStrings(condition: string) {
  const literals: string[] = []
  const text = condition
    .replace(/'((?:[^']|'')*)'/g, (_, literal: string) => {
      literals.push(literal.replaceAll("''", "'"))
      return `'${literals.length - 1}'`
    })
    .replace(CAST, '')
  const literalOf = (quoted: string) => literals[Number(quoted.slice(1, -1))] ?? ''
  return { text, literalOf }
}
