const NO_VALUE_WORD = /^(?:null|\(null\)|<null>|\\N|none|nan|na|<na>|n\/a|[-–—]+)$/i

/** Whether a text is what databases and programs write for no value, such as `NA` of R, or people, such as a dash. */
export function isNoValueWord(text: string): boolean {
  return NO_VALUE_WORD.test(text)
}
