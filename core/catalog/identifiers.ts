/** Splits identifiers into words, and removes accents. Pure. */

const NOT_ASCII = /[^\x20-\x7e\s]/

/** Splits an identifier at camelCase, ACRONYMWord, `_`, `-`, `.`, `/` and `:`; `s3`, `k8s` and `ec2` stay whole. */
export function splitIdentifier(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .replace(/[_\-./:]+/g, ' ')
}

/** Letters that Unicode does not decompose, and what people type instead of them. */
const UNDECOMPOSED: Readonly<Record<string, string>> = {
  ß: 'ss',
  ł: 'l',
  Ł: 'L',
  ı: 'i',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
}

/** Removes diacritics: `Büro` is found by `buro`, and `Größe` by `grosse`. */
export function fold(text: string): string {
  return NOT_ASCII.test(text)
    ? text
        .normalize('NFKD')
        .replace(/[\u0300-\u036f]/g, '')
        .replace(/[ßłŁıøØđ]/g, letter => UNDECOMPOSED[letter] as string)
        .normalize('NFC')
    : text
}
