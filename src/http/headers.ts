import { validateHeaderName, validateHeaderValue } from 'node:http'

/** Header fields that many responses share, rendered once. */
export class HeaderBlock {
  /** Names and values in turn, as `writeHead` accepts them. */
  readonly list: readonly string[]
  /** In wire format (RFC 9112, section 5). */
  readonly text: string

  private constructor(list: readonly string[], text: string) {
    this.list = list
    this.text = text
  }

  /** @throws {TypeError} if a name or a value can't be sent */
  static of(list: readonly string[]): HeaderBlock {
    for (let index = 0; index < list.length; index += 2) {
      const [name = '', value = ''] = list.slice(index, index + 2)
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    return new HeaderBlock(list, renderFields(list))
  }

  /** These and others. Nothing is validated: the values must be ones that callers cannot influence. */
  and(list: readonly string[]): HeaderBlock {
    return new HeaderBlock([...this.list, ...list], this.text + renderFields(list))
  }
}

/** Fields in wire format, each with its line end. Nothing is validated. */
export function renderFields(list: readonly string[]): string {
  let text = ''
  for (let index = 0; index < list.length; index += 2) text += `${list[index]}: ${list[index + 1]}\r\n`
  return text
}
