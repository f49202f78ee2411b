import { lookUp } from '../../../foundation/look-up.ts'

/** The characters that may start a name in XML (production 4 of XML 1.0), and those that may follow. */
const NAME_START =
  ':A-Z_a-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02ff\\u0370-\\u037d\\u037f-\\u1fff\\u200c\\u200d\\u2070-\\u218f\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufffd\\u{10000}-\\u{effff}'
const NAME = `${NAME_START}\\-.0-9\\u00b7\\u0300-\\u036f\\u203f\\u2040`

/** The classes whose meaning differs between XML Schema (appendix F of part 2) and JavaScript. */
const CLASSES = lookUp<string>({
  d: '\\p{Nd}',
  D: '\\P{Nd}',
  w: '[^\\p{P}\\p{Z}\\p{C}]',
  W: '[\\p{P}\\p{Z}\\p{C}]',
  s: '[ \\t\\n\\r]',
  S: '[^ \\t\\n\\r]',
  i: `[${NAME_START}]`,
  I: `[^${NAME_START}]`,
  c: `[${NAME}]`,
  C: `[^${NAME}]`,
})

/**
 * Compiles a pattern that must match the whole value. Its syntax is that of XML Schema, as the standard says; what only
 * JavaScript has, such as `^` and `(?:`, has its meaning there.
 *
 * @throws {SyntaxError}
 */
export function compilePattern(pattern: string): RegExp {
  return new RegExp(`^(?:${translatePattern(pattern)})$`, 'v')
}

/** @throws {SyntaxError} sometimes, if the pattern is not valid */
export function translatePattern(pattern: string): string {
  return new Translation(pattern).translate()
}

/** The translation of a pattern to JavaScript with the flag `v`, whose classes can be nested and subtracted. */
class Translation {
  readonly #characters: readonly string[]
  #at = 0

  constructor(pattern: string) {
    this.#characters = [...pattern]
  }

  translate(): string {
    let result = ''
    while (this.#at < this.#characters.length) {
      const character = this.#take()
      if (character === '\\') result += this.#escape(false)
      else if (character === '[') result += this.#class()
      else result += character === '.' ? '[^\\n\\r]' : character
    }
    return result
  }

  #take(): string {
    return this.#characters[this.#at++] ?? ''
  }

  /** What follows a backslash. */
  #escape(inClass: boolean): string {
    const character = this.#take()
    const known = CLASSES[character]
    if (known !== undefined) return known
    if (/[pPu]/.test(character) && this.#characters[this.#at] === '{') {
      const end = this.#characters.indexOf('}', this.#at)
      const name = this.#characters.slice(this.#at, end + 1).join('')
      this.#at += [...name].length
      return `\\${character}${name}`
    }
    // Outside of a class, JavaScript does not know this escape.
    return character === '-' && !inClass ? '-' : `\\${character}`
  }

  /** What follows the opening bracket of a class. */
  #class(): string {
    const negative = this.#characters[this.#at] === '^'
    if (negative) this.#at++
    let items = ''
    for (;;) {
      if (this.#at >= this.#characters.length) throw new SyntaxError('a character class is not closed')
      const character = this.#take()
      const isFirst = items === ''
      if (character === ']' && !isFirst) break
      if (character === '-' && this.#characters[this.#at] === '[' && !isFirst) {
        this.#at++
        const other = this.#class()
        if (this.#take() !== ']')
          throw new SyntaxError('a subtracted class must be the last part of its class')
        return `[[${negative ? '^' : ''}${items}]--${other}]`
      }
      items += this.#item(character)
    }
    return `[${negative ? '^' : ''}${items}]`
  }

  /** A character, a range or an escape. */
  #item(character: string): string {
    const start = character === '\\' ? this.#escape(true) : escapeInClass(character)
    const [dash, end] = this.#characters.slice(this.#at, this.#at + 2)
    if (dash !== '-' || end === undefined || end === ']' || end === '[' || start.length > 2) return start
    this.#at += 2
    return `${start}-${end === '\\' ? this.#escape(true) : escapeInClass(end)}`
  }
}

function escapeInClass(character: string): string {
  return /[!#$%&()*+,\-./:;<=>?@[\]^`{|}~]/.test(character) ? `\\${character}` : character
}
