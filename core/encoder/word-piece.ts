/** Splits texts into tokens as BERT (uncased) does: cleans them, splits at white space and punctuation, then into known pieces. Pure. */

/**
 * The numbers of a text's tokens, at most `maxTokens`. See BasicTokenizer and WordpieceTokenizer of
 * https://github.com/google-research/bert/blob/master/tokenization.py.
 */
export type Tokenizer = (text: string, maxTokens: number) => Uint16Array

const UNKNOWN = '[UNK]'
const FIRST = '[CLS]'
const LAST = '[SEP]'
/** A longer word is one unknown token. */
const MAX_WORD_CHARACTERS = 100
/** Limits the characters that are read to this number per allowed token. */
const CHARACTERS_PER_TOKEN = 128

/** Control, private and unassigned characters, and U+FFFD; but not tab, line feed and carriage return. */
const DROPPED = /(?![\t\n\r])[\p{C}\uFFFD]/gu
/** Each Chinese character is a word; kana and Hangul are not in this set. */
const CHINESE =
  /[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B820}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu
const ACCENTS = /\p{Mn}/gu
/** All ASCII characters except letters, digits and white space count as punctuation, also symbols such as $ and +. */
const WORDS = /[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu

/** `vocabulary` has one token per line; the number of a token is that of its line, from 0. */
export function createTokenizer(vocabulary: string): Tokenizer {
  const numbers = new Map(vocabulary.split('\n').map((token, number) => [token.trimEnd(), number]))
  const longest = numbers.keys().reduce((max, token) => Math.max(max, token.length), 0)
  const numberOf = (token: string): number => numbers.get(token) ?? 0
  const [unknown, first, last] = [numberOf(UNKNOWN), numberOf(FIRST), numberOf(LAST)]
  return (text, maxTokens) => {
    const tokens = [first]
    for (const [word] of basicWords(text.slice(0, maxTokens * CHARACTERS_PER_TOKEN))) {
      if (tokens.length >= maxTokens - 1) break
      tokens.push(...(pieces(numbers, longest, word) ?? [unknown]))
    }
    return Uint16Array.from([...tokens.slice(0, maxTokens - 1), last])
  }
}

function basicWords(text: string): Iterable<RegExpExecArray> {
  return text
    .replace(DROPPED, '')
    .replace(CHINESE, ' $& ')
    .toLowerCase()
    .normalize('NFD')
    .replace(ACCENTS, '')
    .matchAll(WORDS)
}

/** The longest known prefix, then the longest known continuation, and so on; undefined if one is missing. */
function pieces(numbers: ReadonlyMap<string, number>, longest: number, word: string): number[] | undefined {
  const characters = [...word]
  if (characters.length > MAX_WORD_CHARACTERS) return undefined
  const found: number[] = []
  for (let start = 0; start < characters.length; ) {
    let end = Math.min(characters.length, start + longest)
    let number: number | undefined
    for (; end > start && number === undefined; end--)
      number = numbers.get(`${start > 0 ? '##' : ''}${characters.slice(start, end).join('')}`)
    if (number === undefined) return undefined
    found.push(number)
    start = end + 1
  }
  return found
}
