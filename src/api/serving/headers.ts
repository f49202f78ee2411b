import { validateHeaderName, validateHeaderValue } from 'node:http'

/** Header fields that many responses share, rendered once. */
export class HeaderBlock {
  /** Alternating names and values, as `writeHead` accepts them. */
  readonly list: readonly string[]
  /** In wire format (RFC 9112, section 5). */
  readonly text: string

  private constructor(list: readonly string[], text: string) {
    this.list = list
    this.text = text
  }

  /** @throws {TypeError} if a name or a value is not a valid header field */
  static of(list: readonly string[]): HeaderBlock {
    for (let index = 0; index < list.length; index += 2) {
      const [name = '', value = ''] = list.slice(index, index + 2)
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    return new HeaderBlock(list, renderFields(list))
  }

  /** Appends further fields without validation: callers of the API must not be able to influence the values. */
  and(list: readonly string[]): HeaderBlock {
    return new HeaderBlock([...this.list, ...list], this.text + renderFields(list))
  }
}

/** Renders fields in wire format, each with its line break, without validation. */
export function renderFields(list: readonly string[]): string {
  let text = ''
  for (let index = 0; index < list.length; index += 2) text += `${list[index]}: ${list[index + 1]}\r\n`
  return text
}
