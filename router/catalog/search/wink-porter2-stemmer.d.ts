/** The package has no type declarations. */
declare module 'wink-porter2-stemmer' {
  function stem(word: string): string
  export = stem
}
