import { quote } from '../../../foundation/text/quote.ts'
import { suggest } from '../../../foundation/text/suggest.ts'
import { nameEncoding } from '../../records/index.ts'
import type { Node } from './node.ts'

/** Names of the Encoding Standard that a message may suggest. `TextDecoder` knows many others for the same encodings. */
const NAMES = [
  'utf-8 utf-16 utf-16be windows-1252 iso-8859-1 latin1 iso-8859-15 macintosh',
  'windows-1250 windows-1251 windows-1253 windows-1254 windows-1257 iso-8859-2 iso-8859-4 iso-8859-5',
  'iso-8859-7 iso-8859-9 iso-8859-13 koi8-r ibm866 shift_jis euc-jp iso-2022-jp euc-kr gbk gb18030 big5',
].flatMap((names) => names.split(' '))

/** Reads the encoding that a file should have; `undefined` if it is to be detected. */
export function readEncoding(node: Node): string | undefined {
  const text = node.text()
  if (text === undefined) return text
  // As Python names it; a byte order mark is recognised anyway.
  const plain = text.toLowerCase().replaceAll('_', '-')
  const known = [text, plain, plain.replace(/-sig$/, '')].find(isKnown)
  if (known !== undefined) return known
  return node.fault(
    `must be the name of an encoding that Mahi knows, such as utf-8 or windows-1252, not ${quote(text)}${suggest(text, NAMES)}`,
  )
}

/** The encoding that a definition gives a file; `undefined` for UTF-8, which is expected anyway. */
export function ownEncoding(stated: string | undefined): string | undefined {
  return stated === undefined || nameFamily(stated) === 'UTF-8' ? undefined : stated
}

/** The name that an encoding has if it is detected. */
export function nameFamily(stated: string): string {
  return nameEncoding(stated).slice(0, 'utf-16'.length).toUpperCase()
}

function isKnown(name: string): boolean {
  try {
    nameEncoding(name)
    return true
  } catch {
    return false
  }
}
