import { validateHeaderName, validateHeaderValue } from 'node:http'

/** Header fields that many answers share, checked and rendered once. */
export class HeaderBlock {
  /** Names and values in turn, as `writeHead` takes them. */
  readonly list: readonly string[]
  /** As they go over the wire (RFC 9112, section 5). */
  readonly text: string

  /** @throws {TypeError} if a name or a value can't be sent */
  constructor(list: readonly string[]) {
    for (let index = 0; index < list.length; index += 2) {
      const [name = '', value = ''] = list.slice(index, index + 2)
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    this.list = list
    // One flat string: what is put together of pieces would be copied piece by piece into each answer.
    this.text = Buffer.from(renderFields(list), 'latin1').toString('latin1')
  }
}

/** Fields as they go over the wire, each with its line end. Nothing is checked. */
export function renderFields(list: readonly string[]): string {
  let text = ''
  for (let index = 0; index < list.length; index += 2) text += `${list[index]}: ${list[index + 1]}\r\n`
  return text
}
