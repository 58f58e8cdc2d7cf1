/** Finds characters that are invisible to people but not to models (bidi controls, zero width, tags, control codes), and shows them. Pure. */

/** Runs of characters that are ignored in rendering, or control direction, annotations or terminals. Matches any text in linear time. */
const RUN = /[[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\u{FFF9}-\u{FFFB}]--[\t\n\r\u{85}]]+/v
const EMOJI = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier})$/u
const KEYCAP = /^[#*0-9]\u{FE0F}\u{20E3}$/u
/** A presentation selector or a joiner after an emoji. */
const OF_EMOJI = /^[\u{FE0E}\u{FE0F}]?\u{200D}?$/u
/** The tags of the flags of England, Scotland and Wales. */
const OF_FLAG =
  /^\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}$/u
const FLAG = '\u{1F3F4}'
/** Scripts that use joiners inside words. */
const JOINED =
  /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}]$/u
const JOINER = /^[\u{200C}\u{200D}]$/u
const RIGHT_TO_LEFT = /^[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]$/u
const MARK = /^[\u{200E}\u{200F}\u{61C}]$/u
const NAMES: ReadonlyMap<number, string> = new Map([
  [0x00ad, 'soft hyphen'],
  [0x200b, 'zero width space'],
  [0x200c, 'zero width non-joiner'],
  [0x200d, 'zero width joiner'],
  [0x200e, 'left-to-right mark'],
  [0x200f, 'right-to-left mark'],
  [0x202a, 'left-to-right embedding'],
  [0x202b, 'right-to-left embedding'],
  [0x202c, 'end of direction'],
  [0x202d, 'left-to-right override'],
  [0x202e, 'right-to-left override'],
  [0x2060, 'word joiner'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'isolate'],
  [0x2069, 'end of isolate'],
  [0xfeff, 'zero width no-break space'],
  [0x1b, 'escape'],
])
const FIRST_TAG = 0xe0020
const LAST_TAG = 0xe007e
const TAG_OFFSET = 0xe0000
/** How many characters of a run are listed; the others are counted. */
const MAX_LISTED = 4

/** Describes the first run of hidden characters, such as `U+202E right-to-left override`; undefined if there is none. */
export function firstHidden(text: string): string | undefined {
  if (!RUN.test(text)) return undefined
  for (const { 0: run, index } of text.matchAll(new RegExp(RUN, 'gv')))
    if (!belongsToText(run, text, index)) return descriptionOf(run)
  return undefined
}

/** Returns the text with each run of hidden characters replaced by its description in ⟨ ⟩. */
export function reveal(text: string): string {
  if (!RUN.test(text)) return text
  return text.replace(new RegExp(RUN, 'gv'), (run: string, index: number) =>
    belongsToText(run, text, index) ? run : `⟨${descriptionOf(run)}⟩`,
  )
}

/** A text from outside as a part of a line: control characters are described instead of obeyed, and line breaks are blanks. */
export function plainLine(text: string): string {
  return reveal(text.replace(LINE_BREAKS, ' '))
}

/** As `plainLine`, for a text of several lines. */
export function plainLines(text: string): string {
  return reveal(text.replaceAll('\r\n', '\n').replace(RETURNS, ' '))
}

/** They go to the start of a line, or to the next. */
const RETURNS = /[\r\u0085\u2028\u2029]+/g

const LINE_BREAKS = /[\t\n\r\u0085\u2028\u2029]+/g

/** Whether the characters belong to visible text: to an emoji, to a word with joiners, or a direction mark after a right-to-left letter. */
function belongsToText(run: string, text: string, at: number): boolean {
  const before = Array.from(text.slice(Math.max(0, at - 2), at)).at(-1) ?? ''
  const [after = ''] = text.slice(at + run.length, at + run.length + 2)
  if (OF_FLAG.test(run)) return before === FLAG
  if (OF_EMOJI.test(run)) {
    if (KEYCAP.test(before + run + after)) return true
    if (EMOJI.test(before)) return !run.endsWith('\u{200D}') || EMOJI.test(after)
  }
  if (JOINER.test(run)) return JOINED.test(before) && JOINED.test(after)
  return MARK.test(run) && RIGHT_TO_LEFT.test(before)
}

/** Tag characters encode ASCII, so a run of them is described by its ASCII text. */
function descriptionOf(run: string): string {
  const codes = Array.from(run, character => character.codePointAt(0) ?? 0)
  const ascii = codes.filter(isTag).map(code => String.fromCodePoint(code - TAG_OFFSET))
  if (ascii.length > 0 && ascii.length >= codes.length - 2) return `tags that say "${ascii.join('')}"`
  const listed = codes.slice(0, MAX_LISTED).map(code => {
    const name = NAMES.get(code)
    const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
    return name ? `${number} ${name}` : number
  })
  const more = codes.length - listed.length
  return [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function isTag(code: number): boolean {
  return code >= FIRST_TAG && code <= LAST_TAG
}
