// The words of a search, and the form in which they are compared with texts: the same in each store.

/** Diacritics: accents, tones, points. The vowel signs of Indic scripts and of Thai are none. */
const DIACRITICS = /(?:(?=[\p{Diacritic}\p{Variation_Selector}]|\u034f)\p{M})+/gu

/** Characters that a decomposition may put into another order: marks, and the two of half width that become some. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu
const MAX_MARKS = 30

/** The combining grapheme joiner, which none of them passes: a long run would take quadratic time (UAX #15, §13). */
const JOINER = '\u034f'

/** Code units of ASCII alone. */
const ASCII = /^[\0-\x7f]*$/

/**
 * Folds a text, so that a search for `megane` finds `Mégane`: it is decomposed (NFKD, UAX #15), and loses its diacritics
 * and capital letters. Parts of a text are folded to the parts of the folded text, and what is folded stays the same,
 * but for more than 30 marks in a row.
 */
export function foldText(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  const bounded = text.replace(MARKS, boundMarks)
  const plain = bounded.normalize('NFKD').replace(DIACRITICS, '')
  // At the end of a word a sigma would become another one than within it.
  return plain.toLowerCase().replaceAll('ς', 'σ')
}

/** Puts a joiner after each 30 marks of a run. */
function boundMarks(run: string): string {
  if (run.length <= MAX_MARKS) return run
  let bounded = ''
  let count = 0
  for (const mark of run) {
    if (count++ % MAX_MARKS === 0 && bounded !== '') bounded += JOINER
    bounded += mark
  }
  return bounded
}

export function isAscii(text: string): boolean {
  return ASCII.test(text)
}

/** Lower case for A to Z alone. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

/** The different words of a search, as they are. */
export function splitWords(text: string): string[] {
  return [...new Set(text.split(/\s+/))].filter(word => word !== '')
}

/**
 * The different words of a search, in the form in which they are compared.
 * @param fold whether they are folded. Default: ASCII letters are in lower case.
 */
export function searchWords(text: string, fold = false): string[] {
  const words = splitWords(text).map(fold ? foldText : lowerAscii)
  return [...new Set(words)].filter(word => word !== '')
}
